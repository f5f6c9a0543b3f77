//! The page as a folder for any static host, under any base path.

use crate::package;
use crate::scripts::{copy, package_files, remove_chunks};
use crate::workspace::root;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Beside the package, what the page's document names and what readers copy from.
const FILES: [&str; 3] = ["index.html", "www/style.css", "www/icon.svg"];
const EXAMPLES: &str = "www/examples";

#[derive(clap::Args)]
pub struct Arguments {
    /// Where the files go; what is there of an earlier site is replaced
    #[arg(long, value_name = "FOLDER", default_value = "out/site")]
    out: PathBuf,
    /// Skip wasm-opt, to see a change sooner
    #[arg(long)]
    fast: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    package::build(&package::Arguments { fast: arguments.fast })?;
    let folder = root().join(&arguments.out);
    let (count, bytes) = write(&folder)?;
    println!(
        "{}: {count} files, {:.1} MB; put them anywhere on a static host",
        arguments.out.display(),
        bytes as f64 / 1e6
    );
    Ok(())
}

/// Copies the built site; gives the number of its files and bytes.
pub fn write(folder: &Path) -> Result<(usize, u64)> {
    let package = folder.join("pkg");
    if package.is_dir() {
        remove_chunks(&package)?;
    }
    let mut files: Vec<PathBuf> = FILES.iter().map(PathBuf::from).collect();
    let examples = root().join(EXAMPLES);
    let entries =
        fs::read_dir(&examples).with_context(|| format!("{} cannot be read", examples.display()))?;
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            files.push(Path::new(EXAMPLES).join(entry.file_name()));
        }
    }
    files.extend(package_files()?.iter().map(|file| Path::new("pkg").join(file)));
    let mut bytes = 0;
    for file in &files {
        let to = folder.join(file);
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
        }
        copy(&root().join(file), &to)?;
        bytes += to.metadata()?.len();
    }
    Ok((files.len(), bytes))
}
