//! The licences of what we use: whether each may be used, and their texts beside what is shipped.

use crate::workspace::{cargo, find_program, root, run};
use anyhow::{Context, Result, bail};
use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand, Package, PackageId, TargetKind};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// The list of the licences of others, in pkg/.
pub const FILE: &str = "THIRD-PARTY.txt";

/// The part of deny.toml that is checked here, too.
#[derive(Deserialize)]
struct Rules {
    licenses: Licences,
}

#[derive(Deserialize)]
struct Licences {
    allow: Vec<String>,
}

/// Checks every crate that the workspace is built from: its licence is on the list in deny.toml, and it comes from
/// crates.io. cargo-deny does this and more; it takes longer to build than all of our tests.
///
/// # Errors
/// The crates that may not be used.
pub fn check() -> Result<()> {
    let rules = fs::read_to_string(root().join("deny.toml")).context("deny.toml cannot be read")?;
    let rules: Rules = toml::from_str(&rules).context("deny.toml")?;
    let mut wrong = Vec::new();
    for manifest in ["Cargo.toml", "fuzz/Cargo.toml"] {
        let metadata = MetadataCommand::new()
            .manifest_path(root().join(manifest))
            .features(CargoOpt::AllFeatures)
            .exec()
            .with_context(|| format!("{manifest} has no metadata"))?;
        for package in metadata
            .packages
            .iter()
            .filter(|package| package.source.is_some())
        {
            wrong.extend(
                refusal(package, &rules.licenses.allow).map(|why| format!("{}: {why}", package.name)),
            );
        }
        eprintln!("{manifest}: {} crates", metadata.packages.len());
    }
    if !wrong.is_empty() {
        bail!("crates that deny.toml does not allow: {}", wrong.join("; "));
    }
    Ok(())
}

/// Why a crate may not be used.
fn refusal(package: &Package, allowed: &[String]) -> Option<String> {
    let source = package.source.as_ref().map_or("", |source| source.repr.as_str());
    if source != "registry+https://github.com/rust-lang/crates.io-index" {
        return Some(format!("it comes from {source}"));
    }
    let Some(licence) = &package.license else {
        return Some("it names no licence".into());
    };
    match spdx::Expression::parse_mode(licence, spdx::ParseMode::LAX) {
        Ok(expression) => {
            let is_fine = expression.evaluate(|wanted| allowed.contains(&wanted.to_string()));
            (!is_fine).then(|| format!("its licence is {licence}"))
        }
        Err(error) => Some(format!("its licence cannot be read: {error}")),
    }
}

/// Runs cargo-deny, which also knows of advisories and of crates that are there twice.
///
/// # Errors
/// What it finds, or that it is not installed.
pub fn deny() -> Result<()> {
    if find_program(&["cargo-deny"]).is_none() {
        bail!("cargo-deny is not installed: `cargo install --locked cargo-deny` takes some minutes");
    }
    run(&mut cargo(&["deny", "check"]))
}

/// Writes pkg/THIRD-PARTY.txt: every crate that is linked into the modules, with its licence's text.
///
/// # Errors
/// Metadata or a file that cannot be read.
pub fn write() -> Result<()> {
    let path = root().join("pkg").join(FILE);
    crate::scripts::write_if_new(&path, third_party()?.as_bytes())
}

fn third_party() -> Result<String> {
    // Both modules, as they are built.
    let features = ["figures", "gpu", "laboratory"].map(String::from).to_vec();
    let metadata = MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .features(CargoOpt::NoDefaultFeatures)
        .features(CargoOpt::SomeFeatures(features))
        .other_options(["--filter-platform", "wasm32-unknown-unknown"].map(String::from))
        .exec()
        .context("the workspace has no metadata")?;
    let mut text = String::from(
        "Longview's WebAssembly modules and scripts contain the work of others. Of the licences that a crate offers, \
         the first of those below it is followed. Rust's standard library (https://www.rust-lang.org), MIT OR \
         Apache-2.0, is linked in too, and the scripts have what wasm-bindgen generates. The pages' own licences are \
         LICENSE-MIT and LICENSE-APACHE.\n",
    );
    // One text often serves many crates.
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in linked(&metadata)? {
        let licence = package.license.as_deref().unwrap_or("no licence named");
        let home = package.repository.as_deref().unwrap_or("https://crates.io");
        writeln!(
            text,
            "\n{} {}: {licence}\n  {home}",
            package.name, package.version
        )?;
        let folder = package
            .manifest_path
            .parent()
            .context("a manifest stands in no folder")?;
        let name = format!("{} {}", package.name, package.version);
        let files = licence_files(folder.as_std_path())?;
        if files.is_empty() {
            writeln!(
                text,
                "  its package has no licence's text; the usual one of {licence} holds"
            )?;
        }
        for file in files {
            let body =
                fs::read_to_string(&file).with_context(|| format!("{} cannot be read", file.display()))?;
            let body = body.replace("\r\n", "\n").trim().to_owned();
            texts.entry(body).or_default().push(name.clone());
        }
    }
    for (body, names) in texts {
        write!(text, "\n{}\n{}:\n\n{body}\n", "-".repeat(80), names.join(", "))?;
    }
    Ok(text)
}

