//! What README.md and ARCHITECTURE.md point at exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_path_buf()
}

fn documents() -> [(&'static str, String); 2] {
    ["README.md", "ARCHITECTURE.md"].map(|name| (name, std::fs::read_to_string(root().join(name)).unwrap()))
}

/// The targets of Markdown links and pictures.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')').map(|(target, _)| target))
}

#[test]
fn links_lead_to_files() {
    for (name, text) in documents() {
        let mut count = 0;
        for link in links(&text).filter(|link| !link.starts_with("https://")) {
            let target = link.split('#').next().unwrap();
            assert!(root().join(target).exists(), "{name}: {link} leads nowhere");
            count += 1;
        }
        assert!(count > 0 || name != "README.md", "no link was found in {name}");
    }
}

#[test]
fn paths_in_code_exist() {
    for (name, text) in documents() {
        let words = text.split(|c: char| c.is_whitespace() || "`(),;".contains(c));
        let starts = [
            "src/", "tests/", "www/", "cli/", "trainer/", "xtask/", "bench/", "corpus/", "docs/",
        ];
        let paths: BTreeSet<&str> = words
            .filter(|word| starts.iter().any(|start| word.starts_with(start)) && !word.contains("NAME"))
            .map(|word| word.trim_end_matches(['.', ':']))
            .collect();
        assert!(paths.len() > 5, "{name}: {paths:?}");
        for path in paths {
            assert!(root().join(path).exists(), "{name}: there is no {path}");
        }
    }
}

#[test]
fn every_folder_of_the_house_is_described() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let house = text.split("```text").nth(1).unwrap().split("```").next().unwrap();
    let parts = std::fs::read_dir(root().join("src")).unwrap();
    for entry in parts.map(|entry| entry.unwrap()) {
        let name = entry.file_name().into_string().unwrap();
        assert!(
            name == "lib.rs" || house.contains(&name),
            "ARCHITECTURE.md leaves out src/{name}"
        );
    }
}

#[test]
fn every_chore_in_the_documents_exists() {
    let help = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("--help")
        .output()
        .unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    for (name, text) in documents() {
        for rest in text.split("cargo xtask ").skip(1) {
            let chore: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
            assert!(
                help.contains(&format!("  {chore} ")),
                "{name}: there is no `cargo xtask {chore}`"
            );
        }
    }
}

#[test]
fn the_package_for_npm_has_the_crates_version() {
    let text = std::fs::read_to_string(root().join("pkg/package.json")).unwrap();
    let package: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(package["version"], env!("CARGO_PKG_VERSION"));
}
