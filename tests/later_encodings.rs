//! The encodings that came after the first six: xPos, Sandwich and randomized positions against their papers'
//! formulas; and every encoding's tables at many sizes.

mod common;

use common::shape;
use longview::encoding::{
    Encoding, Learned, NAMES, PastEnd, Positional, Randomized, Rotation, Sandwich, Shape, Table, Tables, Xpos,
};
use longview::model::{Init, Tensor, Weights};
use proptest::prelude::*;

/// What the pair c contributes to the score of queries and keys that are (1, 0) there, and its other part.
fn pair_score(rotation: &Rotation, query: usize, key: usize, pair: usize) -> [f64; 2] {
    let [key_cos, key_sin] = rotation.of_keys().map(|table| table.at(key, pair));
    let (cos, sin) = (rotation.cos.at(query, pair), rotation.sin.at(query, pair));
    [cos * key_cos + sin * key_sin, sin * key_cos - cos * key_sin]
}

fn check_relative_only(name: &str, rotation: &Rotation) {
    let (length, pairs) = (rotation.cos.rows, rotation.cos.columns);
    for pair in 0..pairs {
        for query in 0..length {
            let key = query / 3;
            let [here, there] = [
                pair_score(rotation, query, key, pair),
                pair_score(rotation, query - key, 0, pair),
            ];
            for (here, there) in here.into_iter().zip(there) {
                assert!(
                    (here - there).abs() <= 1e-9,
                    "{name}: query {query}, key {key}, pair {pair}: {here}, {there}"
                );
            }
        }
    }
}

#[test]
fn xpos_fades_by_the_papers_factor() {
    let tables = Xpos::default()
        .tables(&shape(700, 1, 8), &Weights::new())
        .unwrap();
    let rotation = tables.rotation.unwrap();
    check_relative_only("xpos", &rotation);
    // At the distance 512 the pair c is left with ζ_c = (2c/8 + 0.4)/1.4.
    for (pair, zeta) in [0.4 / 1.4, 0.65 / 1.4, 0.9 / 1.4, 1.15 / 1.4]
        .into_iter()
        .enumerate()
    {
        let [same, turned] = pair_score(&rotation, 600, 88, pair);
        assert!((same.hypot(turned) - zeta).abs() < 1e-12, "pair {pair}");
        let angle = 512.0 * 10_000_f64.powf(-(pair as f64) / 4.0);
        assert!((same - zeta * angle.cos()).abs() < 1e-9, "pair {pair}");
    }
    // Scales hold in f32 at the longest sequence, and longer ones are refused.
    let longest = Xpos::default()
        .tables(&shape(65_536, 1, 2), &Weights::new())
        .unwrap();
    let rotation = longest.rotation.unwrap();
    let [key_cos, key_sin] = rotation.of_keys().map(Table::to_f32);
    assert!(key_cos.iter().chain(&key_sin).all(|value| value.is_finite()));
    assert!(
        Xpos::default()
            .tables(&shape(65_537, 1, 2), &Weights::new())
            .is_err()
    );
}

#[test]
fn sandwich_is_the_inner_product_of_sinusoids_divided_by_head() {
    let (heads, length) = (12, 300);
    let tables = Sandwich::default()
        .tables(&shape(length, heads, 4), &Weights::new())
        .unwrap();
    let bias = tables.bias.unwrap().behind;
    // The paper's appendix: the product of 128 sines and cosines, over (1 … heads)·8/heads.
    let sinusoid = |position: usize| -> Vec<f64> {
        (0..64)
            .flat_map(|pair| {
                let angle = position as f64 / 10_000_f64.powf(2.0 * f64::from(pair) / 128.0);
                [angle.sin(), angle.cos()]
            })
            .collect()
    };
    let here = sinusoid(299);
    for n in [0, 1, 2, 50, 299] {
        let product: f64 = here.iter().zip(sinusoid(299 - n)).map(|(a, b)| a * b).sum();
        for head in 0..heads {
            let paper = product / ((head + 1) as f64 * 8.0 / heads as f64);
            let nearest = 64.0 / ((head + 1) as f64 * 8.0 / heads as f64);
            assert!(
                (bias.at(head, n) - (paper - nearest)).abs() < 1e-9,
                "head {head}, {n}"
            );
        }
    }
    assert!(bias.data.iter().all(|&value| value <= 0.0));
}