/// The crates that end in the modules, by name: what the library depends on when it runs, and what those do.
fn linked(metadata: &Metadata) -> Result<Vec<&Package>> {
    let graph = metadata.resolve.as_ref().context("the metadata has no graph")?;
    let nodes: BTreeMap<&PackageId, _> = graph.nodes.iter().map(|node| (&node.id, node)).collect();
    let ours = metadata
        .packages
        .iter()
        .find(|package| package.name.as_str() == "longview")
        .context("the workspace has no longview")?;
    let mut found: BTreeSet<&PackageId> = BTreeSet::new();
    let mut waiting = vec![&ours.id];
    while let Some(id) = waiting.pop() {
        for dependency in nodes.get(id).into_iter().flat_map(|node| &node.deps) {
            let runs = dependency
                .dep_kinds
                .iter()
                .any(|kind| kind.kind == DependencyKind::Normal);
            let is_macro = |package: &Package| {
                package
                    .targets
                    .iter()
                    .any(|target| target.kind.contains(&TargetKind::ProcMacro))
            };
            if runs && !is_macro(&metadata[&dependency.pkg]) && found.insert(&dependency.pkg) {
                waiting.push(&dependency.pkg);
            }
        }
    }
    let mut packages: Vec<&Package> = found.into_iter().map(|id| &metadata[id]).collect();
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(packages)
}

/// The files of a crate that tell its licence, in order.
fn licence_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let is_licence = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_ascii_uppercase();
        path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE"]
                .iter()
                .any(|start| name.starts_with(start))
    };
    let mut files: Vec<PathBuf> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(is_licence)
        .collect();
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_with_its_licence_and_what_only_builds_is_not() {
        let text = third_party().unwrap();
        for name in ["\nwgpu ", "\nplotters ", "\nserde_json ", "\nwasm-bindgen "] {
            assert!(text.contains(name), "{name}");
        }
        for name in [
            "\nproptest ",
            "\nserde_derive ",
            "\nclap ",
            "\nunicode-general-category ",
        ] {
            assert!(!text.contains(name), "{name}");
        }
        assert!(text.contains("Permission is hereby granted, free of charge"));
        assert!(!text.contains("no licence named"));
    }

    #[test]
    fn every_crate_is_allowed() {
        check().unwrap();
    }

    #[test]
    fn a_licence_that_is_not_allowed_is_refused() {
        let allowed = ["MIT".to_string()];
        let package = |licence: &str, source: &str| {
            serde_json::from_value::<Package>(serde_json::json!({
                "name": "x", "version": "1.0.0", "id": "x", "license": licence, "source": source, "dependencies": [],
                "targets": [], "features": {}, "manifest_path": "/x/Cargo.toml",
            }))
            .unwrap()
        };
        let registry = "registry+https://github.com/rust-lang/crates.io-index";
        assert_eq!(refusal(&package("MIT OR GPL-3.0-only", registry), &allowed), None);
        assert_eq!(refusal(&package("MIT/Apache-2.0", registry), &allowed), None);
        assert!(
            refusal(&package("GPL-3.0-only", registry), &allowed)
                .unwrap()
                .contains("GPL")
        );
        assert!(refusal(&package("MIT AND GPL-3.0-only", registry), &allowed).is_some());
        assert!(
            refusal(&package("MIT", "git+https://example.org/x"), &allowed)
                .unwrap()
                .contains("git")
        );
    }
}
