//! The board of claims as the program measures it, on shipped models.

mod common;

use common::{bad, good, json};
use serde_json::Value;
use std::path::{Path, PathBuf};

#[test]
fn the_list_names_every_claim_and_what_it_needs() {
    let list = good(&["claims", "--list"]);
    for claim in longview::experiment::board::CLAIMS {
        assert!(list.contains(claim.id()), "{} in {list}", claim.id());
    }
    let unknown = bad(&["claims", "sinusoid"]);
    assert!(
        unknown.contains("\"sinusoid\"") && unknown.contains("sinusoidal"),
        "{unknown}"
    );
}

/// The perplexity of a model at a length in a finding's table: `{"value", "error"}`.
fn cell(report: &Value, length: u32) -> f64 {
    let table = &report[0]["table"];
    let rows = table["rows"].as_array().unwrap();
    let row = rows
        .iter()
        .find(|row| row[0].as_f64() == Some(length.into()))
        .unwrap();
    row[1]["value"].as_f64().unwrap()
}

#[test]
fn a_claim_is_measured_kept_and_equal_to_what_evaluate_says() {
    let kept = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("claims.json");
    let _ = std::fs::remove_file(&kept);
    let kept = kept.display().to_string();
    let arguments = [
        "claims", "alibi", "--quick", "--engine", "cpu", "--format", "json", "--out", &kept,
    ];
    let report = json(&arguments);
    assert_eq!(report[0]["id"], "alibi");
    assert_eq!(report[0]["verdict"], "holds");
    let evaluated = json(&[
        "evaluate",
        "--checkpoint",
        "www/checkpoints/alibi.safetensors",
        "--text",
        "www/texts/persuasion.txt",
        "--length",
        "128,512",
        "--tokens",
        "4096",
        "--engine",
        "cpu",
        "--format",
        "json",
    ]);
    for (index, length) in [128, 512].into_iter().enumerate() {
        let exact = evaluated["points"][index]["perplexity"].as_f64().unwrap();
        let found = cell(&report, length);
        assert!(
            (found / exact - 1.0).abs() < 1e-5,
            "{length}: {found} against {exact}"
        );
    }
    // What was kept is enough, also where there are no models any more.
    let nowhere = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("no-models");
    std::fs::create_dir_all(&nowhere).unwrap();
    std::fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/checkpoints/tokenizer.json"),
        nowhere.join("tokenizer.json"),
    )
    .unwrap();
    let nowhere = nowhere.display().to_string();
    let again = json(&[&arguments[..], &["--models", &nowhere]].concat());
    for length in [32, 128, 256, 512] {
        // Sums are kept with nine digits.
        assert!((cell(&again, length) / cell(&report, length) - 1.0).abs() < 1e-8);
    }
    assert_eq!(again[0]["verdict"], "holds");
    // Where there is another model under the name, what was kept is not taken for its.
    let other = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/checkpoints/alibi-s2.safetensors");
    std::fs::copy(other, Path::new(&nowhere).join("alibi.safetensors")).unwrap();
    let other = json(&[&arguments[..], &["--models", &nowhere]].concat());
    assert!((cell(&other, 128) / cell(&report, 128) - 1.0).abs() > 1e-3);
    std::fs::remove_dir_all(nowhere).unwrap();
}
