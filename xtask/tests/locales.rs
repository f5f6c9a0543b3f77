//! The languages say the same: every sentence of one is in the others, with the same things filled in, and
//! every sentence that the code asks for is there.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Sentences by path, such as `problems.download`.
fn sentences(locale: &str) -> BTreeMap<String, String> {
    let file = root().join(format!("www/locales/{locale}.json"));
    let json: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let mut found = BTreeMap::new();
    collect("", &json, &mut found);
    found
}

fn collect(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                collect(&path, value, found);
            }
        }
        Value::String(text) => {
            found.insert(path.into(), text.clone());
        }
        other => panic!("{path} is {other}, which is no sentence"),
    }
}

/// The names in braces.
fn filled_in(sentence: &str) -> BTreeSet<&str> {
    let parts = sentence.split('{').skip(1);
    parts
        .filter_map(|part| part.split_once('}').map(|(name, _)| name))
        .collect()
}

/// The verdicts in English come from the engine itself.
fn is_english_elsewhere(path: &str) -> bool {
    path.starts_with("status.verdicts.")
}

#[test]
fn every_sentence_is_in_every_language() {
    let english = sentences("en");
    let chinese = sentences("zh-Hant");
    assert!(english.len() > 300, "{}", english.len());
    for path in english.keys() {
        assert!(chinese.contains_key(path), "{path} is missing in zh-Hant.json");
    }
    for (path, sentence) in &chinese {
        if is_english_elsewhere(path) {
            continue;
        }
        let there = english.get(path);
        let there = there.unwrap_or_else(|| panic!("{path} is missing in en.json"));
        assert!(
            !sentence.trim().is_empty() || there.trim().is_empty(),
            "{path} is empty in zh-Hant.json"
        );
        assert_eq!(filled_in(sentence), filled_in(there), "{path}");
    }
}

/// Texts of all source files below a folder.
fn sources(folder: &str, ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == ending) {
                found.push((path.display().to_string(), fs::read_to_string(&path).unwrap()));
            }
        }
    }
    found
}

/// What stands in double quotes right after `before`.
fn quoted_after<'a>(text: &'a str, before: &str) -> Vec<&'a str> {
    let parts = text.split(before).skip(1);
    parts
        .filter_map(|part| part.trim_start().strip_prefix('"')?.split_once('"'))
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn every_sentence_that_the_code_asks_for_is_there() {
    let english = sentences("en");
    let mut asked = 0;
    for (file, text) in sources("src/figure", "rs") {
        // Tests ask for what does not exist, too.
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = code.split("#[cfg(all(test").next().unwrap_or_default();
        for before in [".say(", ".fill("] {
            for key in quoted_after(code, before) {
                asked += 1;
                assert!(
                    english.contains_key(&format!("chart.{key}")),
                    "{file} asks for {key}"
                );
            }
        }
    }
    assert!(asked > 100, "{asked}");
    let mut asked = 0;
    for (file, text) in sources("www", "js") {
        for path in quoted_after(&text, "words.say(") {
            asked += 1;
            assert!(english.contains_key(path), "{file} asks for {path}");
        }
        for kind in ["problems", "notes"] {
            for path in quoted_after(&text.replace(&format!("\"{kind}."), &format!("@\"{kind}.")), "@") {
                asked += 1;
                assert!(english.contains_key(path), "{file} asks for {path}");
            }
        }
    }
    assert!(asked > 60, "{asked}");
}

#[test]
fn no_sentence_of_the_charts_is_left_over() {
    let code: String = sources("src/figure", "rs")
        .into_iter()
        .map(|(_, text)| text)
        .collect();
    for path in sentences("en").keys() {
        let Some(key) = path.strip_prefix("chart.") else {
            continue;
        };
        let is_made = key.starts_with("encoding_");
        assert!(
            is_made || code.contains(&format!("\"{key}\"")),
            "nothing asks for {key}"
        );
    }
}
