//! The page as a folder for any static host, under any base path.

use crate::compress::{self, CODINGS};
use crate::scripts::{package_files, remove_chunks, write_if_new};
use crate::workspace::root;
use crate::{document, package};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// Beside the package, what the page's document names and what readers copy from.
const FILES: [&str; 2] = ["www/style.css", "www/icon.svg"];
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

/// Copies the built site; gives the number of its files and bytes. Beside each file that becomes smaller stand
/// NAME.br and NAME.gz, which many static hosts send in its place.
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
    let mut sum = put(folder, Path::new("index.html"), document::page()?.as_bytes())?;
    for file in &files {
        let path = root().join(file);
        let bytes = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        sum += put(folder, file, &bytes)?;
    }
    Ok((files.len() + 1, sum))
}

/// Writes a file, and its compressed forms; gives the size of the file itself.
fn put(folder: &Path, file: &Path, bytes: &[u8]) -> Result<u64> {
    let to = folder.join(file);
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).with_context(|| format!("{} cannot be made", parent.display()))?;
    }
    write_if_new(&to, bytes)?;
    if compress::is_worthwhile(file) {
        for coding in CODINGS {
            let ending = to.extension().unwrap_or_default().to_string_lossy();
            let small = to.with_extension(format!("{ending}.{}", coding.ending()));
            write_if_new(&small, &compress::encoded(bytes, coding)?)?;
        }
    }
    Ok(bytes.len() as u64)
}
