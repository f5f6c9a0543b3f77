//! Bundles the page's scripts into pkg/, with everything that they fetch beside them.

use crate::install;
use crate::workspace::{command, output, root};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOOLS: &str = "xtask/tools";

/// What stands in pkg/assets/: folder of the repository, and the endings of the files that are taken.
const ASSETS: [(&str, &[&str]); 2] = [
    ("www/checkpoints", &["safetensors", "json"]),
    ("www/texts", &["txt"]),
];

/// Writes pkg/longview.js (the elements), page.js, worker.js, their shared chunks, types and assets.
pub fn bundle() -> Result<()> {
    install::npm_packages(TOOLS).context("esbuild comes from npm")?;
    let package = root().join("pkg");
    remove_chunks(&package)?;
    // Chunks that are shared have names with a hash, so that a cache never mixes two versions.
    output(esbuild(&["www/longview.js", "www/page.js"]).args([
        "--format=esm",
        "--splitting",
        // Beside the entries: what they fetch stands relative to them.
        "--chunk-names=chunk-[name]-[hash]",
        "--outdir=pkg",
    ]))?;
    // Of one piece: a worker may be started from a copy that has no address to load more from.
    output(esbuild(&["www/worker.js"]).args(["--format=esm", "--outfile=pkg/worker.js"]))?;
    copy(&root().join("www/longview.d.ts"), &package.join("longview.d.ts"))?;
    copy_assets(&package.join("assets"))
}

/// esbuild with what all bundles share.
pub fn esbuild(entries: &[&str]) -> Command {
    // Not by node: where npm ran its install script, the file is a native program.
    let name = if cfg!(windows) { "esbuild.cmd" } else { "esbuild" };
    let mut esbuild = command(root().join(TOOLS).join("node_modules/.bin").join(name), &[]);
    esbuild.args(entries).args([
        "--bundle",
        "--minify",
        "--target=es2022",
        "--legal-comments=none",
        "--charset=utf8",
        "--log-level=warning",
        // The modules' addresses are always given; what wasm-bindgen would guess is never used.
        "--log-override:empty-import-meta=silent",
    ]);
    esbuild
}

/// Chunks of earlier builds would be published for ever.
fn remove_chunks(package: &Path) -> Result<()> {
    let entries = fs::read_dir(package).with_context(|| format!("{} cannot be read", package.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("chunk-"))
        {
            fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
        }
    }
    Ok(())
}

/// The files that go to pkg/assets/.
pub fn asset_files() -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for (folder, endings) in ASSETS {
        let folder = root().join(folder);
        let entries =
            fs::read_dir(&folder).with_context(|| format!("{} cannot be read", folder.display()))?;
        for entry in entries {
            let path = entry?.path();
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let ending = path
                .extension()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            // Of the JSON files only the tokenizer is for readers; the others are the trainings' logs.
            let is_log = ending == "json" && name != "tokenizer.json";
            if endings.contains(&&ending[..]) && !is_log {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

fn copy_assets(to: &Path) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("{} cannot be made", to.display()))?;
    for file in asset_files()? {
        copy(&file, &to.join(file.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

/// Copies a file where it differs.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("{} cannot be read", from.display()))?;
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    fs::write(to, bytes).with_context(|| format!("{} cannot be written", to.display()))
}
