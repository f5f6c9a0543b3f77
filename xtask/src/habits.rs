//! What is checked beside the tests: the page's scripts in Node, and what others' code we use.

use crate::workspace::{command, root, run};
use crate::{install, licences};
use anyhow::{Result, bail};
use std::path::Path;

const FOLDER: &str = "tests/scripts";

/// Properties of the scripts that need no browser, under made-up input; links of all documents; spelling.
pub fn scripts() -> Result<()> {
    install::npm_packages(FOLDER)?;
    run(command("node", &["--test"]).current_dir(root().join(FOLDER)))?;
    tool(
        "cspell/bin.mjs",
        &["--config", "cspell.json", "--no-progress", "--quiet"],
    )
}

/// The types of the scripts, as their comments tell them. Part of them comes with the built package.
pub fn types() -> Result<()> {
    install::npm_packages(FOLDER)?;
    tool("typescript/bin/tsc", &["--project", "."])
}

fn tool(script: &str, arguments: &[&str]) -> Result<()> {
    let script = Path::new("node_modules").join(script);
    run(command("node", &[])
        .current_dir(root().join(FOLDER))
        .arg(script)
        .args(arguments))
}

/// The folders whose package-lock.json names npm packages.
const LOCKED: [&str; 4] = ["xtask/tools", "tests/browser", FOLDER, "bench"];

/// Licences and sources of the crates, and what is known against the npm packages, none of which is shipped.
pub fn dependencies() -> Result<()> {
    licences::check()?;
    for folder in LOCKED {
        audit(folder)?;
    }
    Ok(())
}

/// Asks the registry what is known against the packages of a folder; a registry that does not answer is no fault
/// of ours, and is said.
fn audit(folder: &str) -> Result<()> {
    let output = command("npm", &["audit", "--json", "--package-lock-only"])
        .current_dir(root().join(folder))
        .output()?;
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let Some(found) = said["metadata"]["vulnerabilities"].as_object() else {
        let why = said["message"].as_str().unwrap_or("no answer that can be read");
        eprintln!("{folder}: npm audit could not ask the registry, so nothing was checked ({why})");
        return Ok(());
    };
    let count = |level: &str| found.get(level).and_then(serde_json::Value::as_u64).unwrap_or(0);
    eprintln!("{folder}: npm audit knows {} problems", count("total"));
    if count("high") + count("critical") > 0 {
        bail!(
            "{folder}: npm audit knows {} high and {} critical problems; run it there",
            count("high"),
            count("critical")
        );
    }
    Ok(())
}
