//! Reading what the commands are given, and writing what they give.

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use longview::model::{Checkpoint, SIZE_BYTES_MAX, Tokenizer};
use std::io::{self, BufWriter, StdoutLock, Write};
use std::path::{Path, PathBuf};

/// How a command writes what it found.
#[derive(Clone, Copy, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

/// The largest text that is read.
const TEXT_BYTES_MAX: u64 = 256 << 20;

/// The bytes of a file, which is refused before it is read where it is too large.
fn read(path: &Path, what: &str, size_bytes_max: u64) -> Result<Vec<u8>> {
    let cannot = || format!("cannot read the {what} {}", path.display());
    let size_bytes = std::fs::metadata(path).with_context(cannot)?.len();
    ensure!(
        size_bytes <= size_bytes_max,
        "the {what} {} has {size_bytes} bytes, the limit is {size_bytes_max}; give a smaller one",
        path.display()
    );
    std::fs::read(path).with_context(cannot)
}

/// # Errors
/// A file that cannot be read or is no checkpoint.
pub fn checkpoint(path: &Path) -> Result<Checkpoint> {
    let bytes = read(path, "checkpoint", SIZE_BYTES_MAX as u64)?;
    Checkpoint::from_bytes(&bytes).with_context(|| path.display().to_string())
}

/// The tokenizer at `path`, or else beside the checkpoint.
///
/// # Errors
/// A file that cannot be read or is no tokenizer.
pub fn tokenizer(path: Option<&Path>, checkpoint: &Path) -> Result<Tokenizer> {
    let beside = || checkpoint.with_file_name("tokenizer.json");
    let path = path.map_or_else(beside, PathBuf::from);
    let bytes = read(&path, "tokenizer", 64 << 20)
        .context("a checkpoint needs its tokenizer: put tokenizer.json beside it, or give --tokenizer")?;
    Tokenizer::from_json(&bytes).with_context(|| path.display().to_string())
}

/// # Errors
/// A file that cannot be read or is not UTF-8.
pub fn text(path: &Path) -> Result<String> {
    let bytes = read(path, "text", TEXT_BYTES_MAX)?;
    String::from_utf8(bytes)
        .with_context(|| format!("the text {} is not UTF-8; convert it first", path.display()))
}

/// The standard output, buffered.
pub fn output() -> BufWriter<StdoutLock<'static>> {
    BufWriter::new(io::stdout().lock())
}

/// Writes a value as JSON and a newline.
///
/// # Errors
/// An output that cannot be written.
pub fn write_json(value: &impl serde::Serialize) -> Result<()> {
    let mut out = output();
    // Formatted first, so that errors of the output keep their kind.
    let json = serde_json::to_string_pretty(value)?;
    writeln!(out, "{json}")?;
    Ok(out.flush()?)
}

/// Whether the reader of the output went away, as `head` does; that is no fault.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &(dyn std::error::Error + 'static)| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(broken)
}
