//! Bundles the page's scripts into pkg/, with everything that they fetch beside them.

use crate::workspace::{command, output, root};
use crate::{document, install, licences};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TOOLS: &str = "xtask/tools";

/// What stands in pkg/assets/: folder of the repository, and the endings of the files that are taken.
const ASSETS: [(&str, &[&str]); 4] = [
    ("www/checkpoints", &["safetensors", "json"]),
    ("www/texts", &["txt"]),
    ("www/pictures", &["svg"]),
    // Only the README's.
    ("docs", &["svg"]),
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
    // Of one piece and no module: a worker may be started from a copy that has no address to load more from,
    // and where a frame has no origin, browsers start no module from a copy.
    fs::write(package.join("worker.js"), bundle_script("www/worker.js")?)
        .context("pkg/worker.js cannot be written")?;
    copy(&root().join("www/longview.d.ts"), &package.join("longview.d.ts"))?;
    copy_page(&package)?;
    copy_assets(&package.join("assets"))
}

/// The package carries its page: frames and links that elements offer lead there.
fn copy_page(package: &Path) -> Result<()> {
    let html = document::page()?;
    let html = html.replace("=\"www/", "=\"").replace("=\"pkg/", "=\"");
    fs::write(package.join("page.html"), html).context("pkg/page.html cannot be written")?;
    for name in ["style.css", "icon.svg"] {
        copy(&root().join("www").join(name), &package.join(name))?;
    }
    // npm takes licences only from the package's own folder.
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root().join(name), &package.join(name))?;
    }
    licences::write()
}

/// A script and all that it imports as one classic script.
pub fn bundle_script(entry: &str) -> Result<String> {
    output(esbuild(&[entry]).arg("--format=iife"))
}

/// What readers of the built package load, relative to pkg/.
pub fn package_files() -> Result<Vec<PathBuf>> {
    let package = root().join("pkg");
    let mut files: Vec<PathBuf> = [
        "longview.js",
        "page.js",
        "worker.js",
        "figures_bg.wasm",
        "figures_rest.wasm",
        "engine_bg.wasm",
        "engine_relaxed_bg.wasm",
        "page.html",
        "style.css",
        "icon.svg",
        licences::FILE,
        "LICENSE-MIT",
        "LICENSE-APACHE",
    ]
    .map(PathBuf::from)
    .to_vec();
    files.extend(chunks(&package)?);
    for file in asset_files()? {
        files.push(Path::new("assets").join(file.file_name().unwrap_or_default()));
    }
    Ok(files)
}

/// The names of the shipped models.
pub fn model_names() -> Result<Vec<String>> {
    let models = asset_files()?.into_iter();
    let models = models.filter(|file| file.extension().is_some_and(|ending| ending == "safetensors"));
    Ok(models
        .filter_map(|file| Some(file.file_stem()?.to_string_lossy().into_owned()))
        .collect())
}

/// Whether a model is one that every copy of the page carries: one for each encoding. Those beside it, such
/// as `alibi-s2`, are fetched when a reader asks for them.
pub fn is_usual(model: &str) -> bool {
    !model.contains('-')
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
pub fn remove_chunks(package: &Path) -> Result<()> {
    for name in chunks(package)? {
        let path = package.join(name);
        fs::remove_file(&path).with_context(|| format!("{} cannot be removed", path.display()))?;
    }
    Ok(())
}

/// The names of a package's chunks.
fn chunks(package: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(package).with_context(|| format!("{} cannot be read", package.display()))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut chunks: Vec<PathBuf> = names
        .filter(|name| name.to_string_lossy().starts_with("chunk-"))
        .map(PathBuf::from)
        .collect();
    chunks.sort();
    Ok(chunks)
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
            // Of the JSON files these are for readers; the others are the trainings' logs.
            let is_log = ending == "json" && !["tokenizer.json", "manifest.json"].contains(&&name[..]);
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
    write_if_new(to, &bytes)
}

/// Writes a file where it differs.
pub fn write_if_new(to: &Path, bytes: &[u8]) -> Result<()> {
    if fs::read(to).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    fs::write(to, bytes).with_context(|| format!("{} cannot be written", to.display()))
}
