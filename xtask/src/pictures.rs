//! The still pictures in www/pictures, which stand in for views whose program a browser refuses: made by the
//! program `longview`, and compared with what it makes by the tests.

use crate::workspace::{command, output, program, root};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = "www/pictures";

/// Each view's picture: the view's name, and what `longview figure` is given.
const PICTURES: [(&str, &[&str]); 7] = [
    ("none", &["none", "--length", "128"]),
    (
        "learned",
        &[
            "learned",
            "--checkpoint",
            "www/checkpoints/learned.safetensors",
            "--length",
            "160",
        ],
    ),
    ("sinusoidal", &["sinusoidal", "--length", "256"]),
    ("rotary", &["rotary"]),
    (
        "t5_bias",
        &["t5-bias", "--checkpoint", "www/checkpoints/t5_bias.safetensors"],
    ),
    ("alibi", &["alibi", "--heads", "8", "--length", "128"]),
    ("methods", &["rotary-methods", "--length", "512"]),
];
const SIZE: [&str; 4] = ["--width", "720", "--height", "400"];

#[derive(clap::Args)]
pub struct Arguments {
    /// Compare the pictures with what the program makes, and write nothing
    #[arg(long)]
    check: bool,
}

/// Writes the pictures, or compares them.
pub fn run_all(arguments: &Arguments) -> Result<()> {
    if arguments.check {
        return check();
    }
    let folder = root().join(FOLDER);
    fs::create_dir_all(&folder).with_context(|| format!("{FOLDER} cannot be made"))?;
    make(&folder).map(|_| ())
}

/// Fails where a picture is not what the program makes.
pub fn check() -> Result<()> {
    let folder = root().join("out/pictures");
    fs::create_dir_all(&folder).context("out/pictures cannot be made")?;
    for made in make(&folder)? {
        let kept = root().join(FOLDER).join(made.file_name().unwrap_or_default());
        let read = |path: &Path| fs::read(path).with_context(|| format!("{} cannot be read", path.display()));
        if read(&kept)? != read(&made)? {
            bail!(
                "{} is not what the program makes now: write it anew with `cargo xtask pictures`",
                kept.display()
            );
        }
    }
    Ok(())
}

fn make(folder: &Path) -> Result<Vec<PathBuf>> {
    let program = program()?;
    let mut made = Vec::new();
    for (name, figure) in PICTURES {
        let file = folder.join(format!("{name}.svg"));
        let mut command = command(&program, &["figure"]);
        output(command.args(figure).args(SIZE).arg("--output").arg(&file))?;
        made.push(file);
    }
    Ok(made)
}
