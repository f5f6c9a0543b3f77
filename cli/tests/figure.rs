//! `longview figure` as a user runs it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn figure(arguments: &[&str], output: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_longview"))
        .arg("figure")
        .args(arguments)
        .arg("--output")
        .arg(output)
        .output()
        .unwrap()
}

/// The bytes of a picture that must succeed.
fn drawn(arguments: &[&str], name: &str) -> Vec<u8> {
    let path = scratch(name);
    let output = figure(arguments, &path);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    std::fs::read(path).unwrap()
}

/// The error of a picture that must fail.
fn refused(arguments: &[&str], name: &str) -> String {
    let output = figure(arguments, &scratch(name));
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && !errors.contains("panicked"),
        "{errors}"
    );
    errors
}

fn checkpoint(name: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/checkpoints");
    root.join(name).display().to_string()
}

#[test]
fn an_svg_has_the_words_and_a_png_the_pixels() {
    let svg = drawn(&["alibi", "--heads", "4", "--length", "64"], "alibi.svg");
    assert!(String::from_utf8(svg).unwrap().contains("m = 1/256"));
    let size = ["--width", "300", "--height", "200", "--scale", "2"];
    let png = drawn(&[&["rotary"], &size[..]].concat(), "rotary.png");
    assert_eq!(&png[..8], b"\x89PNG\r\n\x1a\n");
    // The header's width and height.
    assert_eq!(png[16..24], [0, 0, 2, 88, 0, 0, 1, 144]);
}

#[test]
fn a_trained_table_comes_from_its_checkpoint() {
    let learned = checkpoint("learned.safetensors");
    let svg = drawn(
        &["learned", "--length", "256", "--checkpoint", &learned],
        "learned.svg",
    );
    let svg = String::from_utf8(svg).unwrap();
    assert!(svg.contains("no row past 128") && !svg.contains("when its model is loaded"));
    let error = refused(
        &["learned", "--checkpoint", &checkpoint("alibi.safetensors")],
        "wrong.svg",
    );
    assert!(error.contains("encoding is alibi"), "{error}");
}

#[test]
fn perplexity_takes_what_evaluate_writes() {
    let path = scratch("report.json");
    let report = r#"{"encoding": {"kind": "rotary"}, "trained_length": 128, "engine": {}, "undefined": [],
        "points": [{"length": 64, "perplexity": 24.5, "standard_error": 0.5, "tokens": 4096},
                   {"length": 512, "perplexity": 52.0, "standard_error": null, "tokens": 4096}]}"#;
    std::fs::write(&path, report).unwrap();
    let path = path.display().to_string();
    let svg = drawn(
        &["perplexity", "--values", &path, "--values", &path],
        "perplexity.svg",
    );
    assert!(String::from_utf8(svg).unwrap().contains("Rotary"));
}

#[test]
fn bad_input_is_refused_with_its_reason() {
    assert!(refused(&["alibi"], "alibi.jpg").contains(".png"));
    assert!(refused(&["alibi", "--heads", "2", "--slopes", "1"], "a.svg").contains("2 heads"));
    assert!(refused(&["alibi", "--length", "0"], "a.svg").contains("length"));
    assert!(refused(&["rotary", "--d-head", "5"], "a.svg").contains("even"));
    assert!(refused(&["attention", "--values", "nowhere.json"], "a.svg").contains("nowhere.json"));
    let path = scratch("few.json");
    std::fs::write(&path, "[0.5, 0.5]").unwrap();
    let few = path.display().to_string();
    assert!(refused(&["attention", "--length", "8", "--values", &few], "a.svg").contains("8 queries"));
}
