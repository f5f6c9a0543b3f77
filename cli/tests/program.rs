//! The program as a user runs it: what it prints, and what it says to bad input.

mod common;

use common::{bad, good, json};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A path in the repository.
fn shipped(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.join(path).display().to_string()
}

/// A file of its own for one test.
fn scratch(name: &str, bytes: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path.display().to_string()
}

#[test]
fn tables_as_csv() {
    let alibi = good(&["table", "alibi", "--heads", "3", "--length", "2"]);
    assert_eq!(
        alibi,
        "head,slope,distance,bias\n0,0.0625,0,0\n0,0.0625,1,-0.0625\n1,0.00390625,0,0\n\
         1,0.00390625,1,-0.00390625\n2,0.25,0,0\n2,0.25,1,-0.25\n"
    );
    let slopes = good(&[
        "table", "alibi", "--heads", "2", "--length", "2", "--slopes", "-1,0.5",
    ]);
    assert!(slopes.contains("0,-1,1,1\n") && slopes.contains("1,0.5,1,-0.5\n"));
    let t5 = good(&["table", "t5_bias", "--length", "129"]);
    assert!(t5.contains("\n112,30\n113,31\n") && t5.ends_with("128,31\n"));
    let both = good(&["table", "t5_bias", "--length", "3", "--bidirectional"]);
    assert_eq!(both, "distance,bucket\n-2,18\n-1,17\n0,0\n1,1\n2,2\n");
    let rotary = good(&["table", "rotary", "--length", "2", "--dim", "4"]);
    assert!(rotary.contains("\n1,0,1,0.5403023058681398,0.841470984807896"));
    let sinusoidal = good(&["table", "sinusoidal", "--length", "2", "--dim", "2"]);
    assert!(sinusoidal.starts_with("position,0,1\n0,0,1\n1,0.841470984807896"));
    assert_eq!(good(&["table", "none"]), "");
}

#[test]
fn tables_as_json() {
    let fairseq = json(&[
        "table",
        "sinusoidal",
        "--length",
        "2",
        "--dim",
        "8",
        "--layout",
        "fairseq",
        "--format",
        "json",
    ]);
    let row = fairseq["input"][1].as_array().unwrap();
    assert!((row[1].as_f64().unwrap() - 0.046_399).abs() < 1e-6);
    assert_eq!(fairseq["encoding"]["layout"], "fairseq");
    let rotary = json(&["table", "rotary", "--pairing", "interleaved", "--format", "json"]);
    assert_eq!(rotary["rotation"]["pairing"], "interleaved");
    assert_eq!(rotary["rotation"]["cos"].as_array().unwrap().len(), 16);
    let alibi = json(&["table", "alibi", "--heads", "4", "--format", "json"]);
    assert_eq!(alibi["bias"]["slopes"][3], 0.00390625);
}

#[test]
fn tables_of_a_checkpoint() {
    let learned = shipped("www/checkpoints/learned.safetensors");
    let table = json(&["table", "learned", "--checkpoint", &learned, "--format", "json"]);
    assert_eq!(table["input"].as_array().unwrap().len(), 128);
    let past = bad(&["table", "learned", "--checkpoint", &learned, "--length", "129"]);
    assert!(past.contains("position 128 is undefined"), "{past}");
    let t5 = shipped("www/checkpoints/t5_bias.safetensors");
    assert!(
        good(&["table", "t5_bias", "--checkpoint", &t5])
            .starts_with("distance,bucket,head 0,head 1,head 2,head 3\n0,0,")
    );
    assert!(bad(&["table", "alibi", "--checkpoint", &t5]).contains("model of t5_bias, not of alibi"));
    assert!(bad(&["table", "t5_bias", "--checkpoint", &t5, "--buckets", "8"]).contains("settles --buckets"));
}