#[test]
fn randomized_draws_for_training_and_not_afterwards() {
    let encoding = Encoding::Randomized(Randomized::default());
    let (shape, weights) = (shape(64, 2, 8), Weights::new());
    let mut seed = 1_u64;
    let mut draw = |n: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % n
    };
    let drawn = encoding.training_tables(&shape, &weights, &mut draw).unwrap();
    let again = encoding.training_tables(&shape, &weights, &mut draw).unwrap();
    let after = encoding.tables(&shape, &weights).unwrap();
    assert_ne!(drawn, again);
    assert_ne!(drawn, after);
    assert_eq!(after, encoding.tables(&shape, &weights).unwrap());
    // The others train on what they are measured with.
    let xpos = Encoding::Xpos(Xpos::default());
    let training = xpos.training_tables(&shape, &weights, &mut |_| 0).unwrap();
    assert_eq!(training, xpos.tables(&shape, &weights).unwrap());
}

#[test]
fn rows_past_a_learned_table_are_random_where_that_is_chosen() {
    let shape = shape(400, 4, 8);
    let mut learned = Learned::default();
    let trained = Shape { length: 16, ..shape };
    let weights = weights(&Encoding::Learned(learned.clone()), &trained);
    assert!(learned.tables(&shape, &weights).is_err());
    learned.past_end = PastEnd::Random;
    let table = learned.tables(&shape, &weights).unwrap().input.unwrap();
    let tensor = &weights["position_embedding.weight"].data;
    assert_eq!(table.to_f32()[..16 * 32], tensor[..]);
    // N(0, 0.2²): 12288 values, so the mean is within 4 of its standard errors, and the deviation too.
    let past = &table.data[16 * 32..];
    let count = past.len() as f64;
    let mean = past.iter().sum::<f64>() / count;
    let deviation = (past.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count).sqrt();
    assert!(mean.abs() < 4.0 * 0.2 / count.sqrt(), "{mean}");
    assert!(
        (deviation - 0.2).abs() < 4.0 * 0.2 / (2.0 * count).sqrt(),
        "{deviation}"
    );
    let products: f64 = past.windows(2).map(|pair| pair[0] * pair[1]).sum();
    assert!(
        (products / count).abs() < 4.0 * 0.04 / count.sqrt(),
        "neighbours go together"
    );
    // A row is the same in a shorter sequence.
    let shorter = Shape { length: 20, ..shape };
    let shorter = learned.tables(&shorter, &weights).unwrap().input.unwrap();
    assert_eq!(shorter.row(19), table.row(19));
}

/// The first values of an encoding's trained tensors; in place of random ones, sines.
fn weights(encoding: &Encoding, trained: &Shape) -> Weights {
    let tensor = |shape: Vec<usize>, init: Init| {
        let count: usize = shape.iter().product();
        let data = match init {
            Init::Values(values) => values.iter().map(|&value| value as f32).collect(),
            _ => (0..count).map(|index| (index as f32).sin()).collect(),
        };
        Tensor { shape, data }
    };
    let parameters = encoding.parameters(trained).into_iter();
    parameters
        .map(|parameter| (parameter.name, tensor(parameter.shape, parameter.init)))
        .collect()
}

fn check_tables(name: &str, shape: &Shape, tables: &Tables) {
    let check = |what: &str, table: &Table, rows: usize, columns: usize| {
        assert_eq!((table.rows, table.columns), (rows, columns), "{name}: {what}");
        assert_eq!(table.data.len(), rows * columns, "{name}: {what}");
        let finite = table.to_f32().iter().all(|value| value.is_finite());
        assert!(finite, "{name}: {what}");
    };
    if let Some(input) = &tables.input {
        check("input", input, shape.length, shape.d_model);
    }
    if let Some(rotation) = &tables.rotation {
        for table in [&rotation.cos, &rotation.sin]
            .into_iter()
            .chain(rotation.of_keys())
        {
            check("rotation", table, shape.length, shape.d_head / 2);
        }
    }
    if let Some(bias) = &tables.bias {
        check("bias", &bias.behind, shape.heads, shape.length);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn tables_are_finite_and_of_their_shape(
        pairs in 1_usize..=32, heads in 1_usize..=128, length in 1_usize..=300,
    ) {
        let shape = shape(length, heads, 2 * pairs);
        for name in NAMES {
            let mut encoding = Encoding::from_name(name).unwrap();
            if let Encoding::Learned(learned) = &mut encoding {
                *learned = Learned { past_end: PastEnd::LastRow };
            }
            let weights = weights(&encoding, &Shape { length: 128, ..shape });
            let tables = encoding.tables(&shape, &weights).unwrap();
            check_tables(name, &shape, &tables);
            let used = [tables.input.is_some(), tables.rotation.is_some(), tables.bias.is_some()];
            prop_assert_eq!(used.iter().filter(|used| **used).count(), usize::from(*name != "none"));
            if let (Encoding::Xpos(_), Some(rotation)) = (&encoding, &tables.rotation) {
                check_relative_only(name, rotation);
            }
        }
    }
}
