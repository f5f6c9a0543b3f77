//! What holds of every encoding in the list, at any number of heads, at any width from 2, and a million tokens in:
//! tables are finite and of the right shape, and what the encodings promise of them. `invariances.rs` has what is
//! special to rotary's scores, ALiBi and T5's buckets.

mod common;

use common::shape;
use longview::encoding::{Encoding, EncodingError, NAMES, Positional, Shape, Table, Tables};
use longview::model::{Init, Tensor, Weights};
use proptest::prelude::*;

/// Far more than any page asks for.
const MILLION: usize = 1_000_001;
/// Where a model of these tests was trained.
const TRAINED: usize = 24;

/// An encoding with its trained tensors, which hold numbers of the size of trained ones.
fn with_weights(name: &str, shape: &Shape) -> (Encoding, Weights) {
    let encoding = Encoding::from_name(name).unwrap();
    let trained = Shape {
        length: TRAINED,
        ..*shape
    };
    let tensors = encoding.parameters(&trained).into_iter().map(|parameter| {
        let count = parameter.shape.iter().product();
        let value = |i: usize| match &parameter.init {
            Init::Values(values) => values[i] as f32,
            _ => ((i * 7919 % 997) as f32 / 498.5 - 1.0) * 0.4,
        };
        let data = (0..count).map(value).collect();
        let shape = parameter.shape.clone();
        (parameter.name, Tensor { shape, data })
    });
    let weights = tensors.collect();
    (encoding, weights)
}

fn all(tables: &Tables) -> Vec<(&'static str, &Table)> {
    let mut list = Vec::new();
    list.extend(tables.input.as_ref().map(|table| ("input", table)));
    if let Some(rotation) = &tables.rotation {
        list.extend([("cos", &rotation.cos), ("sin", &rotation.sin)]);
        let [cos, sin] = rotation.of_keys();
        list.extend([("cos of keys", cos), ("sin of keys", sin)]);
    }
    if let Some(bias) = &tables.bias {
        list.push(("behind", &bias.behind));
        list.extend(bias.ahead.as_ref().map(|table| ("ahead", table)));
    }
    list
}

fn check(name: &str, tables: &Tables, of: &Shape) {
    for (what, table) in all(tables) {
        let rows_and_columns = match what {
            "input" => (of.length, of.d_model),
            "behind" | "ahead" => (of.heads, of.length),
            _ => (of.length, of.d_head / 2),
        };
        assert_eq!(
            (table.rows, table.columns),
            rows_and_columns,
            "{name}: {what} at {of:?}"
        );
        assert_eq!(table.data.len(), table.rows * table.columns);
        // As the engines take it, too: an f64 may be more than an f32 holds.
        let odd = table.data.iter().find(|value| !(**value as f32).is_finite());
        assert_eq!(odd, None, "{name}: {what} at {of:?}");
    }
    if let Some(rotation) = &tables.rotation {
        // A query and a key at one place are turned by the same angle, and keep the product of their lengths.
        let [cos, sin] = rotation.of_keys();
        for (index, (a, b)) in rotation.cos.data.iter().zip(&rotation.sin.data).enumerate() {
            let length = a * cos.data[index] + b * sin.data[index];
            assert!((length - 1.0).abs() < 1e-9, "{name} at {of:?}: {length}");
        }
    }
    if let Some(bias) = tables.bias.as_ref().filter(|_| name != "t5_bias") {
        for head in 0..of.heads {
            let row = bias.behind.row(head);
            assert_eq!(row[0], 0.0, "{name}: a query's own token");
            assert!(row.iter().all(|bias| *bias <= 0.0), "{name} raises a score");
        }
    }
}

/// Where the length is beyond what the encoding can serve; any other error is none that it may give.
fn is_refused(name: &str, error: &EncodingError, length: usize) -> bool {
    let message = error.to_string();
    match name {
        "learned" => length > TRAINED && message.contains("stay within 24"),
        "xpos" => length > 1 << 16 && message.contains(&length.to_string()) && message.contains("65536"),
        _ => false,
    }
}

#[test]
fn tables_are_finite_and_of_the_right_shape_a_million_tokens_in() {
    for name in NAMES {
        // d = 2, and the shipped models' heads.
        for [heads, d_head] in [[1, 2], [4, 2]] {
            let shape = shape(MILLION, heads, d_head);
            let (encoding, weights) = with_weights(name, &shape);
            match encoding.tables(&shape, &weights) {
                Ok(tables) => check(name, &tables, &shape),
                Err(error) => assert!(is_refused(name, &error, MILLION), "{name}: {error}"),
            }
        }
    }
}

