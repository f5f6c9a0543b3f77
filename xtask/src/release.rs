//! A version: its number and date in all places, and everything that is published, in out/release/. Nothing is pushed.

use crate::workspace::{self, cargo, command, output, root};
use crate::{offline, package, scripts, site, test};
use anyhow::{Context, Result, bail, ensure};
use semver::Version;
use std::fs;

/// The places of the version's number: a file, and what stands before it.
const PLACES: [(&str, &str); 2] = [
    ("Cargo.toml", "[workspace.package]\nversion = \""),
    ("pkg/package.json", "\"version\": \""),
];
/// Workspaces whose Cargo.lock names the library.
const LOCKS: [&str; 3] = ["Cargo.toml", "fuzz/Cargo.toml", "bench/native/Cargo.toml"];
const CHANGES: &str = "CHANGELOG.md";
const UNRELEASED: &str = "## Unreleased\n";

#[derive(clap::Args)]
pub struct Arguments {
    /// The new version, as 0.2.0; the same as now is built again
    version: Version,
    /// Where there are changes that are not committed, too
    #[arg(long)]
    dirty: bool,
    /// Without running all tests first, where they were run
    #[arg(long)]
    tested: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let version = &arguments.version;
    let now: Version = env!("CARGO_PKG_VERSION").parse()?;
    ensure!(
        *version >= now,
        "the version is {now} now; give that or a later one"
    );
    if !arguments.dirty {
        let changes = output(&mut command("git", &["status", "--porcelain"]))?;
        ensure!(
            changes.is_empty(),
            "there are changes that are not committed; commit them, or give --dirty:\n{changes}"
        );
    }
    if !arguments.tested {
        test::run_all(&test::Arguments::default()).context("a version is made of what passes")?;
    }
    // All is read before anything is written.
    let today = time::OffsetDateTime::now_utc().date().to_string();
    let mut files: Vec<(&str, String)> = Vec::new();
    for (file, before) in PLACES {
        files.push((
            file,
            numbered(&read(file)?, before, version).with_context(|| file.to_string())?,
        ));
    }
    if *version > now {
        files.push((CHANGES, dated(&read(CHANGES)?, version, &today)?));
    }
    for (file, text) in files {
        fs::write(root().join(file), text).with_context(|| format!("{file} cannot be written"))?;
    }
    for manifest in LOCKS {
        run_quietly(&["update", "--workspace", "--offline", "--manifest-path", manifest])?;
    }
    publishable(version)
}

/// Builds the npm package, the site and the offline file.
fn publishable(version: &Version) -> Result<()> {
    let folder = root().join("out/release").join(version.to_string());
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    package::build_within_budget(&package::Arguments { fast: false })?;
    let to = folder.display().to_string();
    workspace::run(
        command("npm", &["pack", "--silent", "--pack-destination", &to]).current_dir(root().join("pkg")),
    )?;
    site::write(&folder.join("site"))?;
    let usual = offline::choose("usual", &scripts::model_names()?)?;
    offline::write(&folder.join(format!("longview-{version}.html")), &usual)?;
    println!(
        "{to}: the npm package, the site and the offline file of {version}; look, commit and tag, nothing was pushed"
    );
    Ok(())
}

fn run_quietly(arguments: &[&str]) -> Result<()> {
    output(&mut cargo(arguments)).map(|_| ())
}

fn read(file: &str) -> Result<String> {
    fs::read_to_string(root().join(file)).with_context(|| format!("{file} cannot be read"))
}

/// A file's text with the number that follows `before` replaced.
fn numbered(text: &str, before: &str, version: &Version) -> Result<String> {
    let Some((head, tail)) = text.split_once(before) else {
        bail!("it has no `{before}`");
    };
    let (_, after) = tail.split_once('"').context("the number has no end")?;
    Ok(format!("{head}{before}{version}\"{after}"))
}

/// The changes with what was unreleased under the version and its date.
fn dated(changes: &str, version: &Version, today: &str) -> Result<String> {
    let Some((head, tail)) = changes.split_once(UNRELEASED) else {
        bail!("{CHANGES} has no heading `{}`", UNRELEASED.trim());
    };
    let now = tail.split("\n## ").next().unwrap_or_default();
    ensure!(!now.trim().is_empty(), "{CHANGES} says nothing of what is new");
    Ok(format!("{head}{UNRELEASED}\n## {version}, {today}\n{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_the_number_is_there_and_the_same() {
        for (file, before) in PLACES {
            let text = read(file).unwrap();
            let now: Version = env!("CARGO_PKG_VERSION").parse().unwrap();
            assert_eq!(
                numbered(&text, before, &now).unwrap(),
                text,
                "{file} has another version than the workspace"
            );
            let later = numbered(&text, before, &Version::new(9, 8, 7)).unwrap();
            assert!(later.contains(&format!("{before}9.8.7\"")));
        }
        assert!(numbered("", "version = \"", &Version::new(1, 0, 0)).is_err());
    }

    #[test]
    fn what_is_new_gets_the_number_and_the_date() {
        let changes = "# Changes\n\n## Unreleased\n\n- New.\n\n## 0.1.0, 2026-01-01\n\n- Old.\n";
        let dated = |text| dated(text, &Version::new(0, 2, 0), "2026-12-01");
        assert_eq!(
            dated(changes).unwrap(),
            "# Changes\n\n## Unreleased\n\n## 0.2.0, 2026-12-01\n\n- New.\n\n## 0.1.0, 2026-01-01\n\n- Old.\n"
        );
        assert!(dated("# Changes\n").is_err());
        assert!(dated("## Unreleased\n\n## 0.1.0, x\n\n- Old.\n").is_err());
        assert!(dated(&read(CHANGES).unwrap()).is_ok());
    }
}
