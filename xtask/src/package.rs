//! Builds pkg/: what the page loads and what goes to npm.

use crate::workspace::{command, output, root, target_folder};
use crate::{compile, compress, install, scripts, split};
use anyhow::{Context, Result, bail};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

const TOOLS: &str = "xtask/tools";

/// A WebAssembly module of the page.
struct Module {
    /// Of its files in pkg/: NAME.js, NAME.d.ts, NAME_bg.wasm.
    name: &'static str,
    /// The module whose NAME.js it is loaded by, where it has none of its own: it is the same program for a browser
    /// that can do more.
    twin: Option<&'static str>,
    /// Whether it is split in two (see `split.rs`), NAME_bg.wasm and NAME_rest.wasm.
    is_split: bool,
    profile: &'static str,
    features: &'static str,
    /// What rustc is told beside the profile.
    flags: &'static [&'static str],
    /// What each of its files may have, compressed by Brotli.
    limits: &'static [usize],
}

impl Module {
    /// The names of its WebAssembly files.
    fn files(&self) -> Vec<String> {
        let parts: &[&str] = if self.is_split { &["bg", "rest"] } else { &["bg"] };
        parts
            .iter()
            .map(|part| format!("{}_{part}.wasm", self.name))
            .collect()
    }
}

/// What draws, and knows no model; its first part is what the first picture needs.
const FIGURES: Module = Module {
    name: "figures",
    twin: None,
    is_split: true,
    profile: "web",
    features: "figures",
    flags: &[],
    limits: &[122_500, 100_200],
};
/// What a worker loads when a model is to run.
const ENGINE: Module = Module {
    name: "engine",
    twin: None,
    is_split: false,
    profile: "web-engine",
    features: "gpu,laboratory",
    // The kernels' loops need opt-level 3, and what they call once is inlined all the same; the rest of the
    // library would grow by a tenth for nothing.
    flags: &[
        "-Cllvm-args=--inline-threshold=50",
        "-Cllvm-args=--inlinehint-threshold=80",
    ],
    limits: &[333_000],
};
/// The same with relaxed SIMD, whose fused multiply-add makes a forward on the CPU a fifth to a quarter faster. The
/// worker takes it where the browser can (see `www/simd.js`), so a reader downloads one of the two.
const ENGINE_RELAXED: Module = Module {
    name: "engine_relaxed",
    twin: Some(ENGINE.name),
    flags: &[ENGINE.flags[0], ENGINE.flags[1], "-Ctarget-feature=+relaxed-simd"],
    ..ENGINE
};
/// What readers download.
const MODULES: [&Module; 3] = [&FIGURES, &ENGINE, &ENGINE_RELAXED];

