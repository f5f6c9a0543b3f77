//! Hostile input: libFuzzer on the targets of fuzz/, without cargo-fuzz, which would have to be installed first.

use crate::install;
use crate::workspace::{cargo, command, output, root, run, target_folder};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

/// The targets, as in fuzz/Cargo.toml.
const TARGETS: [&str; 6] = ["checkpoint", "config", "tokenizer", "variant", "figure", "slopes"];

/// How many inputs of each the usual test makes up: some seconds' worth.
const BRIEF_RUNS: [usize; 6] = [100_000, 100_000, 100_000, 8_000, 700, 200];

/// What cargo-fuzz gives rustc, without a sanitizer, which only a nightly compiler has: our code has no unsafe
/// block to watch but one, and the targets watch the memory themselves.
const RUSTFLAGS: [&str; 7] = [
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

/// What new inputs and failures are written to.
const WORK: &str = "out/fuzz";

#[derive(clap::Args)]
pub struct Arguments {
    /// Of checkpoint, config, tokenizer, variant, figure, slopes [default: all]
    targets: Vec<String>,
    /// For each target
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Afterwards keep the fewest inputs that reach all that was reached, in fuzz/corpus
    #[arg(long)]
    keep: bool,
}

pub fn run_all(arguments: &Arguments) -> Result<()> {
    let known = |name: &&String| !TARGETS.contains(&name.as_str());
    if let Some(unknown) = arguments.targets.iter().find(known) {
        bail!(
            "there is no target \"{unknown}\"; the targets are {}",
            TARGETS.join(", ")
        );
    }
    let wanted =
        |name: &&str| arguments.targets.is_empty() || arguments.targets.iter().any(|one| one == name);
    let targets: Vec<&str> = TARGETS.into_iter().filter(wanted).collect();
    at_length(&targets, arguments.seconds)?;
    if arguments.keep {
        for target in targets {
            keep(target)?;
        }
    }
    Ok(())
}

/// Every target for a few seconds, from the corpus on, with inputs that are the same each time.
pub fn briefly() -> Result<()> {
    if !can_fuzz()? {
        return Ok(());
    }
    for (target, runs) in TARGETS.into_iter().zip(BRIEF_RUNS) {
        // What an earlier run found would lead to others.
        let work = folder("brief").join(target);
        let _ = fs::remove_dir_all(&work);
        // libFuzzer counts those of the corpus too.
        let runs = runs + fs::read_dir(corpus(target))?.count();
        fuzz(target, &work, &["-seed=1".into(), format!("-runs={runs}")])?;
    }
    Ok(())
}

/// Every target for so many seconds each.
pub fn all_at_length(seconds: u64) -> Result<()> {
    at_length(&TARGETS, seconds)
}

fn at_length(targets: &[&str], seconds: u64) -> Result<()> {
    if !can_fuzz()? {
        return Ok(());
    }
    for target in targets {
        fuzz(target, &folder(target), &[format!("-max_total_time={seconds}")])?;
    }
    Ok(())
}

/// Builds the fuzzers where they run.
fn can_fuzz() -> Result<bool> {
    if !cfg!(target_os = "linux") {
        eprintln!(
            "libFuzzer is run on Linux only; here `cargo test --test hostile` goes through the corpus."
        );
        return Ok(false);
    }
    build()?;
    Ok(true)
}

/// One target from its corpus on; what it finds goes to the folder `work`.
fn fuzz(target: &str, work: &Path, limits: &[String]) -> Result<()> {
    let found = folder("found");
    for folder in [&found, work] {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    }
    let dictionary = root().join(format!("fuzz/dictionaries/{target}.dict"));
    let mut fuzzer = fuzzer(target)?;
    fuzzer
        .args(limits)
        .arg(format!("-dict={}", dictionary.display()))
        .arg(format!("-artifact_prefix={}/{target}-", found.display()))
        // A hang, a long text, and what is said of it: only how it ends.
        .args([
            "-timeout=20",
            "-max_len=4096",
            "-verbosity=0",
            "-print_final_stats=1",
        ])
        .args([work, &corpus(target)]);
    run(&mut fuzzer).with_context(|| format!("{target}: the input that did it is in {}", found.display()))
}

/// Merges what was found into the corpus. What is called seed-… stays whatever it reaches.
fn keep(target: &str) -> Result<()> {
    let (corpus, small) = (corpus(target), folder("small"));
    let _ = fs::remove_dir_all(&small);
    fs::create_dir_all(&small)?;
    run(fuzzer(target)?
        .args(["-merge=1", "-verbosity=0"])
        .args([&small, &corpus, &folder(target)]))?;
    for old in fs::read_dir(&corpus)? {
        let path = old?.path();
        if !is_seed(&path) {
            fs::remove_file(path)?;
        }
    }
    let seeds: Vec<Vec<u8>> = fs::read_dir(&corpus)?
        .map(|entry| Ok(fs::read(entry?.path())?))
        .collect::<Result<_>>()?;
    for new in fs::read_dir(&small)? {
        let path = new?.path();
        let bytes = fs::read(&path)?;
        if !seeds.contains(&bytes) {
            fs::write(corpus.join(path.file_name().unwrap_or_default()), bytes)?;
        }
    }
    Ok(())
}

fn is_seed(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("seed-")
}

fn build() -> Result<()> {
    install::cpp_compiler()?;
    let mut build = cargo(&[
        "build",
        "--release",
        "--locked",
        "--manifest-path",
        "fuzz/Cargo.toml",
    ]);
    // With a target named, build scripts and macros are built without the flags.
    build
        .args(["--target", &host()?])
        .arg("--target-dir")
        .arg(target_folder().join("fuzz"))
        .env("CARGO_ENCODED_RUSTFLAGS", RUSTFLAGS.join("\u{1f}"));
    run(&mut build)
}

fn fuzzer(target: &str) -> Result<std::process::Command> {
    let program = target_folder()
        .join("fuzz")
        .join(host()?)
        .join("release")
        .join(target);
    Ok(command(program, &[]))
}

fn corpus(target: &str) -> PathBuf {
    root().join("fuzz/corpus").join(target)
}

fn folder(name: &str) -> PathBuf {
    root().join(WORK).join(name)
}

fn host() -> Result<String> {
    let version = output(&mut command("rustc", &["-vV"]))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(Into::into).context("rustc does not name its host")
}