#[test]
fn bad_tables_are_said() {
    assert!(bad(&["table", "alibis"]).contains("possible values: none, learned"));
    // Also of a setting the names are told.
    let unknown = bad(&["table", "rotary", "--scaling", "linear"]);
    assert!(
        unknown.contains("dynamic_ntk") && unknown.contains("llama3"),
        "{unknown}"
    );
    assert!(bad(&["table", "alibi", "--heads", "0"]).contains("from 1 to 256"));
    assert!(bad(&["table", "alibi", "--length", "NaN"]).contains("whole number from 1"));
    assert!(bad(&["table", "alibi", "--slopes", "1,2"]).contains("2 slopes for 8 heads"));
    assert!(bad(&["table", "alibi", "--heads", "1", "--slopes", "NaN"]).contains("a slope is NaN"));
    assert!(bad(&["table", "alibi", "--base", "2"]).contains("--base means nothing for ALiBi"));
    assert!(bad(&["table", "rotary", "--dim", "3"]).contains("rotated dimensions is 3"));
    assert!(bad(&["table", "rotary", "--base", "inf"]).contains("base is inf"));
    assert!(bad(&["table", "rotary", "--fraction", "NaN"]).contains("rotated dimensions is 0"));
    assert!(bad(&["table", "t5_bias", "--max-distance", "4"]).contains("maximum distance is 4"));
    assert!(bad(&["table", "learned"]).contains("--checkpoint"));
    assert!(
        bad(&["table", "sinusoidal", "--length", "1048576", "--dim", "65536"]).contains("limit is 16777216")
    );
}

/// `evaluate` with a shipped checkpoint and text, on the CPU.
fn evaluate<'a>(checkpoint: &'a str, text: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["evaluate", "--checkpoint", checkpoint, "--text", text];
    [&fixed, more].concat()
}

#[test]
fn evaluates_many_lengths_on_the_same_tokens() {
    let checkpoint = shipped("www/checkpoints/alibi.safetensors");
    let text = shipped("www/texts/persuasion.txt");
    let more = [
        "--length",
        "128,32,128",
        "--tokens",
        "4096",
        "--engine",
        "cpu",
        "--format",
        "json",
    ];
    let report = json(&evaluate(&checkpoint, &text, &more));
    let points = report["points"].as_array().unwrap();
    let lengths: Vec<u64> = points
        .iter()
        .map(|point| point["length"].as_u64().unwrap())
        .collect();
    assert_eq!(lengths, [32, 128]);
    for point in points {
        assert_eq!(point["tokens"], 4096);
        let by_position: Vec<f64> = point["by_position"]
            .as_array()
            .unwrap()
            .iter()
            .map(|loss| loss.as_f64().unwrap())
            .collect();
        assert_eq!(by_position.len() as u64, point["length"].as_u64().unwrap());
        let mean = by_position.iter().sum::<f64>() / by_position.len() as f64;
        let perplexity = point["perplexity"].as_f64().unwrap();
        assert!((mean.exp() / perplexity - 1.0).abs() < 1e-9);
        // A trained model: far below the vocabulary's 512, above what the training text reached.
        assert!((15.0..60.0).contains(&perplexity), "{perplexity}");
        let error = point["standard_error"].as_f64().unwrap();
        assert!((0.1..5.0).contains(&error), "{error}");
    }
    assert_eq!(report["engine"]["engine"], "cpu");
    assert_eq!(report["dropped_characters"], 0);
    let more = ["--length", "64", "--tokens", "64", "--engine", "cpu"];
    let text = good(&evaluate(&checkpoint, &text, &more));
    assert!(text.contains("ALiBi, trained on windows of 128 tokens"), "{text}");
    assert!(text.contains("16–31: "), "{text}");
}

