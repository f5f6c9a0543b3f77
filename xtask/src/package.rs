//! Builds pkg/: what the page loads and what goes to npm.

use crate::workspace::{cargo, command, output, root, target_folder};
use crate::{install, scripts};
use anyhow::{Context, Result, bail};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

const TOOLS: &str = "xtask/tools";

/// A WebAssembly module of the page.
struct Module {
    /// Of its files in pkg/: NAME.js, NAME.d.ts, NAME_bg.wasm.
    name: &'static str,
    profile: &'static str,
    features: &'static str,
    /// What rustc is told beside the profile.
    flags: &'static [&'static str],
    limit_bytes: usize,
    limit_gzip_bytes: usize,
}

/// What the first picture needs: it draws, and knows no model.
const FIGURES: Module = Module {
    name: "figures",
    profile: "web",
    features: "figures",
    flags: &[],
    limit_bytes: 702_000,
    limit_gzip_bytes: 279_000,
};
/// What a worker loads when a model is to run.
const ENGINE: Module = Module {
    name: "engine",
    profile: "web-engine",
    features: "gpu,laboratory",
    // The kernels' loops need opt-level 3, and what they call once is inlined all the same; the rest of the
    // library would grow by a tenth for nothing.
    flags: &[
        "-Cllvm-args=--inline-threshold=50",
        "-Cllvm-args=--inlinehint-threshold=80",
    ],
    limit_bytes: 1_003_000,
    limit_gzip_bytes: 417_000,
};

/// What wasm-opt has to know that rustc emits (`+simd128` stands in .cargo/config.toml).
const WASM_OPT: [&str; 12] = [
    "-Oz",
    // Larger functions that are called once stay apart: gzip finds more that repeats.
    "--one-caller-inline-max-function-size",
    "50",
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-simd",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
    "--strip-producers",
    "--strip-debug",
];

#[derive(clap::Args)]
pub struct Arguments {
    /// Skip wasm-opt and the size limit, to see a change sooner
    #[arg(long)]
    pub fast: bool,
}

/// The size of a module in bytes.
pub struct Size {
    raw: usize,
    gzip: usize,
}

/// Builds what readers download, where it has changed, and says how large it is.
pub fn build(arguments: &Arguments) -> Result<()> {
    for module in [&FIGURES, &ENGINE] {
        let (size, is_current) = make("pkg", module, &[], arguments.fast)?;
        eprintln!(
            "pkg/{}_bg.wasm: {} kB, {} kB gzipped{}{}",
            module.name,
            size.raw / 1000,
            size.gzip / 1000,
            if arguments.fast { ", not optimised" } else { "" },
            if is_current { " (up to date)" } else { "" },
        );
    }
    scripts::bundle()
}

/// Fails when an optimised module is larger than its budget.
pub fn check_budget() -> Result<()> {
    for module in [&FIGURES, &ENGINE] {
        let size = measure(&root().join(format!("pkg/{}_bg.wasm", module.name)))?;
        if size.raw > module.limit_bytes || size.gzip > module.limit_gzip_bytes {
            bail!(
                "the module {} has {} kB, {} kB gzipped, and its budget is {} and {}: find what grew, or raise the limit in {}",
                module.name,
                size.raw / 1000,
                size.gzip / 1000,
                module.limit_bytes / 1000,
                module.limit_gzip_bytes / 1000,
                file!(),
            );
        }
    }
    Ok(())
}

/// Builds as [`build`], and fails when an optimised module is larger than its budget.
pub fn build_within_budget(arguments: &Arguments) -> Result<()> {
    build(arguments)?;
    if arguments.fast { Ok(()) } else { check_budget() }
}

/// Builds out/checks/: the engine with the exports for the kernel tests and the bench.
pub fn build_checks() -> Result<()> {
    make("out/checks", &ENGINE, &["--features", "checks"], false).map(|_| ())
}

