//! Installs what a chore needs and the machine lacks.

use crate::workspace::{cargo, command, find_program, output, root, run};
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
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
        bail!("npm is missing: install Node.js 20.19 or newer (Debian: apt-get install nodejs npm)");
    }
    run(Command::new(npm)
        .args(["ci", "--no-audit", "--no-fund"])
        .current_dir(&folder))
}

/// Makes sure that `cargo SUBCOMMAND` is there.
pub fn rust_component(subcommand: &str, component: &str) -> Result<()> {
    if cargo(&[subcommand, "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return Ok(());
    }
    run(&mut command("rustup", &["component", "add", component]))
        .with_context(|| format!("`cargo {subcommand}` is missing: install Rust's component {component}"))
}

/// A Chromium for the browser tests: `LONGVIEW_CHROMIUM`, an installed one, or Debian's, installed now.
pub fn chromium() -> Result<PathBuf> {
    if let Some(path) = std::env::var_os("LONGVIEW_CHROMIUM") {
        let path = PathBuf::from(path);
        if !path.is_file() {
            bail!("LONGVIEW_CHROMIUM is {}, which is no file", path.display());
        }
        return Ok(path);
    }
    if let Some(path) = find_chromium() {
        return Ok(path);
    }
    if may_apt() {
        // Its recommended packages are a desktop's; of them the tests need only a font.
        apt(&["chromium", "fonts-liberation"])?;
    }
    find_chromium().context(
        "no Chromium is found: install one (Debian: apt-get install chromium) or set LONGVIEW_CHROMIUM to its path",
    )
}

fn find_chromium() -> Option<PathBuf> {
    let applications = [
        "/Applications/Chromium.app/Contents/MacOS/Chromium",
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
        "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
    ];
    find_program(&[
        "chromium",
        "chromium-browser",
        "google-chrome-stable",
        "google-chrome",
    ])
    .or_else(|| {
        applications
            .into_iter()
            .map(PathBuf::from)
            .find(|path| path.is_file())
    })
}

/// Makes sure that libFuzzer, which is written in C++, can be compiled.
pub fn cpp_compiler() -> Result<()> {
    if find_program(&["c++", "g++", "clang++"]).is_some() {
        return Ok(());
    }
    if may_apt() {
        return apt(&["g++"]);
    }
    bail!("a C++ compiler is missing: install g++ or clang")
}

/// Whether native programs will find a GPU or Mesa's software one, which is installed where we may.
pub fn vulkan_driver() -> bool {
    if cfg!(any(target_os = "macos", windows)) {
        // Metal and Direct3D come with the system.
        return true;
    }
    if !has_vulkan() && may_apt() && apt(&["mesa-vulkan-drivers"]).is_err() {
        eprintln!("mesa-vulkan-drivers could not be installed.");
    }
    let found = has_vulkan();
    if !found {
        eprintln!(
            "No Vulkan driver: the GPU's kernels are not tested natively (Debian: apt-get install mesa-vulkan-drivers)."
        );
    }
    found
}

fn has_vulkan() -> bool {
    let is_driver = |entry: fs::DirEntry| {
        entry
            .path()
            .extension()
            .is_some_and(|extension| extension == "json")
    };
    [
        "/usr/share/vulkan/icd.d",
        "/usr/local/share/vulkan/icd.d",
        "/etc/vulkan/icd.d",
    ]
    .iter()
    .filter_map(|folder| fs::read_dir(folder).ok())
    .any(|mut entries| entries.any(|entry| entry.is_ok_and(is_driver)))
}

/// Debian's Firefox, and WebKitGTK's small browser with its driver and a display for it; each by the variable that the
/// tests read.
pub fn other_browsers() -> Result<Vec<(&'static str, PathBuf)>> {
    if let Some(found) = find_other_browsers() {
        return Ok(found);
    }
    if may_apt() {
        apt(&[
            "firefox-esr",
            "webkit2gtk-driver",
            "xvfb",
            "xauth",
            "fonts-liberation",
        ])?;
    }
    find_other_browsers().context(
        "Firefox, WebKitGTK's driver or Xvfb is missing (Debian: apt-get install firefox-esr webkit2gtk-driver xvfb xauth)",
    )
}

fn find_other_browsers() -> Option<Vec<(&'static str, PathBuf)>> {
    find_program(&["xvfb-run"])?;
    let libraries = fs::read_dir("/usr/lib").ok()?.flatten();
    let browser = libraries
        .map(|entry| entry.path().join("webkit2gtk-4.1/MiniBrowser"))
        .find(|path| path.is_file())?;
    Some(vec![
        ("LONGVIEW_FIREFOX", find_program(&["firefox-esr", "firefox"])?),
        ("LONGVIEW_WEBKIT_DRIVER", find_program(&["WebKitWebDriver"])?),
        ("LONGVIEW_WEBKIT", browser),
    ])
}

/// Packages are installed only on Debian itself (elsewhere `chromium` may be a stub) and only as root.
fn may_apt() -> bool {
    let is_debian = fs::read_to_string("/etc/os-release")
        .is_ok_and(|release| release.lines().any(|line| line == "ID=debian"));
    let is_root = || output(&mut command("id", &["-u"])).is_ok_and(|id| id == "0");
    is_debian && find_program(&["apt-get"]).is_some() && is_root()
}

fn apt(packages: &[&str]) -> Result<()> {
    // A fresh machine has no list of packages yet.
    run(&mut command("apt-get", &["update", "-q"]))?;
    let mut install = command("apt-get", &["install", "-y", "-q", "--no-install-recommends"]);
    run(install.args(packages).env("DEBIAN_FRONTEND", "noninteractive"))
}
