//! The fuzzers' corpus, and what they once found, through the same code: no input may panic, hang, or make us
//! hold more than a small part of a browser's memory. `fuzz/` makes up more of them.
#![cfg(feature = "figures")]

#[path = "../fuzz/src/limited.rs"]
mod limited;
#[path = "../fuzz/src/targets.rs"]
mod targets;

use longview::figure::{Figure, FigureError};
use serde_json::{Map, Value};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;

/// The limit on memory counts what all threads hold, so one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// What is being tried. A refused request for memory aborts, and the harness, which keeps what is printed for
/// failures, goes with it.
static TRIED: Mutex<String> = Mutex::new(String::new());

fn tell() {
    if let Ok(tried) = TRIED.try_lock() {
        let mut out = std::io::stderr();
        for part in ["\ntoo much memory for ", &tried, "\n"] {
            let _ = out.write_all(part.as_bytes());
        }
    }
}

fn trying(what: String) {
    let _ = limited::BEFORE_REFUSAL.set(tell);
    // For a panic, which the harness tells with what was printed.
    println!("{what}");
    if let Ok(mut tried) = TRIED.lock() {
        *tried = what;
    }
}

/// Calls a target with every file that is kept for it; how many there are.
fn replay(target: &str, run: impl Fn(&[u8])) -> usize {
    let mut count = 0;
    for kind in ["corpus", "found"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("fuzz")
            .join(kind)
            .join(target);
        for file in fs::read_dir(folder).into_iter().flatten() {
            let path = file.unwrap().path();
            trying(path.display().to_string());
            run(&fs::read(&path).unwrap());
            count += 1;
        }
    }
    count
}

fn text(run: impl Fn(&str)) -> impl Fn(&[u8]) {
    move |bytes| {
        if let Ok(text) = std::str::from_utf8(bytes) {
            run(text);
        }
    }
}

#[test]
fn nothing_that_is_kept_does_harm() {
    let _alone = ALONE.lock();
    let counts = [
        replay("checkpoint", targets::checkpoint),
        replay("config", text(targets::config)),
        replay("tokenizer", targets::tokenizer),
        replay("variant", text(targets::variant)),
        replay("figure", text(targets::figure)),
        replay("slopes", text(targets::slopes)),
    ];
    assert!(counts.iter().all(|&count| count > 2), "{counts:?}");
}

/// The settings with some of them replaced.
fn with(usual: &Map<String, Value>, values: &[(&String, u64)]) -> String {
    let mut figure = usual.clone();
    figure.extend(values.iter().map(|&(name, value)| (name.clone(), value.into())));
    Value::Object(figure).to_string()
}

/// Whether a picture takes its settings; sizes are looked at before the count of values is.
fn is_allowed(settings: &str) -> bool {
    let figure: Result<Figure, _> = serde_json::from_str(settings);
    let table = figure.map(|figure| figure.table(&[0.0], "en"));
    matches!(table, Ok(Ok(_) | Err(FigureError::Values { .. })))
}

/// The largest value that a setting may have beside the usual ones of the others.
fn largest(usual: &Map<String, Value>, name: &String) -> u64 {
    let (mut allowed, mut refused) = (usual[name].as_u64().unwrap(), (1 << 17) + 1);
    while refused - allowed > 1 {
        let middle = allowed.midpoint(refused);
        match is_allowed(&with(usual, &[(name, middle)])) {
            true => allowed = middle,
            false => refused = middle,
        }
    }
    allowed
}

/// Every whole number among a picture's settings, in turn, together with the length, and all at once, made as large
/// as is allowed and larger.
#[test]
fn no_setting_makes_a_picture_too_large() {
    let _alone = ALONE.lock();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus/figure");
    let mut count = 0;
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if !path.file_name().unwrap().to_string_lossy().starts_with("seed-") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let usual: Map<String, Value> = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        let wholes = usual.iter().filter(|(_, value)| value.is_u64());
        let wholes: Vec<(&String, u64)> = wholes.map(|(name, _)| (name, largest(&usual, name))).collect();
        let mut sets: Vec<Vec<(&String, u64)>> = Vec::new();
        let length = wholes.iter().find(|(name, _)| *name == "length");
        for &one in &wholes {
            sets.push(vec![one]);
            // Tables and pictures grow with the length times another size.
            sets.extend(
                length
                    .filter(|length| length.0 != one.0)
                    .map(|&length| vec![length, one]),
            );
            sets.push(vec![(one.0, u64::MAX)]);
        }
        for large in [1 << 17, u64::MAX] {
            sets.push(wholes.iter().map(|&(name, _)| (name, large)).collect());
        }
        sets.push(wholes);
        for values in sets {
            let settings = with(&usual, &values);
            trying(settings.clone());
            targets::figure(&settings);
            count += 1;
        }
    }
    assert!(count > 200, "{count}");
}
