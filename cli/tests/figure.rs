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

/// A file that ships with the page.
fn shipped(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www");
    root.join(path).display().to_string()
}

fn checkpoint(name: &str) -> String {
    shipped(&format!("checkpoints/{name}"))
}

/// The flags that give a picture its numbers, where it needs some.
fn sources(name: &str) -> Vec<String> {
    let words = |flags: &str| flags.split(' ').map(str::to_string).collect::<Vec<_>>();
    let model = |encoding: &str| {
        let path = checkpoint(&format!("{encoding}.safetensors"));
        vec!["--checkpoint".into(), path]
    };
    let run = |flags: &str| {
        let text = ["--text".into(), shipped("texts/persuasion.txt")];
        let engine = words("--engine cpu --tokens 256");
        [model("alibi"), text.to_vec(), engine, words(flags)].concat()
    };
    match name {
        "learned" | "t5_bias" => model(name),
        "distance" | "attention" | "attention_heads" | "context" => run("--length 24 --layer 1 --head 3"),
        "perplexity" | "position_loss" => run("--length 24"),
        "paired_loss" => run("--length 24 --trained-length 8 --cell 4"),
        "copy_score" => words(r#"--set series=[{"encoding":"alibi","points":[{"gap":16,"score":-1}]}]"#),
        _ => Vec::new(),
    }
}

#[test]
fn every_figure_is_drawn_and_written_as_numbers() {
    for name in longview::figure::FIGURES {
        let (svg, csv) = (
            scratch(&format!("{name}.svg")),
            scratch(&format!("every-{name}.csv")),
        );
        let sources = sources(name);
        let mut arguments: Vec<&str> = vec![name, "--output", csv.to_str().unwrap()];
        arguments.extend(sources.iter().map(String::as_str));
        let output = figure(&arguments, &svg);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && output.stdout.is_empty(),
            "{name}: {errors}"
        );
        let svg = std::fs::read_to_string(svg).unwrap();
        // Without the bitmaps, in whose letters any word may stand.
        let svg: String = svg.split('"').filter(|part| !part.starts_with("data:")).collect();
        assert!(
            svg.contains(&format!("<title>Longview: {name}</title>")),
            "{name}"
        );
        assert!(
            !svg.contains("NaN") && !svg.contains("when its model is loaded"),
            "{name}"
        );
        // A line of settings, one of columns, and at least one of numbers.
        let csv = std::fs::read_to_string(csv).unwrap();
        let lines: Vec<&str> = csv.lines().collect();
        assert!(
            lines[0].starts_with(&format!("# Longview: {name} ")),
            "{name}: {}",
            lines[0]
        );
        assert!(lines.len() > 2, "{name}: {csv}");
        assert!(
            lines[2].contains(|letter: char| letter.is_ascii_digit()),
            "{name}: {}",
            lines[2]
        );
    }
}

#[test]
fn a_run_of_the_model_gives_its_attention() {
    let flags = sources("attention");
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let csv = drawn(&[&["attention"], &flags[..]].concat(), "attention.csv");
    let csv = String::from_utf8(csv).unwrap();
    let of_query = |query: usize| {
        let weights = csv.lines().skip(2).filter_map(|line| {
            let mut cells = line.split(',');
            let found = cells.next()?.parse::<usize>().ok()? == query;
            found.then(|| cells.next_back()?.parse::<f64>().ok()).flatten()
        });
        weights.sum::<f64>()
    };
    for query in [0, 7, 23] {
        assert!(
            (of_query(query) - 1.0).abs() < 1e-3,
            "query {query}: {}",
            of_query(query)
        );
    }
}