/// Builds a module into a folder; gives its size and whether it was up to date.
fn make(folder: &str, module: &Module, more: &[&str], fast: bool) -> Result<(Size, bool)> {
    install::wasm_target()?;
    let mut compile = cargo(&["rustc", "--package", "longview", "--lib", "--no-default-features"]);
    compile
        .args(["--profile", module.profile, "--features", module.features])
        .args(["--target", "wasm32-unknown-unknown"])
        .args(more)
        .args(["--config", &without_paths()])
        .arg("--")
        .args(module.flags);
    if !compile.status().context("cargo cannot be started")?.success() {
        bail!("the library does not compile for the browser");
    }
    let compiled = target_folder()
        .join("wasm32-unknown-unknown")
        .join(module.profile)
        .join("longview.wasm");
    let bytes = fs::read(&compiled).with_context(|| format!("{} cannot be read", compiled.display()))?;

    let stamp_file =
        target_folder()
            .join("xtask")
            .join(format!("{}-{}.stamp", folder.replace('/', "-"), module.name));
    let stamp = stamp(&bytes, fast)?;
    let folder = root().join(folder);
    let file = folder.join(format!("{}_bg.wasm", module.name));
    let script = folder.join(format!("{}.js", module.name));
    let is_current =
        fs::read_to_string(&stamp_file).is_ok_and(|last| last == stamp) && file.is_file() && script.is_file();
    if !is_current {
        bind(&compiled, &folder, module.name)?;
        if !fast {
            optimise(&file)?;
        }
        if let Some(stamps) = stamp_file.parent() {
            fs::create_dir_all(stamps)?;
        }
        fs::write(&stamp_file, stamp)
            .with_context(|| format!("{} cannot be written", stamp_file.display()))?;
    }
    Ok((measure(&file)?, is_current))
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

/// Names everything the output depends on. Cargo.lock holds wasm-bindgen's version.
fn stamp(compiled: &[u8], fast: bool) -> Result<String> {
    let read = |path: PathBuf| fs::read(&path).with_context(|| format!("{} cannot be read", path.display()));
    let tools = read(root().join(TOOLS).join("package-lock.json"))?;
    let crates = read(root().join("Cargo.lock"))?;
    let mut hasher = DefaultHasher::new();
    (compiled, tools, crates, WASM_OPT, fast).hash(&mut hasher);
    Ok(format!("{:016x}", hasher.finish()))
}

/// Writes NAME.js, NAME.d.ts and NAME_bg.wasm.
fn bind(compiled: &Path, package: &Path, name: &str) -> Result<()> {
    fs::create_dir_all(package).with_context(|| format!("{} cannot be made", package.display()))?;
    let mut bindgen = wasm_bindgen_cli_support::Bindgen::new();
    bindgen.input_path(compiled).out_name(name).typescript(true);
    bindgen.web(true).context("wasm-bindgen has no web target")?;
    // Without this the generated init() needs the module's address as its argument.
    bindgen.omit_default_module_path(false);
    bindgen.generate(package).context("wasm-bindgen cannot make pkg/")
}

/// Shrinks the module in place.
fn optimise(module: &Path) -> Result<()> {
    install::npm_packages(TOOLS).context("wasm-opt comes from npm; `--fast` builds without it")?;
    let wasm_opt = root().join(TOOLS).join("node_modules/binaryen/bin/wasm-opt");
    let small: PathBuf = module.with_extension("wasm.small");
    let mut node = command("node", &[]);
    node.arg(wasm_opt)
        .args(WASM_OPT)
        .arg(module)
        .arg("-o")
        .arg(&small);
    output(&mut node).context("wasm-opt cannot optimise the module")?;
    fs::rename(&small, module).with_context(|| format!("{} cannot be replaced", module.display()))
}

fn measure(module: &Path) -> Result<Size> {
    let bytes = fs::read(module).with_context(|| format!("{} cannot be read", module.display()))?;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&bytes)?;
    Ok(Size {
        raw: bytes.len(),
        gzip: encoder.finish()?.len(),
    })
}