#[test]
fn windows_slide_and_models_are_changed() {
    let checkpoint = shipped("www/checkpoints/alibi.safetensors");
    let text = shipped("www/texts/persuasion.txt");
    let common = ["--length", "64", "--tokens", "512", "--engine", "cpu"];
    let evaluate = |more: &[&str]| {
        let more = [&common[..], more, &["--format", "json"]].concat();
        json(&evaluate(&checkpoint, &text, &more))
    };
    let perplexity = |report: &serde_json::Value| report["points"][0]["perplexity"].as_f64().unwrap();
    let sliding = ["--protocol", "sliding", "--stride", "16"];
    let (apart, slid) = (evaluate(&[]), evaluate(&sliding));
    // No prediction but those of the first window has less than 49 tokens of context.
    assert!(perplexity(&slid) < perplexity(&apart));
    assert_eq!(slid["protocol"]["sliding"]["stride"], 16);
    assert_eq!(
        (&slid["points"][0]["tokens"], &slid["cost"]["tokens"]),
        (&512.into(), &(29 * 64).into())
    );
    // One change or two, in one string or in two.
    let narrow = evaluate(&["--change", "window=4"]);
    assert!(perplexity(&narrow) > perplexity(&apart));
    let two = evaluate(&["--change", "sinks=2", "--change", "window=4"]);
    let one = evaluate(&["--change", "sinks=2&window=4"]);
    assert_eq!((&two, &two["changes"]), (&one, &"window=4&sinks=2".into()));
    assert_ne!(perplexity(&two), perplexity(&narrow));

    let message = |more: &[&str]| bad(&self::evaluate(&checkpoint, &text, &[&common[..], more].concat()));
    assert!(message(&["--stride", "16"]).contains("--protocol sliding"));
    assert!(message(&["--protocol", "sliding"]).contains("--stride 16"));
    assert!(
        message(&["--protocol", "sliding", "--stride", "65"])
            .contains("windows of 64 tokens that slide by 65")
    );
    assert!(message(&["--change", "past=last"]).contains("this one has alibi"));
    assert!(message(&["--change", "widow=4"]).contains("no change \"widow\""));
}

#[test]
fn a_learned_table_is_undefined_past_its_end_unless_asked() {
    let checkpoint = shipped("www/checkpoints/learned.safetensors");
    let text = shipped("www/texts/hamlet.txt");
    let more = [
        "--length", "64,256", "--tokens", "256", "--engine", "cpu", "--format", "json",
    ];
    let report = json(&evaluate(&checkpoint, &text, &more));
    assert_eq!(report["points"].as_array().unwrap().len(), 1);
    assert_eq!(report["undefined"][0]["length"], 256);
    assert!(
        report["undefined"][0]["reason"]
            .as_str()
            .unwrap()
            .contains("128 rows")
    );
    let report = json(&evaluate(
        &checkpoint,
        &text,
        &[&more[..], &["--past", "last"]].concat(),
    ));
    assert_eq!(report["points"].as_array().unwrap().len(), 2);
    assert_eq!(report["encoding"]["past_end"], "last_row");
    let alone = bad(&evaluate(
        &checkpoint,
        &text,
        &["--length", "256", "--engine", "cpu"],
    ));
    assert!(alone.contains("position 128 is undefined"), "{alone}");
}

#[test]
fn raw_novels_can_be_cleaned_first() {
    let checkpoint = shipped("www/checkpoints/alibi.safetensors");
    let raw = "“It is a truth\nuniversally _acknowledged_”—é\n\n".repeat(20);
    let raw = scratch("raw.txt", raw.as_bytes());
    let more = ["--length", "16", "--engine", "cpu", "--format", "json"];
    let dropped = |more: &[&str]| json(&evaluate(&checkpoint, &raw, more))["dropped_characters"].clone();
    // Without cleaning: two quotes, two underscores, a dash and an é in each paragraph, but "_" is in
    // no novel either.
    assert_eq!(dropped(&more), 20 * 6);
    assert_eq!(dropped(&[&more[..], &["--clean"]].concat()), 0);
}

