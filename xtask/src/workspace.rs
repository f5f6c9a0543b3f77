//! Where the project stands on this disk, and how its programs are started.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The repository's root: the folder above this crate.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Cargo's target folder, wherever the user has put it.
pub fn target_folder() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => root().join(folder),
        None => root().join("target"),
    }
}

/// The program `longview` as the tests run it, built anew where it has changed.
pub fn program() -> Result<PathBuf> {
    run(&mut cargo(&["build", "--package", "longview-cli"]))?;
    Ok(target_folder().join(format!("debug/longview{}", std::env::consts::EXE_SUFFIX)))
}

/// A command that runs in the repository's root.
pub fn command(program: impl AsRef<OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root()).args(arguments);
    command
}

/// The cargo that runs this program.
pub fn cargo(arguments: &[&str]) -> Command {
    command(
        std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()),
        arguments,
    )
}

/// Prints a command, runs it to its end with our own output, and fails when it fails.
pub fn run(command: &mut Command) -> Result<()> {
    let line = display(command);
    eprintln!("» {line}");
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{line}` failed ({status})");
    }
    Ok(())
}

/// Runs a command silently and returns its standard output without the last line break.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "`{}` failed ({}): {}",
            display(command),
            output.status,
            said.trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
}

/// The first program of these names on the PATH.
pub fn find_program(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .flat_map(|candidate| [candidate.with_extension("exe"), candidate])
        .find(|candidate| candidate.is_file())
}

fn cannot_start(command: &Command) -> String {
    format!(
        "`{}` cannot be started: is it installed and on the PATH?",
        command.get_program().to_string_lossy()
    )
}

fn display(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut line = program
        .file_stem()
        .unwrap_or(program.as_os_str())
        .to_string_lossy()
        .into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}
