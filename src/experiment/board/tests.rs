use super::*;
use crate::encoding::Encoding;
use crate::engine::Engine;
use crate::experiment::Models;
use crate::model::{Config, Init, Tensor, Weights};
use std::cell::Cell as Shared;

/// A tiny model with weights that look random.
fn tiny(encoding: &str) -> (Config, Weights) {
    let mut config = Config::base(Encoding::from_name(encoding).unwrap(), 1);
    (config.vocabulary, config.d_model, config.layers, config.d_ff) = (16, 8, 1, 8);
    let mut seed = 1_u64;
    let mut weights = Weights::new();
    for parameter in config.parameters() {
        let count = parameter.shape.iter().product();
        let mut draw = || {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        let data = match parameter.init {
            Init::Ones => vec![1.0; count],
            _ => (0..count).map(|_| draw()).collect(),
        };
        let shape = parameter.shape;
        weights.insert(parameter.name, Tensor { shape, data });
    }
    (config, weights)
}

fn text(seed: u32, count: u32) -> Vec<u32> {
    (0..count)
        .map(|i| (i ^ seed).wrapping_mul(2_654_435_761) >> 28)
        .collect()
}

fn finding_of(board: &Board, id: &str) -> Finding {
    board.standing(id).unwrap().finding
}

fn missing_of(board: &Board, id: &str) -> Vec<Missing> {
    board.standing(id).unwrap().missing
}

/// A board whose models and texts are given when it asks.
struct Lab {
    board: Board,
    models: Models,
    /// Tokens of every text.
    tokens: u32,
    clock: Shared<f64>,
}

impl Lab {
    fn new() -> Self {
        let mut board = Board::default();
        board.set_options(Options {
            quick: true,
            ..Options::default()
        });
        Self {
            board,
            models: Models::default(),
            tokens: 4097,
            clock: Shared::new(0.0),
        }
    }

    fn load(&mut self, name: &str, bytes: &[u8]) {
        let (config, weights) = tiny(encoding_of(name));
        self.models
            .load(&Engine::Cpu, name, config.clone(), weights)
            .unwrap();
        self.board
            .set_model(name, config, &fingerprint(bytes.iter().copied()));
    }

    /// Does what a claim needs next, at most `count` times; whether it is done.
    fn work(&mut self, id: &str, count: usize) -> bool {
        for _ in 0..count {
            match self.board.next(id).unwrap() {
                Next::Load { model } => self.load(&model, model.as_bytes()),
                Next::Text { text: name } => self.board.set_text(&name, &text(0, self.tokens)),
                Next::Step { variant } => {
                    let clock = &self.clock;
                    let now = || {
                        clock.set(clock.get() + 5.0);
                        clock.get()
                    };
                    match self.models.variant(&Engine::Cpu, &variant) {
                        Ok(model) => {
                            pollster::block_on(self.board.step(id, model, now)).unwrap();
                        }
                        Err(reason) => self.board.leave_out(id, &reason.to_string()).unwrap(),
                    }
                }
                Next::Done => return true,
            }
        }
        false
    }
}

#[test]
fn a_claim_is_measured_and_shares_its_tasks() {
    let mut lab = Lab::new();
    assert_eq!(
        lab.board.next("scale").unwrap(),
        Next::Text {
            text: "persuasion".into()
        }
    );
    assert_eq!(lab.board.progress("scale").unwrap().progress, 0.0);
    assert!(lab.work("scale", 1000));
    let finding = finding_of(&lab.board, "scale");
    assert_ne!(finding.verdict, Verdict::Unmeasured);
    assert_eq!(lab.board.progress("scale").unwrap().progress, 1.0);
    // ALiBi's own claim has part of its lengths already.
    let progress = lab.board.progress("alibi").unwrap();
    assert!(
        progress.operations_done > 0 && progress.progress < 1.0,
        "{progress:?}"
    );
    // Its curve shows, and no verdict yet: two lengths would be taken for all.
    assert_eq!(finding_of(&lab.board, "alibi").verdict, Verdict::Unmeasured);
    // What is measured agrees with a plain measurement of the same windows.
    let Some(Picture::Perplexity { series }) = finding_of(&lab.board, "alibi").picture else {
        panic!("a curve")
    };
    let point = series[0].points.iter().find(|point| point.length == 128).unwrap();
    let model = lab.models.variant(&Engine::Cpu, "alibi").unwrap();
    let tokens = text(0, 4097);
    let plan = crate::experiment::Plan::new(4097, &[128], 4096).unwrap();
    let mut plain = crate::experiment::Curve::default();
    for step in plan.steps() {
        let output = pollster::block_on(model.forward(&step.batch(&tokens).unwrap(), &Default::default()));
        plain.add(&step, &output.unwrap().nll);
    }
    let plain = plain.points()[0];
    assert!((point.perplexity / plain.perplexity - 1.0).abs() < 1e-6);
    assert_eq!(point.tokens, 4096);
    let errors = point.standard_error.unwrap() / plain.standard_error.unwrap();
    assert!((0.9..1.1).contains(&errors), "{errors}");
}

#[test]
fn stopping_and_restoring_lose_nothing() {
    let mut whole = Lab::new();
    assert!(whole.work("scale", 1000));
    let expected = finding_of(&whole.board, "scale");
    let mut first = Lab::new();
    assert!(!first.work("scale", 6));
    let kept = first.board.export().unwrap();
    let half = finding_of(&first.board, "scale");
    // A page that is loaded anew: the finding is there before any model is.
    let mut second = Lab::new();
    assert_eq!(second.board.restore(&kept).unwrap(), [""; 0]);
    assert_eq!(second.board.results().len(), first.board.results().len());
    assert_eq!(finding_of(&second.board, "scale").parts, half.parts);
    let done = second.board.progress("scale").unwrap().operations_done;
    assert!(done > 0);
    assert!(second.work("scale", 1000));
    let found = finding_of(&second.board, "scale");
    assert_eq!((found.verdict, &found.parts), (expected.verdict, &expected.parts));
    second.board.forget("scale").unwrap();
    assert!(second.board.results().is_empty());
    assert_eq!(finding_of(&second.board, "scale").verdict, Verdict::Unmeasured);
}

#[test]
fn results_of_another_model_or_text_are_dropped() {
    let mut lab = Lab::new();
    assert!(lab.work("scale", 1000));
    let kept = lab.board.export().unwrap();
    let all = lab.board.results().len();
    lab.board.set_text("persuasion", &text(0, 4097));
    assert_eq!(lab.board.results().len(), all);
    let (config, _) = tiny("alibi");
    lab.board.set_model("alibi", config, "another");
    assert_eq!(lab.board.results().len(), all / 2);
    // Restored results of the old file are refused, those of the other model taken.
    let refused = lab.board.restore(&kept).unwrap();
    assert_eq!((lab.board.results().len(), refused.len()), (all / 2, all / 2));
    assert!(refused.iter().all(|key| key.contains(" alibi ")));
    lab.board.set_text("persuasion", &text(7, 4097));
    assert!(lab.board.results().is_empty());
    assert!(lab.board.restore("{}").is_err());
}

#[test]
fn what_cannot_be_had_is_left_out_and_said() {
    let mut lab = Lab::new();
    lab.board.skip("sinusoidal");
    assert!(lab.work("scale", 1000));
    let name = "sinusoidal".into();
    assert_eq!(missing_of(&lab.board, "scale"), [Missing::Model { name }]);
    assert_eq!(finding_of(&lab.board, "scale").verdict, Verdict::Unmeasured);
    // It is there after all.
    lab.load("sinusoidal", b"sinusoidal");
    assert!(lab.work("scale", 1000));
    assert_eq!(missing_of(&lab.board, "scale"), []);
    assert_ne!(finding_of(&lab.board, "scale").verdict, Verdict::Unmeasured);
    // What failed once is left out until it is asked for again.
    lab.board.forget("scale").unwrap();
    lab.board.skip("sinusoidal");
    lab.board.models.remove("sinusoidal");
    assert!(lab.work("scale", 1000));
    lab.board.ask_again("sinusoidal");
    assert!(lab.board.progress("scale").unwrap().progress < 1.0);
    let model = "sinusoidal".into();
    assert_eq!(lab.board.next("scale").unwrap(), Next::Load { model });
    // A text too short for some lengths gives the others.
    let mut short = Lab::new();
    short.board.set_text("persuasion", &text(0, 300));
    assert!(short.work("scale", 1000));
    let text = "persuasion".into();
    let lengths = vec![512];
    assert_eq!(
        missing_of(&short.board, "scale"),
        [Missing::Short { text, lengths }]
    );
    assert!(short.board.next("nothing").is_err());
}

#[test]
fn a_text_that_cannot_be_had_ends_even_what_any_text_would_do_for() {
    let mut lab = Lab::new();
    lab.board.skip("persuasion");
    for id in ["scale", "speed"] {
        assert_eq!(lab.board.next(id).unwrap(), Next::Done, "{id}");
        let name = "persuasion".into();
        assert_eq!(missing_of(&lab.board, id), [Missing::Text { name }], "{id}");
    }
}

#[test]
fn changes_are_told_once_and_another_page_takes_them() {
    let mut first = Lab::new();
    assert_eq!(first.board.take_changes().unwrap(), None);
    assert!(!first.work("scale", 4));
    let early = first.board.take_changes().unwrap().unwrap();
    assert_eq!(first.board.take_changes().unwrap(), None);
    assert!(first.work("scale", 1000));
    let late = first.board.take_changes().unwrap().unwrap();
    assert!(!late.contains("dropped"));
    // In whatever order they come, what is further counts; what was taken over is not told again.
    let mut second = Lab::new();
    for changes in [&late, &early] {
        assert_eq!(second.board.restore(changes).unwrap(), [""; 0]);
    }
    assert_eq!(second.board.take_changes().unwrap(), None);
    // Sums are kept with nine digits.
    let parts = |lab: &Lab| finding_of(&lab.board, "scale").parts;
    assert_eq!(parts(&second), parts(&first));
    // What one forgets it tells, and the other takes.
    first.board.forget("scale").unwrap();
    let told = first.board.take_changes().unwrap().unwrap();
    let told: serde_json::Value = serde_json::from_str(&told).unwrap();
    let dropped: Vec<String> = serde_json::from_value(told["dropped"].clone()).unwrap();
    assert_eq!(dropped.len(), second.board.results().len());
    let keys: Vec<&str> = dropped[1..].iter().map(|key| &**key).collect();
    second.board.forget_keys(&keys);
    assert_eq!(second.board.results().len(), 1);
    second.board.forget_all();
    assert!(second.board.take_changes().unwrap().unwrap().contains("dropped"));
}

#[test]
fn results_of_a_model_that_is_known_to_be_another_are_never_shown() {
    let mut lab = Lab::new();
    assert!(lab.work("scale", 1000));
    let (kept, all) = (lab.board.export().unwrap(), lab.board.results().len());
    let known = |name: &str| (name.to_string(), fingerprint(name.bytes()));
    // Before anything is loaded: sinusoidal is what it was, ALiBi is not.
    let expected = vec![known("sinusoidal"), ("alibi".into(), "another".into())];
    let mut later = Lab::new();
    later.board.expect_models(expected.clone());
    assert_eq!(later.board.restore(&kept).unwrap().len(), all / 2);
    let name = "sinusoidal";
    assert!(
        later
            .board
            .results()
            .records
            .keys()
            .all(|key| Key::read(key).unwrap().model == name)
    );
    // The same where the results were there first.
    lab.board.take_changes().unwrap();
    lab.board.expect_models(expected);
    assert_eq!(lab.board.results().len(), all / 2);
    assert!(lab.board.take_changes().unwrap().unwrap().contains("dropped"));
}

#[test]
fn times_of_two_engines_are_two_measurements() {
    let mut lab = Lab::new();
    assert!(lab.work("speed", 1000));
    let count = lab.board.results().len();
    assert_eq!(
        finding_of(&lab.board, "speed").parts.get("engine"),
        Some(&Part::Word {
            word: "board.words.engine_cpu".into()
        })
    );
    let adapter = engine_name("gpu", Some("SwiftShader Device (LLVM 10)"));
    assert_eq!(
        (&adapter[..], &engine_name("cpu", Some("a GPU"))[..]),
        ("gpu_SwiftShader_Device_(LLVM_10)", "cpu")
    );
    let engine = adapter.clone();
    lab.board.set_options(Options {
        engine,
        ..lab.board.options().clone()
    });
    assert_eq!(lab.board.progress("speed").unwrap().progress, 0.0);
    assert_eq!(finding_of(&lab.board, "speed").verdict, Verdict::Unmeasured);
    assert!(lab.work("speed", 1000));
    assert_eq!(lab.board.results().len(), 2 * count);
    // The first engine's are there again when it is.
    lab.board.set_options(Options {
        quick: true,
        ..Options::default()
    });
    assert_eq!(lab.board.progress("speed").unwrap().progress, 1.0);
}

#[test]
fn speed_takes_turns_and_estimates_follow() {
    let mut lab = Lab::new();
    assert!(!lab.work("speed", 1));
    assert_eq!(lab.board.progress("speed").unwrap().seconds, None);
    // Text, then models and samples by turns: after so many all models have nearly as many samples.
    assert!(!lab.work("speed", 20));
    lab.load("alibi", b"alibi");
    let model = lab.models.variant(&Engine::Cpu, "alibi").unwrap();
    let clock = &lab.clock;
    let now = || {
        clock.set(clock.get() + 10.0);
        clock.get()
    };
    pollster::block_on(lab.board.calibrate(model, now)).unwrap();
    let before = lab.board.progress("speed").unwrap().seconds.unwrap();
    assert!(lab.work("speed", 1000));
    assert_eq!(lab.board.progress("speed").unwrap().seconds, Some(0.0));
    assert!(before > 0.0);
    let finding = finding_of(&lab.board, "speed");
    // The clock gave each sample 5 ms.
    assert_eq!(finding.verdict, Verdict::Partly);
    assert_eq!(finding.parts.get("alibi"), Some(&Part::Text("1.00".into())));
}

#[test]
fn no_claim_takes_long() {
    let board = Board::default();
    for claim in CLAIMS {
        // WebAssembly on a CPU does 10 to 20 thousand million multiply-adds a second: well under a minute.
        let operations = board.progress(claim.id()).unwrap().operations;
        eprintln!(
            "{}: {:.0} thousand million multiply-adds",
            claim.id(),
            operations as f64 / 1e9
        );
        assert!(operations < 450_000_000_000, "{} has {operations}", claim.id());
    }
    // A laptop's GPU does 150 to 500 thousand million: all claims in half a minute.
    let all = board.survey().1.operations;
    assert!(all < 4_500_000_000_000, "all together have {all}");
}

/// The words at a path of a file of words.
fn words<'a>(file: &'a serde_json::Value, path: &str) -> Option<&'a str> {
    path.split('.').try_fold(file, |at, name| at.get(name))?.as_str()
}

