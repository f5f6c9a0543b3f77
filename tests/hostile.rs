//! The fuzzers' corpus, and what they once found, through the same code: no input may panic, hang, or make us
//! hold more than a small part of a browser's memory. `fuzz/` makes up more of them.
#![cfg(feature = "figures")]

#[path = "../fuzz/src/limited.rs"]
mod limited;
#[path = "../fuzz/src/targets.rs"]
mod targets;

use serde_json::{Map, Value};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Far more than any input takes, also in a build that is not optimised.
const TIME_MAX: Duration = Duration::from_secs(20);

/// The limit on memory counts what all threads hold, so one test at a time.
static ALONE: Mutex<()> = Mutex::new(());

fn within_time(what: &str, run: impl FnOnce()) {
    let start = Instant::now();
    run();
    let took = start.elapsed();
    assert!(took < TIME_MAX, "{what} took {took:?}");
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
            // The name goes before the run, so that a panic has it.
            println!("{}", path.display());
            let bytes = fs::read(&path).unwrap();
            within_time(&path.display().to_string(), || run(&bytes));
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

/// Every whole number among a picture's settings, in turn and all at once, made as large as is allowed and larger.
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
        let wholes: Vec<&String> = usual
            .iter()
            .filter(|(_, value)| value.is_u64())
            .map(|(name, _)| name)
            .collect();
        let mut sets: Vec<Vec<&String>> = wholes.iter().map(|name| vec![*name]).collect();
        sets.push(wholes);
        for large in [1 << 17, u64::MAX] {
            for names in &sets {
                let mut figure = usual.clone();
                figure.extend(names.iter().map(|name| ((*name).clone(), large.into())));
                let text = Value::Object(figure).to_string();
                println!("{text}");
                within_time(&text, || targets::figure(&text));
                count += 1;
            }
        }
    }
    assert!(count > 100, "{count}");
}