/// What wasm-opt has to know that rustc emits (`+simd128` stands in .cargo/config.toml).
const WASM_OPT: [&str; 13] = [
    "-Oz",
    // Larger functions that are called once stay apart: gzip finds more that repeats.
    "--one-caller-inline-max-function-size",
    "50",
    "--enable-bulk-memory",
    "--enable-nontrapping-float-to-int",
    "--enable-simd",
    "--enable-relaxed-simd",
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

/// Builds what readers download, where it has changed, and says how large it is.
pub fn build(arguments: &Arguments) -> Result<()> {
    for module in MODULES {
        let is_current = make("pkg", module, &[], arguments.fast)?;
        for file in module.files() {
            let [raw, sent] = measure(&file)?;
            eprintln!(
                "pkg/{file}: {} kB, {} kB by Brotli{}{}",
                raw / 1000,
                sent / 1000,
                if arguments.fast { ", not optimised" } else { "" },
                if is_current { " (up to date)" } else { "" },
            );
        }
    }
    scripts::bundle()?;
    compress::prepare()
}

/// Fails when an optimised module is larger than its budget.
pub fn check_budget() -> Result<()> {
    for module in MODULES {
        for (file, &limit) in module.files().iter().zip(module.limits) {
            let [raw, sent] = measure(file)?;
            if sent > limit {
                bail!(
                    "pkg/{file} has {raw} bytes, {sent} by Brotli, and its budget is {limit}: find what grew, or raise the limit in {}",
                    file!(),
                );
            }
        }
    }
    Ok(())
}

/// The bytes of a file of pkg/, as it is and as Brotli sends it.
fn measure(file: &str) -> Result<[usize; 2]> {
    let path = root().join("pkg").join(file);
    let bytes = fs::read(&path).with_context(|| format!("{} cannot be read", path.display()))?;
    let sent = compress::encoded(&bytes, compress::Coding::Brotli)?.len();
    Ok([bytes.len(), sent])
}

/// Builds as [`build`], and fails when an optimised module is larger than its budget.
pub fn build_within_budget(arguments: &Arguments) -> Result<()> {
    build(arguments)?;
    if arguments.fast { Ok(()) } else { check_budget() }
}

/// Builds out/checks/: the engine with the exports for the kernel tests and the bench; for the bench, which times
/// what readers run, with relaxed SIMD too.
pub fn build_checks(is_for_bench: bool) -> Result<()> {
    let modules: &[&Module] = if is_for_bench {
        &[&ENGINE, &ENGINE_RELAXED]
    } else {
        &[&ENGINE]
    };
    for module in modules {
        make("out/checks", module, &["checks"], false)?;
    }
    Ok(())
}

/// Builds a module, with more features, into a folder; says whether it was up to date.
fn make(folder: &str, module: &Module, more: &[&str], fast: bool) -> Result<bool> {
    let name = format!("{}-{}", folder.replace('/', "-"), module.name);
    let features = [&[module.features], more].concat();
    let compiled = compile::compile(
        &name,
        &compile::Settings {
            profile: module.profile,
            features: &features,
            flags: module.flags,
        },
    )?;
    let bytes = fs::read(&compiled).with_context(|| format!("{} cannot be read", compiled.display()))?;

    let stamp_file = target_folder().join("xtask").join(format!("{name}.stamp"));
    let stamp = stamp(&bytes, fast)?;
    let folder = root().join(folder);
    let files: Vec<PathBuf> = module.files().iter().map(|file| folder.join(file)).collect();
    let script = folder.join(format!("{}.js", module.twin.unwrap_or(module.name)));
    let is_whole = script.is_file() && files.iter().all(|file| file.is_file());
    let is_current = is_whole && fs::read_to_string(&stamp_file).is_ok_and(|last| last == stamp);
    if !is_current {
        match module.twin {
            None => bind(&compiled, &folder, module.name)?,
            Some(twin) => bind_twin(&compiled, &folder, module.name, twin)?,
        }
        if let [first, rest] = &files[..] {
            let parts = split::split(&fs::read(first)?)?;
            fs::write(first, parts.first)
                .with_context(|| format!("{} cannot be written", first.display()))?;
            fs::write(rest, parts.rest).with_context(|| format!("{} cannot be written", rest.display()))?;
        }
        for file in files.iter().filter(|_| !fast) {
            optimise(file)?;
        }
        if let Some(stamps) = stamp_file.parent() {
            fs::create_dir_all(stamps)?;
        }
        fs::write(&stamp_file, stamp)
            .with_context(|| format!("{} cannot be written", stamp_file.display()))?;
    }
    Ok(is_current)
}

/// Names everything the output depends on. Cargo.lock holds wasm-bindgen's version.
fn stamp(compiled: &[u8], fast: bool) -> Result<String> {
    let read = |path: PathBuf| fs::read(&path).with_context(|| format!("{} cannot be read", path.display()));
    let tools = read(root().join(TOOLS).join("package-lock.json"))?;
    let crates = read(root().join("Cargo.lock"))?;
    let mut hasher = DefaultHasher::new();
    // Where the cut is decides what is in which file.
    let cut = ["split.rs", "split/calls.rs", "split/places.rs"]
        .map(|file| read(root().join("xtask/src").join(file)))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    (compiled, tools, crates, cut, WASM_OPT, fast).hash(&mut hasher);
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

/// Writes NAME_bg.wasm, which TWIN.js of the same folder can load.
fn bind_twin(compiled: &Path, package: &Path, name: &str, twin: &str) -> Result<()> {
    let apart = target_folder().join("xtask").join(name);
    bind(compiled, &apart, twin)?;
    let script = format!("{twin}.js");
    let [own, other] = [&apart, package].map(|folder| fs::read(folder.join(&script)));
    if own? != other? {
        bail!(
            "{name} and {twin} are not the same program: wasm-bindgen makes two different {script} of them"
        );
    }
    let [from, to] = [(apart, twin), (package.to_owned(), name)]
        .map(|(folder, name)| folder.join(format!("{name}_bg.wasm")));
    fs::copy(&from, &to).with_context(|| format!("{} cannot be written", to.display()))?;
    Ok(())
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
