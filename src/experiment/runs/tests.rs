use super::*;

fn tokenizer() -> Tokenizer {
    let json = r#"{"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
        "model": {"type": "BPE", "vocab": {"a": 0, "b": 1}, "merges": []}}"#;
    Tokenizer::from_json(json.as_bytes()).unwrap()
}

fn settings(text: &str, longest: usize) -> RunSettings {
    RunSettings {
        text: text.into(),
        protocol: Protocol::NonOverlapping,
        lengths: None,
        shortest: 16,
        longest,
        scored_max: 1 << 20,
        together: 0,
        keep_tokens: false,
    }
}

/// Two texts of 3,080 and 200 tokens, and a run on each.
fn two_runs() -> Runs {
    let mut runs = Runs::default();
    for (name, text) in [("a", "a".repeat(3080)), ("b", "b".repeat(200))] {
        let TextSummary { tokens, dropped } = runs.set_text(name, &text, &tokenizer());
        assert_eq!((tokens, dropped), (text.len(), 0));
    }
    runs.open("short", settings("a", 32)).unwrap();
    runs.open("long", settings("b", 4096)).unwrap();
    runs
}

/// Runs a model's next step with a loss that is the same for every token.
fn step(runs: &mut Runs, key: &str, model: &str, loss: f32) {
    let step = runs.next_step(key, model).unwrap().unwrap();
    let nll = vec![loss; step.tokens()];
    runs.finish_step(key, model, Some(&nll)).unwrap();
}

#[test]
fn runs_and_models_do_not_touch_each_other() {
    let mut runs = two_runs();
    // Three blocks of 1,024 tokens at the lengths 16 and 32; 128 tokens at 16, 32, 64 and 128.
    assert_eq!(
        (runs.steps_left("short", "x"), runs.steps_left("long", "x")),
        (6, 4)
    );
    step(&mut runs, "short", "x", 1.0);
    step(&mut runs, "short", "x", 1.0);
    step(&mut runs, "short", "y", 2.0);
    step(&mut runs, "long", "x", 3.0);
    assert_eq!(
        (runs.steps_left("short", "x"), runs.steps_left("short", "y")),
        (4, 5)
    );
    assert_eq!(
        (runs.steps_left("long", "x"), runs.steps_left("long", "y")),
        (3, 4)
    );
    assert_eq!(
        (runs.next_round("short", "x"), runs.next_round("short", "y")),
        (Some(1), Some(0))
    );
    let points = |key: &str, model: &str| {
        let points = runs.points(key, model);
        let short = |point: &Point| (point.length, point.tokens, point.perplexity.ln().round());
        points.iter().map(short).collect::<Vec<_>>()
    };
    assert_eq!(points("short", "x"), [(16, 1024, 1.0), (32, 1024, 1.0)]);
    assert_eq!(points("short", "y"), [(16, 1024, 2.0)]);
    assert_eq!(points("long", "x"), [(16, 128, 3.0)]);
    assert!(points("long", "y").is_empty());
    assert_eq!(runs.by_position("long", "x", 16), [3.0; 16]);
    assert!(runs.by_position("long", "x", 32).is_empty());
}

#[test]
fn after_the_first_round_all_points_stand_for_the_same_tokens() {
    let mut runs = two_runs();
    // Every block of the text is harder than the one before; a round is a step at 16 and one at 32 tokens.
    let mut seen = Vec::new();
    for done in 0..6 {
        step(&mut runs, "short", "x", (done / 2) as f32);
        let points = runs.points("short", "x");
        seen.push(points.iter().map(|point| point.tokens).collect::<Vec<_>>());
        let first = points[0].perplexity;
        assert!(points.iter().all(|point| point.perplexity == first), "{points:?}");
    }
    let rounds = [
        &[1024][..],
        &[1024; 2],
        &[1024; 2],
        &[2048; 2],
        &[2048; 2],
        &[3072; 2],
    ];
    assert_eq!(seen, rounds);
}

#[test]
fn a_step_takes_the_windows_of_its_own_text() {
    let runs = two_runs();
    for (key, token) in [("short", 0), ("long", 1)] {
        let step = runs.next_step(key, "x").unwrap().unwrap();
        let batch = runs.batch(key, &step).unwrap();
        assert_eq!((batch.windows(), batch.length()), (step.windows, step.length));
        assert_eq!(batch.sources(0), [token; 16], "{key}");
    }
    let window = runs.window("b", 199).unwrap();
    assert_eq!((window.windows(), window.sources(0)), (1, &[1; 199][..]));
}