#[test]
fn bad_files_are_said() {
    let checkpoint = shipped("www/checkpoints/alibi.safetensors");
    let tokenizer = shipped("www/checkpoints/tokenizer.json");
    let text = shipped("www/texts/persuasion.txt");
    let bytes = std::fs::read(&checkpoint).unwrap();
    let length = ["--length", "128"];

    let cut = scratch("cut.safetensors", &bytes[..bytes.len() / 2]);
    let message = bad(&["inspect", &cut]);
    assert!(
        message.contains("cut.safetensors") && message.contains("ends too early"),
        "{message}"
    );
    let page = scratch("page.safetensors", b"<!doctype html><title>404</title>");
    assert!(bad(&["inspect", &page]).contains("web page"));
    let noise = scratch("noise.safetensors", &[7; 1000]);
    assert!(bad(&["inspect", &noise]).contains("not a safetensors file"));
    let empty = scratch("empty.safetensors", b"");
    assert!(bad(&["inspect", &empty]).contains("ends too early"));
    let large = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("large.safetensors");
    std::fs::File::create(&large).unwrap().set_len(65 << 20).unwrap();
    assert!(bad(&["inspect", large.to_str().unwrap()]).contains("the limit is 67108864"));
    let foreign = shipped("tests/golden/model_gpt2.safetensors");
    assert!(bad(&["inspect", &foreign]).contains("architecture is unknown"));
    assert!(bad(&["inspect", "no/such.safetensors"]).contains("cannot read the checkpoint no/such"));

    let short = scratch("short.txt", b"It is a truth");
    let message = bad(&evaluate(&checkpoint, &short, &length));
    assert!(
        message.contains("short.txt") && message.contains("need 129"),
        "{message}"
    );
    let latin = scratch("latin.txt", b"d\xe9j\xe0 vu");
    assert!(bad(&evaluate(&checkpoint, &latin, &length)).contains("not UTF-8"));
    assert!(bad(&evaluate(&checkpoint, &text, &["--length", "0"])).contains("whole number"));
    assert!(bad(&evaluate(&checkpoint, &text, &["--length", ""])).contains("whole number"));
    assert!(bad(&evaluate(&checkpoint, &text, &[])).contains("--length"));

    let alone = scratch("alone.safetensors", &bytes);
    let message = bad(&evaluate(&alone, &text, &length));
    assert!(message.contains("--tokenizer"), "{message}");
    let with = [
        &length[..],
        &["--tokenizer", &tokenizer, "--tokens", "128", "--engine", "cpu"],
    ]
    .concat();
    good(&evaluate(&alone, &text, &with));
    let wrong = scratch("wrong.json", b"{\"model\": {\"type\": \"Unigram\"}}");
    let with = [&length[..], &["--tokenizer", &wrong]].concat();
    assert!(bad(&evaluate(&checkpoint, &text, &with)).contains("Unigram"));
    let small = r#"{"pre_tokenizer": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}"#;
    let small = scratch("small.json", small.as_bytes());
    let with = [&length[..], &["--tokenizer", &small]].concat();
    assert!(bad(&evaluate(&checkpoint, &text, &with)).contains("1 tokens and the checkpoint 512"));
}

#[test]
fn inspects_a_checkpoint() {
    let checkpoint = shipped("www/checkpoints/rotary.safetensors");
    let report = json(&["inspect", &checkpoint, "--format", "json"]);
    assert_eq!(report["config"]["encoding"]["kind"], "rotary");
    assert_eq!(
        report["size_bytes"],
        std::fs::metadata(&checkpoint).unwrap().len()
    );
    let tensors = report["tensors"].as_array().unwrap();
    let count = |tensor: &Value| -> u64 {
        let shape = tensor["shape"].as_array().unwrap();
        shape.iter().map(|size| size.as_u64().unwrap()).product()
    };
    assert_eq!(report["parameters"], tensors.iter().map(count).sum::<u64>());
    assert!(report["record"].is_object());
    let text = good(&["inspect", &checkpoint]);
    assert!(text.contains("3 layers, 4 heads of 24"), "{text}");
    assert!(text.contains("layers.0.attention.qkv.weight"), "{text}");
}

#[test]
fn every_command_has_examples() {
    for command in ["table", "evaluate", "inspect"] {
        assert!(good(&[command, "--help"]).contains(&format!("Examples:\n  longview {command}")));
    }
}
