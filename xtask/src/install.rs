//! Installs what a chore needs and the machine lacks.

use crate::workspace::{command, find_program, output, root, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::Path;
use std::process::Command;

const WASM_TARGET: &str = "wasm32-unknown-unknown";

/// Makes sure that rustc can compile for the browser.
pub fn wasm_target() -> Result<()> {
    // Asked of rustc, so that a Rust that was not installed by rustup works too.
    let libraries = output(&mut command(
        "rustc",
        &["--print", "target-libdir", "--target", WASM_TARGET],
    ))?;
    if Path::new(&libraries).is_dir() {
        return Ok(());
    }
    run(&mut command("rustup", &["target", "add", WASM_TARGET]))
        .with_context(|| format!("Rust's standard library for {WASM_TARGET} is missing: install that target"))
}

/// Installs the npm packages that FOLDER/package-lock.json names, unless they stand there already.
pub fn npm_packages(folder: &str) -> Result<()> {
    let folder = root().join(folder);
    let wanted = folder.join("package-lock.json");
    // npm writes this file last.
    let installed = folder.join("node_modules/.package-lock.json");
    let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified());
    if let (Ok(installed), Ok(wanted)) = (modified(&installed), modified(&wanted))
        && installed >= wanted
    {
        return Ok(());
    }
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    if find_program(&[npm]).is_none() {
        bail!("npm is missing: install Node.js 20 or newer (Debian: apt-get install nodejs npm)");
    }
    run(Command::new(npm)
        .args(["ci", "--no-audit", "--no-fund"])
        .current_dir(&folder))
}