#[test]
fn opening_again_loses_nothing_and_closing_all() {
    let mut runs = two_runs();
    let first = runs.open("short", settings("a", 32)).unwrap();
    assert_eq!(
        (&first.lengths[..], first.scored, first.steps),
        (&[16, 32][..], 3072, 6)
    );
    for _ in 0..6 {
        step(&mut runs, "short", "x", 1.0);
    }
    assert_eq!(runs.open("short", settings("a", 32)).unwrap(), first);
    assert_eq!(
        (runs.steps_left("short", "x"), runs.next_round("short", "x")),
        (0, None)
    );
    // A step too many changes nothing.
    runs.finish_step("short", "x", Some(&[9.0])).unwrap();
    assert_eq!(runs.points("short", "x").len(), 2);
    runs.close("short");
    assert!(runs.points("short", "x").is_empty());
    assert_eq!(runs.steps_left("short", "x"), 0);
    runs.open("short", settings("a", 16)).unwrap();
    assert_eq!(runs.steps_left("short", "x"), 3);
}

#[test]
fn a_run_may_slide_at_lengths_of_choice_and_keep_tokens() {
    let mut runs = two_runs();
    let sliding: RunSettings = serde_json::from_str(
        r#"{"text": "b", "lengths": [24, 10], "scored_max": 50, "protocol": {"sliding": {"stride": 10}},
            "keep_tokens": true}"#,
    )
    .unwrap();
    let summary = runs.open("sliding", sliding).unwrap();
    assert_eq!((&summary.lengths[..], summary.scored), (&[24, 10][..], 50));
    while runs.steps_left("sliding", "x") > 0 {
        step(&mut runs, "sliding", "x", 2.0);
    }
    let points = runs.points("sliding", "x");
    assert!(points.iter().all(|point| point.tokens == 50), "{points:?}");
    assert_eq!(runs.by_token("sliding", "x", 24), [2.0; 50]);
    let pooled = runs.pooled("sliding", "x", 10, 64).unwrap();
    assert_eq!(pooled.groups, [(100.0, 50)]);
    step(&mut runs, "long", "x", 2.0);
    assert!(runs.by_token("long", "x", 16).is_empty());
    assert_eq!(runs.pooled("long", "x", 128, 64), None);
}

#[test]
fn an_undefined_step_is_done_without_a_point() {
    let mut runs = two_runs();
    runs.finish_step("long", "x", None).unwrap();
    assert_eq!(runs.steps_left("long", "x"), 3);
    assert!(runs.points("long", "x").is_empty());
    step(&mut runs, "long", "x", 1.0);
    assert_eq!(runs.points("long", "x")[0].length, 32);
}

#[test]
fn another_text_or_model_of_a_name_forgets_what_hangs_on_it() {
    let mut runs = two_runs();
    for key in ["short", "long"] {
        for model in ["x", "y", "x?window=8"] {
            step(&mut runs, key, model, 1.0);
        }
    }
    // The same text again, as a view that comes back gives it.
    runs.set_text("a", &"a".repeat(3080), &tokenizer());
    assert_eq!(runs.points("short", "x").len(), 1);
    runs.set_text("a", &"b".repeat(100), &tokenizer());
    assert_eq!(runs.tokens("a").unwrap(), [1; 100]);
    assert_eq!(
        runs.settings("short").unwrap_err(),
        RunError::NoRun("short".into())
    );
    assert_eq!(runs.settings("long").unwrap(), &settings("b", 4096));
    runs.forget_model("x");
    for variant in ["x", "x?window=8"] {
        assert_eq!(
            (
                runs.points("long", variant).len(),
                runs.steps_left("long", variant)
            ),
            (0, 4)
        );
    }
    assert_eq!(
        (runs.points("long", "y").len(), runs.steps_left("long", "y")),
        (1, 3)
    );
}

#[test]
fn what_is_not_there_is_said() {
    let mut runs = two_runs();
    let mut message = |key, settings| runs.open(key, settings).unwrap_err().to_string();
    assert!(message("short", settings("a", 64)).contains("\"short\" is open with other settings"));
    assert!(message("new", settings("c", 64)).contains("text \"c\" is not loaded"));
    let too_long = RunSettings {
        shortest: 256,
        ..settings("b", 4096)
    };
    assert!(message("new", too_long).contains("200 tokens"));
    assert!(
        runs.next_step("new", "x")
            .unwrap_err()
            .to_string()
            .contains("\"new\" is not open")
    );
    assert!(runs.finish_step("new", "x", None).is_err());
    let message = runs.window("b", 200).unwrap_err().to_string();
    assert!(
        message.contains("200 tokens, a window of 200 needs 200 + 1"),
        "{message}"
    );
}