#[test]
fn every_claim_is_measured_and_told_in_every_language() {
    let files = [
        include_str!("../../../www/locales/en.json"),
        include_str!("../../../www/locales/zh-Hant.json"),
    ]
    .map(|file| serde_json::from_str::<serde_json::Value>(file).unwrap());
    let mut lab = Lab::new();
    lab.tokens = 1100;
    lab.board.set_options(Options {
        quick: true,
        own: true,
        ..Options::default()
    });
    for claim in CLAIMS {
        let id = claim.id();
        assert!(lab.work(id, 10_000), "{id}");
        assert_eq!(missing_of(&lab.board, id), [], "{id}");
        let finding = finding_of(&lab.board, id);
        assert_ne!(finding.verdict, Verdict::Unmeasured, "{id}");
        let mut paths: Vec<String> = ["title", "claim", "rule", "transfers"]
            .map(|name| format!("board.claims.{id}.{name}"))
            .to_vec();
        let mut cells: Vec<Cell> = Vec::new();
        for table in [Some(finding.table), finding.heads, Some(claim.paper())]
            .into_iter()
            .flatten()
        {
            paths.extend(
                table
                    .columns
                    .into_iter()
                    .filter(|column| column.starts_with("board.")),
            );
            cells.extend(table.rows.into_iter().flatten());
        }
        paths.extend(cells.into_iter().filter_map(|cell| match cell {
            Cell::Word { word } => Some(word),
            _ => None,
        }));
        for (_, part) in finding.parts.iter() {
            if let Part::Word { word } = part {
                paths.push(word.clone());
            }
        }
        for file in &files {
            for path in &paths {
                assert!(words(file, path).is_some(), "{path}");
            }
            for verdict in ["holds", "partly", "differs"] {
                let sentence = words(file, &format!("board.claims.{id}.sentence.{verdict}")).unwrap();
                for part in sentence.split('{').skip(1) {
                    let name = part.split('}').next().unwrap();
                    assert!(finding.parts.get(name).is_some(), "{id}.{verdict}: {name}");
                }
            }
        }
    }
}
