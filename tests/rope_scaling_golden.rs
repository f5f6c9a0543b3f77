//! Rotary's methods at inference: frequencies and attention factors against transformers and x-transformers
//! (`tests/golden/rope_scaling.json`), and scores by distance against the papers' formulas.

mod common;

use common::{golden_json, list, numbers};
use longview::encoding::{
    EncodingError, FarKeys, Positional, Ramp, Rotary, Rotation, Scaling, ScalingMethod, Shape, Tables,
};
use longview::model::Weights;
use proptest::prelude::*;
use serde_json::Value;

fn tables(rotary: &Rotary, length: usize, d_head: usize) -> Result<Tables, EncodingError> {
    let shape = Shape {
        length,
        d_model: d_head,
        heads: 1,
        d_head,
    };
    rotary.tables(&shape, &Weights::new())
}

fn check_frequencies(name: &str, got: &[f64], golden: &Value) {
    let golden = numbers(golden);
    assert_eq!(got.len(), golden.len(), "{name}");
    for (pair, (got, golden)) in got.iter().zip(&golden).enumerate() {
        let difference = ((got - golden) / golden).abs();
        assert!(
            difference <= 2e-6,
            "{name}, pair {pair}: {got} against {golden}, relative {difference:e}"
        );
    }
}

/// A golden case in Longview's settings, and the length that was asked for; `None` for a method that is not
/// offered.
fn settings(case: &Value) -> Option<(Option<Scaling>, usize)> {
    let given = &case["rope_scaling"];
    let number = |key: &str| given[key].as_f64();
    let longest = case["max_position_embeddings"].as_u64().unwrap() as usize;
    let method = match case["type"].as_str().unwrap() {
        "default" => return Some((None, longest)),
        "longrope" => return None,
        "linear" => ScalingMethod::Pi,
        "dynamic" => ScalingMethod::DynamicNtk,
        "yarn" => ScalingMethod::Yarn,
        "llama3" => ScalingMethod::Llama3,
        other => panic!("a new type of scaling: {other}"),
    };
    let original = case["original_max_position"].as_u64().unwrap() as usize;
    // DeepSeek's two scales of attention: a quotient that Longview takes as the attention factor.
    let attention = |scale: f64| 0.1 * scale * number("factor").unwrap().ln() + 1.0;
    let quotient = number("mscale").zip(number("mscale_all_dim"));
    let scaling = Scaling {
        method,
        original_length: original,
        factor: number("factor"),
        beta_fast: number("beta_fast").unwrap_or(32.0),
        beta_slow: number("beta_slow").unwrap_or(1.0),
        high_freq_factor: number("high_freq_factor").unwrap_or(4.0),
        low_freq_factor: number("low_freq_factor").unwrap_or(1.0),
        ramp: match given["truncate"].as_bool() {
            Some(false) => Ramp::Pairs,
            _ => Ramp::WholePairs,
        },
        attention_factor: number("attention_factor")
            .or(quotient.map(|(over, under)| attention(over) / attention(under))),
    };
    let length = case["seq_len"]
        .as_u64()
        .map_or(original, |length| length as usize);
    Some((Some(scaling), length))
}

#[test]
fn frequencies_of_every_method_equal_transformers() {
    let golden = golden_json("rope_scaling.json");
    let (mut checked, mut left_out) = (0, 0);
    for case in list(&golden, "cases") {
        let Some((scaling, length)) = settings(case) else {
            left_out += 1;
            continue;
        };
        let rotary = Rotary {
            base: case["base"].as_f64().unwrap(),
            scaling,
            ..Rotary::default()
        };
        let d_head = case["head_dim"].as_u64().unwrap() as usize;
        let (inv_freq, attention_factor) = rotary.scaled(d_head, length).unwrap();
        let name = format!(
            "{} {} seq_len {}",
            case["type"], case["rope_scaling"], case["seq_len"]
        );
        check_frequencies(&name, &inv_freq, &case["inv_freq"]);
        let golden = case["attention_factor"].as_f64().unwrap();
        assert!(
            (attention_factor - golden).abs() <= 1e-9,
            "{name}: {attention_factor}"
        );
        checked += 1;
    }
    assert_eq!((checked, left_out), (120, LONGROPE));
    for case in list(&golden, "fixed_ntk") {
        let scaling = Scaling {
            method: ScalingMethod::Ntk,
            factor: case["factor"].as_f64(),
            ..Scaling::default()
        };
        let d_head = case["head_dim"].as_u64().unwrap() as usize;
        let (inv_freq, _) = scaling
            .frequencies(case["base"].as_f64().unwrap(), d_head, 128)
            .unwrap();
        for package in ["x_transformers_inv_freq", "rotary_embedding_torch_freqs"] {
            check_frequencies(package, &inv_freq, &case[package]);
        }
    }
}

/// Cases of LongRoPE, whose factors are found by a search for each model.
const LONGROPE: usize = 36;