#[test]
fn all_kinds_of_file_tell_their_settings() {
    let settings = "alibi heads=4 length=64 trained_length=32";
    let flags = [
        "alibi",
        "--heads",
        "4",
        "--length",
        "64",
        "--trained-length",
        "32",
    ];
    let text = |kind: &str| String::from_utf8_lossy(&drawn(&flags, &format!("metadata.{kind}"))).into_owned();
    let svg = text("svg");
    assert!(svg.contains(&format!("<metadata>{settings}</metadata>")) && svg.contains("<desc>"));
    assert!(text("csv").starts_with(&format!("# Longview: {settings}\r\n")));
    let described = svg
        .split("<desc>")
        .nth(1)
        .unwrap()
        .split("</desc>")
        .next()
        .unwrap();
    let png = text("png");
    for (keyword, text) in [
        ("Title", "Longview: alibi"),
        ("Description", described),
        ("Comment", settings),
        ("Software", "Longview"),
    ] {
        // No compression, no language, no translated keyword (PNG specification, 11.3.3).
        assert!(
            png.contains(&format!("iTXt{keyword}\0\0\0\0\0{text}")),
            "{keyword}"
        );
    }
}

#[test]
fn without_a_name_the_file_is_named_after_its_settings() {
    let folder = scratch("named");
    std::fs::create_dir_all(&folder).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_longview"))
        .args(["figure", "alibi", "--slopes", "0.5,-1", "--length", "8"])
        .current_dir(&folder)
        .output()
        .unwrap();
    let name = "longview-alibi-heads2-length8-slopes0.5,-1-trained-length128.svg";
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("{name}\n"));
    assert!(folder.join(name).is_file());
}

#[test]
fn words_come_in_the_language_that_is_asked_for() {
    let words = |lang: &str| {
        let svg = drawn(&["waves", "--lang", lang], &format!("waves-{lang}.svg"));
        String::from_utf8(svg).unwrap()
    };
    let is_chinese = |text: &str| text.contains(|letter| ('\u{4e00}'..='\u{9fff}').contains(&letter));
    assert!(is_chinese(&words("zh-Hant")) && !is_chinese(&words("en")));
    let error = refused(&["waves", "--lang", "fr"], "fr.svg");
    assert!(error.contains("en") && error.contains("zh-Hant"), "{error}");
}

#[test]
fn any_setting_can_be_set_and_slips_are_told() {
    let svg = drawn(
        &["offsets", "--set", "measure=dot", "--set", "d_model=32"],
        "set.svg",
    );
    let svg = String::from_utf8(svg).unwrap();
    assert!(svg.contains("measure=dot") && svg.contains("d_model=32"));
    for (arguments, words) in [
        (&["alibbi"][..], &["alibi-slopes", "rotary-decay"][..]),
        (&["alibi", "--set", "head=3"], &["no setting \"head\"", "heads"]),
        (&["alibi", "--set", "heads"], &["KEY=JSON"]),
        (&["alibi", "--set", "heads=many"], &["alibi", "many"]),
        (&["alibi", "--seed", "3"], &["--seed means nothing", "heads"]),
        (&["paper", "--trained", "300"], &["512", "1024"]),
        (
            &["paper", "--protocol", "leaping"],
            &["non_overlapping", "sliding"],
        ),
        (&["offsets", "--encoding", "alibbi"], &["alibbi", "sinusoidal"]),
        (&["attention"], &["--checkpoint", "--text", "--values"]),
        (&["offsets", "--encoding", "learned"], &["--checkpoint"]),
        (&["attention", "--text", "a.txt"], &["--checkpoint"]),
    ] {
        let error = refused(arguments, "slip.svg");
        for word in words {
            assert!(error.contains(word), "{arguments:?}: {error}");
        }
    }
    let model = checkpoint("alibi.safetensors");
    let text = shipped("texts/hamlet.txt");
    let error = refused(&["attention", "--checkpoint", &model], "slip.svg");
    assert!(error.contains("--text"), "{error}");
    let run = ["--checkpoint", &model, "--text", &text, "--engine", "cpu"];
    let error = refused(&[&["alibi"], &run[..]].concat(), "slip.svg");
    assert!(error.contains("--text means nothing"), "{error}");
    let error = refused(
        &[&["attention", "--head", "9", "--length", "8"], &run[..]].concat(),
        "slip.svg",
    );
    assert!(error.contains("4 heads"), "{error}");
    let learned = checkpoint("learned.safetensors");
    let run = ["--checkpoint", &learned, "--text", &text, "--engine", "cpu"];
    let error = refused(
        &[&["attention", "--length", "200"], &run[..]].concat(),
        "slip.svg",
    );
    assert!(error.contains("--past last"), "{error}");
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