/// Σ over pairs of the score of a query at `i` and a key at `j` whose every number is 1, by the tables alone.
fn score(tables: &Tables, [i, j]: [usize; 2]) -> f64 {
    let rotation = tables.rotation.as_ref().unwrap();
    let [cos, sin] = rotation.of_keys();
    let pairs = rotation.cos.columns;
    let of = |pair: usize| {
        let (c, s) = (rotation.cos.at(i, pair), rotation.sin.at(i, pair));
        let (d, t) = (cos.at(j, pair), sin.at(j, pair));
        (c - s) * (d - t) + (c + s) * (d + t)
    };
    (0..pairs).map(of).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn tables_are_finite_and_of_the_right_shape(
        heads in 1_usize..=128, pairs in 1_usize..=24, length in 1_usize..=300, which in 0..NAMES.len(),
    ) {
        let (name, shape) = (NAMES[which], shape(length, heads, 2 * pairs));
        let (encoding, weights) = with_weights(name, &shape);
        match encoding.tables(&shape, &weights) {
            Ok(tables) => check(name, &tables, &shape),
            Err(error) => prop_assert!(is_refused(name, &error, length), "{name}: {error}"),
        }
    }

    #[test]
    fn an_odd_width_of_a_head_is_refused_by_those_that_pair_and_served_by_the_others(
        heads in 1_usize..=128, pairs in 0_usize..=24, which in 0..NAMES.len(),
    ) {
        let (name, shape) = (NAMES[which], shape(8, heads, 2 * pairs + 1));
        let (encoding, weights) = with_weights(name, &shape);
        let tables = encoding.tables(&shape, &weights);
        if ["rotary", "xpos", "randomized"].contains(&name) {
            let message = tables.unwrap_err().to_string();
            prop_assert!(message.contains(&shape.d_head.to_string()), "{message}");
            prop_assert!(message.contains("even"), "{message}");
        } else if shape.d_model == 1 && name == "sinusoidal" {
            prop_assert!(tables.unwrap_err().to_string().contains("at least 2"));
        } else {
            check(name, &tables.unwrap(), &shape);
        }
    }

    #[test]
    fn a_longer_table_begins_as_a_shorter_one(
        heads in 1_usize..=16, pairs in 1_usize..=8, length in 1_usize..=TRAINED, more in 1_usize..=200,
        which in 0..NAMES.len(),
    ) {
        // xPos counts from the middle, and randomized positions spread over their range.
        let name = NAMES[which];
        prop_assume!(!["xpos", "randomized"].contains(&name));
        let long = shape(if name == "learned" { TRAINED } else { length + more }, heads, 2 * pairs);
        let (encoding, weights) = with_weights(name, &long);
        let [short, long] = [length, long.length]
            .map(|length| encoding.tables(&Shape { length, ..long }, &weights).unwrap());
        for ((what, short), (_, long)) in all(&short).into_iter().zip(all(&long)) {
            if what == "behind" || what == "ahead" {
                for head in 0..heads {
                    prop_assert_eq!(short.row(head), &long.row(head)[..length], "{}: {}", name, what);
                }
            } else {
                prop_assert_eq!(&short.data[..], &long.data[..short.data.len()], "{}: {}", name, what);
            }
        }
    }

    #[test]
    fn scores_of_xpos_depend_on_the_distance_only_and_fade_with_it(
        pairs in 1_usize..=16, distance in 0_usize..400, shift in 0_usize..3000,
    ) {
        let shape = shape(distance + shift + 1, 1, 2 * pairs);
        let tables = Encoding::from_name("xpos").unwrap().tables(&shape, &Weights::new()).unwrap();
        let (near, far) = (score(&tables, [distance, 0]), score(&tables, [distance + shift, shift]));
        prop_assert!((near - far).abs() < 1e-9 * shape.d_head as f64, "{near} {far}");
        let most = score(&tables, [shift, shift]);
        prop_assert!(far <= most + 1e-9, "{far} {most}");
    }

    #[test]
    fn two_rows_of_sines_have_a_product_that_the_distance_decides(
        pairs in 1_usize..=32, distance in 0_usize..500, at in 0_usize..20_000,
    ) {
        let shape = shape(distance + at + 1, 1, 2 * pairs);
        let tables = Encoding::from_name("sinusoidal").unwrap().tables(&shape, &Weights::new()).unwrap();
        let input = tables.input.unwrap();
        let product = |i, j| -> f64 { input.row(i).iter().zip(input.row(j)).map(|(a, b)| a * b).sum() };
        prop_assert!((product(distance, 0) - product(distance + at, at)).abs() < 1e-8);
        prop_assert!((product(at, at) - pairs as f64).abs() < 1e-9);
    }

    #[test]
    fn the_bias_of_kerple_falls_ever_slower(heads in 1_usize..=128, length in 3_usize..=2000) {
        let shape = shape(length, heads, 8);
        let (kerple, weights) = with_weights("kerple", &shape);
        let bias = kerple.tables(&shape, &weights).unwrap().bias.unwrap().behind;
        for head in 0..heads {
            let row = bias.row(head);
            let steps: Vec<f64> = row.windows(2).map(|pair| pair[0] - pair[1]).collect();
            prop_assert!(steps.iter().all(|step| *step > 0.0));
            prop_assert!(steps.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12));
        }
    }
}

#[test]
fn settings_of_absurd_size_cost_no_memory() {
    let tables = |json: &str| {
        let encoding: Encoding = serde_json::from_str(json).unwrap();
        encoding.tables(&shape(4, 1, 8), &Weights::new())
    };
    let message = tables(r#"{"kind": "sandwich", "dimensions": 4294967294}"#)
        .unwrap_err()
        .to_string();
    assert!(message.contains("from 2 to 65536"), "{message}");
    // Positions that no training has are as good as others.
    let range = usize::MAX;
    let of = tables(&format!(r#"{{"kind": "randomized", "range": {range}}}"#)).unwrap();
    check("randomized", &of, &shape(4, 1, 8));
    tables(r#"{"kind": "randomized", "range": 0}"#).unwrap();
}
