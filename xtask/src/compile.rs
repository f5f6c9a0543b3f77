//! Compiles a module for the browser where something has changed. All modules are the same library to cargo, which
//! keeps one of them and would compile each anew; a copy of each is kept here, with what it was made of.

use crate::install;
use crate::workspace::{cargo, command, output, root, target_folder};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What a module depends on beside what its dep-info lists.
const INPUTS: [&str; 6] = [
    "Cargo.toml",
    "Cargo.lock",
    ".cargo/config.toml",
    "build.rs",
    "xtask/src/package.rs",
    "xtask/src/compile.rs",
];

/// What cargo and rustc are told.
pub struct Settings<'a> {
    pub profile: &'a str,
    pub features: &'a [&'a str],
    pub flags: &'a [&'a str],
}

/// The compiled module of that name, which was compiled anew where that was needed.
pub fn compile(name: &str, settings: &Settings) -> Result<PathBuf> {
    install::wasm_target()?;
    let folder = target_folder().join("xtask/compiled");
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    let [kept, depends, stamp_file] =
        ["wasm", "d", "stamp"].map(|ending| folder.join(format!("{name}.{ending}")));
    let paths = without_paths();
    let stamp = stamp(settings, &paths)?;
    if fs::read_to_string(&stamp_file).is_ok_and(|last| last == stamp) && is_current(&kept, &depends) {
        return Ok(kept);
    }
    // A compilation that is ended half-way leaves nothing that would be taken.
    let _ = fs::remove_file(&stamp_file);
    let start = SystemTime::now();
    let mut compile = cargo(&["rustc", "--package", "longview", "--lib", "--no-default-features"]);
    compile
        .args([
            "--profile",
            settings.profile,
            "--features",
            &settings.features.join(","),
        ])
        .args(["--target", "wasm32-unknown-unknown"])
        .args(["--config", &paths])
        .arg("--")
        .args(settings.flags);
    if !compile.status().context("cargo cannot be started")?.success() {
        bail!("the library does not compile for the browser");
    }
    let made = target_folder()
        .join("wasm32-unknown-unknown")
        .join(settings.profile)
        .join("longview.wasm");
    for (from, to) in [(&made, &kept), (&made.with_extension("d"), &depends)] {
        fs::copy(from, to).with_context(|| format!("{} cannot be copied", from.display()))?;
    }
    // What was changed meanwhile is newer.
    let file = fs::File::options().write(true).open(&kept)?;
    file.set_modified(start)
        .with_context(|| format!("{} takes no time", kept.display()))?;
    fs::write(&stamp_file, stamp).with_context(|| format!("{} cannot be written", stamp_file.display()))?;
    Ok(kept)
}

/// Whether the copy is newer than all it was made of; a file that is gone is a change too.
fn is_current(kept: &Path, depends: &Path) -> bool {
    let (Ok(made), Ok(depends)) = (modified(kept), fs::read_to_string(depends)) else {
        return false;
    };
    let sources = sources(&depends);
    let inputs = INPUTS.map(|input| root().join(input));
    // What the build script wrote follows from sources, and is written while the module is compiled.
    let own = sources
        .iter()
        .filter(|source| !source.starts_with(target_folder()));
    !sources.is_empty() && own.chain(&inputs).all(|path| is_older(path, made))
}

/// The files that a dep-info lists: after the target, separated by spaces, those in a name escaped.
fn sources(depends: &str) -> Vec<PathBuf> {
    let Some((_, list)) = depends.lines().next().and_then(|line| line.split_once(": ")) else {
        return Vec::new();
    };
    let list = list.replace("\\ ", "\0");
    let names = list.split(' ').filter(|name| !name.is_empty());
    names.map(|name| root().join(name.replace('\0', " "))).collect()
}

/// Whether a file, or all that is in a folder, was changed last before a time.
fn is_older(path: &Path, time: SystemTime) -> bool {
    let is_itself = modified(path).is_ok_and(|changed| changed < time);
    let mut within = fs::read_dir(path).into_iter().flatten();
    is_itself && within.all(|entry| entry.is_ok_and(|entry| is_older(&entry.path(), time)))
}

fn modified(path: &Path) -> Result<SystemTime> {
    Ok(fs::metadata(path)?.modified()?)
}

/// Names what no file's time tells: the compiler, and what it is told.
fn stamp(settings: &Settings, paths: &str) -> Result<String> {
    let Settings {
        profile,
        features,
        flags,
    } = settings;
    let compiler = output(&mut command("rustc", &["-Vv"]))?;
    let others = ["RUSTFLAGS", "CARGO_ENCODED_RUSTFLAGS"].map(|name| std::env::var(name).unwrap_or_default());
    Ok(format!(
        "{compiler}\n{profile} {features:?} {flags:?} {others:?}\n{paths}\n"
    ))
}

/// Cargo's configuration that leaves this machine's folders out of the module's messages, where they are of
/// no use to a reader and make it larger. It is added to the flags in .cargo/config.toml.
fn without_paths() -> String {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|folder| folder.join(".cargo")));
    let registries = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok());
    let folders = registries
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    let flags: Vec<String> = folders
        .map(|folder| format!("{:?}", format!("--remap-path-prefix={}=", folder.display())))
        .collect();
    format!("target.wasm32-unknown-unknown.rustflags=[{}]", flags.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_copy_is_current_until_a_source_is_newer_or_gone() {
        let folder = target_folder().join(format!("xtask/test-{}", std::process::id()));
        // Not below the target folder's own files, which are passed over.
        let sources_folder = std::env::temp_dir().join(format!("longview xtask {}", std::process::id()));
        let shaders = sources_folder.join("shaders");
        fs::create_dir_all(&folder).unwrap();
        fs::create_dir_all(&shaders).unwrap();
        let [kept, depends] = ["kept.wasm", "kept.d"].map(|name| folder.join(name));
        let [source, shader] = [sources_folder.join("lib.rs"), shaders.join("nll.wgsl")];
        for file in [&source, &shader, &kept] {
            fs::write(file, "").unwrap();
        }
        let escaped = |path: &Path| path.display().to_string().replace(' ', "\\ ");
        let list = [&source, &shaders].map(|path| escaped(path)).join(" ");
        fs::write(&depends, format!("{}: {list}\n", escaped(&kept))).unwrap();
        let set = |file: &Path, time: SystemTime| {
            let file = fs::File::options().write(true).open(file).unwrap();
            file.set_modified(time).unwrap();
        };
        let later = SystemTime::now() + Duration::from_secs(60);
        set(&kept, later);
        assert!(is_current(&kept, &depends));
        for file in [&source, &shader] {
            let before = modified(file).unwrap();
            set(file, later + Duration::from_secs(1));
            assert!(!is_current(&kept, &depends), "{}", file.display());
            set(file, before);
            assert!(is_current(&kept, &depends));
        }
        fs::remove_file(&source).unwrap();
        assert!(!is_current(&kept, &depends));
        fs::remove_dir_all(&sources_folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }
}
