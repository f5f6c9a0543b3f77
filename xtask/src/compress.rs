//! The page's files as servers send them: compressed once when they are built, and kept by their content.

use crate::document;
use crate::scripts::package_files;
use crate::workspace::{root, target_folder};
use anyhow::{Context, Result};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A way to write a file smaller, as in HTTP's `Content-Encoding`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    Brotli,
    Gzip,
}

/// The better one first.
pub const CODINGS: [Coding; 2] = [Coding::Brotli, Coding::Gzip];

/// Endings of files that become smaller; models are numbers that do not.
const ENDINGS: [&str; 7] = ["css", "html", "js", "json", "svg", "txt", "wasm"];

impl Coding {
    /// The name in HTTP.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// The ending by which static hosts find a file that was compressed before.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gz",
        }
    }
}

/// Whether a file is sent compressed.
pub fn is_worthwhile(path: &Path) -> bool {
    path.extension()
        .is_some_and(|ending| ENDINGS.iter().any(|one| ending == *one))
}

/// Compresses what the built page's readers load, so that the server need not wait for it.
pub fn prepare() -> Result<()> {
    let package = package_files()?
        .into_iter()
        .map(|file| Path::new("pkg").join(file));
    let page = ["www/style.css", "www/icon.svg"].map(PathBuf::from);
    let files = page.into_iter().chain(package).filter(|file| is_worthwhile(file));
    let mut all = vec![document::page()?.into_bytes()];
    for file in files {
        all.push(fs::read(root().join(&file)).with_context(|| format!("{} cannot be read", file.display()))?);
    }
    for (bytes, coding) in all.iter().flat_map(|bytes| CODINGS.map(|coding| (bytes, coding))) {
        encoded(bytes, coding)?;
    }
    Ok(())
}

/// Bytes in a coding, at its best; what was once compressed is kept.
pub fn encoded(bytes: &[u8], coding: Coding) -> Result<Vec<u8>> {
    if let Some(kept) = kept(bytes, coding) {
        return Ok(kept);
    }
    let small = match coding {
        Coding::Brotli => brotli(bytes)?,
        Coding::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(bytes)?;
            encoder.finish()?
        }
    };
    let place = place(bytes, coding);
    if let Some(folder) = place.parent() {
        fs::create_dir_all(folder)?;
    }
    // Another process may read it meanwhile: it is there whole, or not at all.
    let draft = place.with_extension(format!("{}-draft", std::process::id()));
    fs::write(&draft, &small)?;
    fs::rename(&draft, &place).with_context(|| format!("{} cannot be written", place.display()))?;
    Ok(small)
}

/// Bytes in a coding, if they were compressed before.
pub fn kept(bytes: &[u8], coding: Coding) -> Option<Vec<u8>> {
    fs::read(place(bytes, coding)).ok()
}

fn place(bytes: &[u8], coding: Coding) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let name = format!("{:016x}-{}.{}", hasher.finish(), bytes.len(), coding.ending());
    target_folder().join("xtask/compressed").join(name)
}

fn brotli(bytes: &[u8]) -> Result<Vec<u8>> {
    let parameters = brotli::enc::BrotliEncoderParams {
        quality: 11,
        lgwin: 22,
        size_hint: bytes.len(),
        ..Default::default()
    };
    let mut small = Vec::new();
    brotli::BrotliCompress(&mut &bytes[..], &mut small, &parameters)?;
    Ok(small)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn what_is_compressed_comes_back() {
        let bytes = "so it goes on, ".repeat(500).into_bytes();
        let mut there = Vec::new();
        let small = encoded(&bytes, Coding::Brotli).unwrap();
        brotli::BrotliDecompress(&mut &small[..], &mut there).unwrap();
        assert!(there == bytes && small.len() < 100);
        let small = encoded(&bytes, Coding::Gzip).unwrap();
        there.clear();
        flate2::read::GzDecoder::new(&small[..])
            .read_to_end(&mut there)
            .unwrap();
        assert!(there == bytes && small.len() < 200);
        assert_eq!(kept(&bytes, Coding::Gzip), Some(small));
        assert_eq!(kept(b"never compressed by anyone", Coding::Gzip), None);
    }

    #[test]
    fn models_are_sent_as_they_are() {
        assert!(is_worthwhile(Path::new("pkg/engine_bg.wasm")));
        assert!(!is_worthwhile(Path::new("pkg/assets/alibi.safetensors")));
        assert!(!is_worthwhile(Path::new("LICENSE")));
    }
}
