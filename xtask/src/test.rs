//! Every test, in the order in which a mistake shows soonest.

use crate::serve::Site;
use crate::workspace::{cargo, find_program, program, root, run};
use crate::{fuzz, habits, install, offline, package, pictures, scripts, site};
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

const BROWSER_TESTS: &str = "tests/browser";

#[derive(clap::Args, Default)]
pub struct Arguments {
    /// Only what needs no browser: formatting, lints, native tests, fuzzers (they need a C++ compiler), the
    /// scripts (they need Node), licences
    #[arg(long, conflicts_with = "browser")]
    native: bool,
    /// Only the package's build and the tests in a real browser
    #[arg(long)]
    browser: bool,
    /// In which browsers: Chromium, or also the main path in Firefox and WebKit
    #[arg(long, value_enum, default_value_t = Browsers::Chromium, conflicts_with = "native")]
    browsers: Browsers,
    /// Only a long session in a real browser, with each engine, for so many minutes
    #[arg(long, value_name = "MINUTES", num_args = 0..=1, default_missing_value = "30", conflicts_with_all = ["native", "browser", "browsers"])]
    soak: Option<u32>,
    /// Given to Playwright, after `--`
    #[arg(last = true)]
    playwright: Vec<String>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum Browsers {
    #[default]
    Chromium,
    All,
    /// Firefox and WebKit alone
    Others,
}

/// A long session alone.
pub fn soak(minutes: u32) -> Result<()> {
    run_all(&Arguments {
        soak: Some(minutes),
        ..Arguments::default()
    })
}

/// Runs what was asked for, all of it even when a part fails, and ends with a line for each part.
pub fn run_all(arguments: &Arguments) -> Result<()> {
    let mut report = Report::default();
    let with_others = arguments.browsers != Browsers::Chromium;
    if !arguments.browser && arguments.browsers != Browsers::Others && arguments.soak.is_none() {
        report.part("format", || {
            install::rust_component("fmt", "rustfmt")?;
            run(&mut cargo(&["fmt", "--all", "--check"]))
        });
        report.part("lints", lint);
        report.part("native tests", native);
        report.part("fuzz", fuzz::briefly);
        report.part("scripts", habits::scripts);
        report.part("dependencies", habits::dependencies);
    }
    if !arguments.native {
        let whole = package::Arguments { fast: false };
        let built = report.part("package", || package::build(&whole));
        // A stale page would be tested otherwise; one that is too large is still worth a test.
        if built {
            report.part("package size", package::check_budget);
            report.part("types", habits::types);
            if let Some(minutes) = arguments.soak {
                let variables = [("LONGVIEW_SOAK_MINUTES", minutes.to_string())];
                let soak = [&["soak.spec.js".to_owned()], &arguments.playwright[..]].concat();
                report.part("soak", || browser(&soak, &variables));
            } else if arguments.browsers != Browsers::Others {
                report.part("still pictures", pictures::check);
                report.part("browser tests", || browser(&arguments.playwright, &[]));
            }
            if with_others {
                report.part("other browsers", || other_browsers(&arguments.playwright));
            }
        }
    }
    report.finish()
}

fn lint() -> Result<()> {
    install::rust_component("clippy", "clippy")?;
    install::wasm_target()?;
    run(&mut cargo(&[
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ]))?;
    // As the browser's three modules are built.
    let modules: [(&str, &[&str]); 3] = [
        ("figures", &[]),
        ("gpu,laboratory,checks", &[]),
        ("gpu,laboratory,checks", &["-Ctarget-feature=+relaxed-simd"]),
    ];
    for (features, flags) in modules {
        run(cargo(&["clippy", "--target", "wasm32-unknown-unknown", "--lib"])
            .args(["--no-default-features", "--features", features])
            .args(["--", "-D", "warnings"])
            .args(flags))?;
    }
    Ok(())
}

fn native() -> Result<()> {
    let mut tests = cargo(&["test", "--workspace"]);
    // With a driver present the kernel tests must run; without one they say that they were skipped.
    if install::vulkan_driver() && std::env::var_os("LONGVIEW_REQUIRE_GPU").is_none() {
        tests.env("LONGVIEW_REQUIRE_GPU", "1");
    }
    run(&mut tests)
}

/// Runs Playwright with these arguments and variables.
fn browser(arguments: &[String], variables: &[(&str, String)]) -> Result<()> {
    let chromium = install::chromium()?;
    let program = prepare()?;
    package::build_checks(false)?;
    site::write(&root().join("out/site"))?;
    let site = Site::start(0)?;
    run(playwright(&["test"])
        .args(arguments)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .env("LONGVIEW_URL", &site.address)
        .env("LONGVIEW_CHROMIUM", chromium)
        .env("LONGVIEW_PROGRAM", program))
}

/// What the tests of all browsers need: Playwright, the offline file (what readers take away is tested as they have
/// it), and the native program, with whose numbers the page's are compared. Gives the program's path.
fn prepare() -> Result<PathBuf> {
    install::npm_packages(BROWSER_TESTS)?;
    let usual = offline::choose("usual", &scripts::model_names()?)?;
    offline::write(&root().join("out/longview.html"), &usual)?;
    program()
}

/// The main path in Firefox and WebKit.
fn other_browsers(arguments: &[String]) -> Result<()> {
    let browsers = install::other_browsers()?;
    let program = prepare()?;
    run(playwright(&["test", "--config", "others.config.js"])
        .args(arguments)
        .envs(browsers)
        .env("LONGVIEW_PROGRAM", program))
}

/// Playwright's own command, without asking npx (which would go to the registry for a missing package).
fn playwright(arguments: &[&str]) -> Command {
    let folder: PathBuf = root().join(BROWSER_TESTS);
    let mut node = Command::new(find_program(&["node"]).unwrap_or_else(|| "node".into()));
    node.current_dir(&folder)
        .arg("node_modules/@playwright/test/cli.js")
        .args(arguments);
    node
}

/// The parts of a long chore, and how each ended.
#[derive(Default)]
pub struct Report {
    parts: Vec<(&'static str, Duration, Option<String>)>,
}

impl Report {
    /// Runs a part, keeps its result, and says whether it went well.
    pub fn part(&mut self, name: &'static str, work: impl FnOnce() -> Result<()>) -> bool {
        eprintln!("\n— {name} —");
        let start = Instant::now();
        let failure = work().err().map(|error| format!("{error:#}"));
        if let Some(failure) = &failure {
            eprintln!("{name}: {failure}");
        }
        let is_good = failure.is_none();
        self.parts.push((name, start.elapsed(), failure));
        is_good
    }

    pub fn finish(self) -> Result<()> {
        eprintln!();
        for (name, elapsed, failure) in &self.parts {
            let result = failure.as_deref().unwrap_or("passed");
            eprintln!("{name:<14} {:>4} s  {result}", elapsed.as_secs());
        }
        let failed: Vec<&str> = self
            .parts
            .iter()
            .filter(|part| part.2.is_some())
            .map(|part| part.0)
            .collect();
        if !failed.is_empty() {
            bail!("failed: {}", failed.join(", "));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_failed_part_fails_the_whole_and_lets_the_rest_run() {
        let mut report = Report::default();
        let mut has_run = false;
        assert!(!report.part("first", || bail!("broken")));
        assert!(report.part("second", || {
            has_run = true;
            Ok(())
        }));
        assert!(has_run);
        let error = report.finish().unwrap_err().to_string();
        assert_eq!(error, "failed: first");
    }

    #[test]
    fn all_parts_passing_is_a_success() {
        let mut report = Report::default();
        report.part("only", || Ok(()));
        assert!(report.finish().is_ok());
    }
}
