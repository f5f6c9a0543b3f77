//! The page's document as it is served: with the scripts named that its own script begins with, so that a
//! browser asks for all of them at once. Their names change with their content, so no file can hold them.

use crate::workspace::root;
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What the names are put before; it stands once in index.html.
const SCRIPT: &str = "<script type=\"module\" src=\"pkg/page.js\">";

/// index.html with what the built page needs at once. What is not built is left out.
pub fn page() -> Result<String> {
    let html = fs::read_to_string(root().join("index.html")).context("index.html cannot be read")?;
    preloading(&html, &imported(&root().join("pkg"), "page.js"))
}

fn preloading(html: &str, scripts: &BTreeSet<String>) -> Result<String> {
    let Some((before, after)) = html.split_once(SCRIPT) else {
        bail!("index.html has no `{SCRIPT}`");
    };
    let links: String = scripts
        .iter()
        .map(|name| format!("<link rel=\"modulepreload\" href=\"pkg/{name}\">\n"))
        .collect();
    Ok([before, &links, SCRIPT, after].concat())
}

/// The chunks that a built script needs before it runs, and those that they need.
fn imported(package: &Path, script: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut waiting = vec![script.to_owned()];
    while let Some(name) = waiting.pop() {
        let Ok(code) = fs::read_to_string(package.join(&name)) else {
            continue;
        };
        for import in imports(&code) {
            if found.insert(import.clone()) {
                waiting.push(import);
            }
        }
    }
    found
}

/// The chunks that a script as esbuild writes it imports at its start: `from"./chunk-A.js"`, `import"./chunk-B.js"`,
/// and not `import("./chunk-C.js")`, which is for later.
fn imports(code: &str) -> impl Iterator<Item = String> {
    ["from\"./chunk-", "import\"./chunk-"]
        .into_iter()
        .flat_map(move |start| {
            let names = code.split(start).skip(1);
            names.filter_map(|rest| Some(format!("chunk-{}", rest.split_once('"')?.0)))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_for_the_start_are_found_and_those_for_later_are_not() {
        let code =
            r#"import{a as b}from"./chunk-A1.js";import"./chunk-B2.js";let c=()=>import("./chunk-C3.js");"#;
        assert_eq!(imports(code).collect::<Vec<_>>(), ["chunk-A1.js", "chunk-B2.js"]);
    }

    #[test]
    fn the_document_names_them_before_its_script() {
        let html = fs::read_to_string(root().join("index.html")).unwrap();
        let made = preloading(&html, &BTreeSet::from(["chunk-A1.js".to_owned()])).unwrap();
        let link = "<link rel=\"modulepreload\" href=\"pkg/chunk-A1.js\">\n";
        assert!(made.contains(&[link, SCRIPT].concat()));
        assert_eq!(made.replace(link, ""), html);
        assert!(preloading("<script>", &BTreeSet::new()).is_err());
    }
}