fn scaled(method: ScalingMethod) -> Rotary {
    Rotary {
        scaling: Some(Scaling {
            method,
            ..Scaling::default()
        }),
        ..Rotary::default()
    }
}

const METHODS: [ScalingMethod; 6] = [
    ScalingMethod::Pi,
    ScalingMethod::Ntk,
    ScalingMethod::DynamicNtk,
    ScalingMethod::ByParts,
    ScalingMethod::Yarn,
    ScalingMethod::Llama3,
];

#[test]
fn the_factor_follows_the_length_and_nothing_changes_within_the_original_one() {
    let plain = Rotary::default();
    for method in METHODS {
        let rotary = scaled(method);
        let before = tables(&rotary, 64, 16).unwrap();
        assert_ne!(
            rotary.scaled(16, 512).unwrap().0,
            plain.scaled(16, 512).unwrap().0,
            "{method:?}"
        );
        // Longer and then short again: the base's own frequencies, to the last bit of what they give.
        assert_eq!(tables(&rotary, 64, 16).unwrap(), before);
        let (within, attention) = rotary.scaled(16, 128).unwrap();
        for (within, plain) in within.iter().zip(plain.inv_freq(16)) {
            assert!((within / plain - 1.0).abs() < 1e-12, "{method:?}");
        }
        assert_eq!(attention, 1.0);
    }
    let fixed = Scaling {
        method: ScalingMethod::DynamicNtk,
        factor: Some(4.0),
        ..Scaling::default()
    };
    let frequencies = |length| fixed.frequencies(10_000.0, 16, length).unwrap().0;
    assert_eq!(frequencies(100), frequencies(128));
    assert_ne!(frequencies(129), frequencies(128));
    // Followed at T = 4L, the lowest frequency is a quarter, by PI all are, and YaRN raises the scores.
    let of = |method| scaled(method).scaled(16, 512).unwrap();
    let last = plain.inv_freq(16)[7];
    assert!((of(ScalingMethod::Ntk).0[7] * 4.0 / last - 1.0).abs() < 1e-12);
    assert_eq!(of(ScalingMethod::Pi).0[0], 0.25);
    assert_eq!(of(ScalingMethod::Ntk), of(ScalingMethod::DynamicNtk));
    assert!((of(ScalingMethod::Yarn).1 - (0.1 * 4.0_f64.ln() + 1.0)).abs() < 1e-12);
}

#[test]
fn by_parts_keeps_fast_pairs_and_interpolates_slow_ones() {
    let rotary = scaled(ScalingMethod::ByParts);
    let (got, _) = rotary.scaled(24, 512).unwrap();
    for (theta, got) in Rotary::default().inv_freq(24).into_iter().zip(got) {
        // How often the pair turns within 128 tokens: all of it from 8 turns on, none below half a turn.
        let turns = 128.0 * theta / std::f64::consts::TAU;
        let expected = match turns {
            8.0.. => theta,
            0.5.. => theta * (0.25 + 0.75 * (turns - 0.5) / 7.5),
            _ => theta / 4.0,
        };
        assert!((got / expected - 1.0).abs() < 1e-12, "{turns} turns");
    }
}

/// What the pair c gives for the same (1, 0) as query and key, at its angle, and its other part.
fn pair_score(rotation: &Rotation, query: usize, key: usize, pair: usize) -> [f64; 2] {
    let [key_cos, key_sin] = rotation.of_keys().map(|table| table.at(key, pair));
    let (cos, sin) = (rotation.cos.at(query, pair), rotation.sin.at(query, pair));
    [cos * key_cos + sin * key_sin, sin * key_cos - cos * key_sin]
}

#[test]
fn log_n_lets_queries_grow_past_the_original_length() {
    let rotary = Rotary {
        log_n: Some(128),
        ..Rotary::default()
    };
    let with = tables(&rotary, 512, 8).unwrap().rotation.unwrap();
    let without = tables(&Rotary::default(), 512, 8).unwrap().rotation.unwrap();
    for (query, factor) in [(0, 1.0), (127, 1.0), (255, 8.0 / 7.0), (511, 9.0 / 7.0)] {
        for pair in 0..4 {
            let [with, without] =
                [&with, &without].map(|rotation| pair_score(rotation, query, query / 2, pair)[0]);
            assert!((with - factor * without).abs() < 1e-12, "query {query}");
        }
    }
}

#[test]
fn far_keys_have_the_distances_of_rerope_and_self_extend() {
    let group = |i: usize| i / 4;
    for (far, distance) in [
        (
            FarKeys::ReRope { window: 16 },
            Box::new(|_, _| 16_usize) as Box<dyn Fn(usize, usize) -> usize>,
        ),
        (
            FarKeys::SelfExtend { window: 18, group: 4 },
            Box::new(move |i, j| group(i) + 18 - 18 / 4 - group(j)),
        ),
    ] {
        for scaling in [
            None,
            Some(Scaling {
                factor: Some(2.0),
                method: ScalingMethod::Yarn,
                ..Scaling::default()
            }),
        ] {
            let rotary = Rotary {
                far: Some(far),
                log_n: Some(32),
                scaling,
                ..Rotary::default()
            };
            let tables = tables(&rotary, 80, 8).unwrap();
            let (near, table) = (tables.rotation.unwrap(), tables.far.unwrap());
            let (FarKeys::ReRope { window } | FarKeys::SelfExtend { window, .. }) = far;
            assert_eq!(
                (table.from, table.keys, table.last),
                (window, usize::MAX, usize::MAX)
            );
            let rotation = table.rotation.unwrap();
            for query in window..80 {
                for key in 0..=query - window {
                    for pair in 0..4 {
                        // The same query as near, against a key that stands at the distance of the formula.
                        let standing = query - distance(query, key);
                        let expected = pair_score(&near, query, standing, pair);
                        let got = pair_score(&rotation, query, key, pair);
                        for (got, expected) in got.into_iter().zip(expected) {
                            assert!((got - expected).abs() < 1e-12, "{far:?}: {query}, {key}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn settings_without_sense_are_refused_by_name() {
    let with = |scaling: Scaling| Rotary {
        scaling: Some(scaling),
        ..Rotary::default()
    };
    let usual = Scaling::default;
    let far = |far| Rotary {
        far: Some(far),
        ..Rotary::default()
    };
    for (rotary, says) in [
        (
            with(Scaling {
                factor: Some(0.5),
                ..usual()
            }),
            "factor is 0.5",
        ),
        (
            with(Scaling {
                factor: Some(f64::NAN),
                ..usual()
            }),
            "factor is NaN",
        ),
        (
            with(Scaling {
                original_length: 0,
                ..usual()
            }),
            "original length is 0",
        ),
        (
            with(Scaling {
                beta_fast: 0.25,
                ..usual()
            }),
            "beta_fast is 0.25",
        ),
        (
            with(Scaling {
                beta_slow: 0.0,
                ..usual()
            }),
            "beta_slow",
        ),
        (
            with(Scaling {
                high_freq_factor: 1.0,
                ..usual()
            }),
            "high_freq_factor is 1",
        ),
        (
            with(Scaling {
                attention_factor: Some(0.0),
                ..usual()
            }),
            "attention factor is 0",
        ),
        (
            Rotary {
                log_n: Some(1),
                ..Rotary::default()
            },
            "log-n's length is 1",
        ),
        (far(FarKeys::ReRope { window: 0 }), "ReRoPE's window is 0"),
        (
            far(FarKeys::SelfExtend { window: 4, group: 0 }),
            "Self-Extend's group is 0",
        ),
        (
            far(FarKeys::SelfExtend { window: 4, group: 5 }),
            "Self-Extend's window is 4",
        ),
    ] {
        let message = tables(&rotary, 16, 8).unwrap_err().to_string();
        assert!(message.contains(says) && message.contains("give "), "{message}");
    }
}

#[test]
fn what_is_not_set_is_not_written() {
    let written = serde_json::to_value(Rotary::default()).unwrap();
    let fields: Vec<&String> = written.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["base", "fraction", "pairing"]);
    let rotary = Rotary {
        far: Some(FarKeys::ReRope { window: 9 }),
        ..scaled(ScalingMethod::DynamicNtk)
    };
    let written = serde_json::to_value(&rotary).unwrap();
    assert_eq!(written["scaling"]["method"], "dynamic_ntk");
    assert_eq!(written["far"]["rerope"]["window"], 9);
    assert_eq!(serde_json::from_value::<Rotary>(written).unwrap(), rotary);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn scaled_scores_depend_on_the_distance_only(
        pairs in 1_usize..=32, length in 1_usize..=300, original in 1_usize..=300, method in 0_usize..6,
        ramp in 0_usize..3, factor in prop::option::of(1.0..64.0_f64),
    ) {
        let scaling = Scaling {
            method: METHODS[method],
            original_length: original,
            factor,
            ramp: [Ramp::Turns, Ramp::WholePairs, Ramp::Pairs][ramp],
            ..Scaling::default()
        };
        let rotary = Rotary { scaling: Some(scaling), ..Rotary::default() };
        let tables = tables(&rotary, length, 2 * pairs).unwrap();
        let rotation = tables.rotation.unwrap();
        prop_assert_eq!((rotation.cos.rows, rotation.cos.columns), (length, pairs));
        for pair in 0..pairs {
            for query in 0..length {
                let key = query / 2;
                let here = pair_score(&rotation, query, key, pair);
                let there = pair_score(&rotation, query - key, 0, pair);
                for (here, there) in here.into_iter().zip(there) {
                    prop_assert!((here - there).abs() < 1e-9, "query {}, key {}", query, key);
                }
            }
        }
    }
}
