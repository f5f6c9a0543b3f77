//! What holds of encodings whatever their sizes: rotary scores depend on distances only, also a million tokens
//! in; ALiBi never raises a score; T5's buckets grow with the distance; and odd widths are refused.

#![allow(clippy::excessive_precision, clippy::unreadable_literal)]

mod common;

use common::shape;
use longview::encoding::{Encoding, Pairing, Positional, Rotary, T5Bias};
use longview::model::Weights;
use proptest::prelude::*;

/// cos and sin of 10⁶ · base^(−2c/24) for the pairs c = 0 … 11, in arithmetic of 60 digits (mpmath 1.4).
const MILLIONTH: [(f64, [[f64; 2]; 12]); 2] = [
    (
        10_000.0,
        [
            [0.93675212753314479, -0.34999350217129295],
            [0.42198375503824774, 0.90660339205400071],
            [0.78258143129731226, -0.62254823378486115],
            [-0.99936080743821245, 0.035748797972016509],
            [-0.41475693770084304, 0.90993224068005141],
            [0.76772187912815571, -0.64078320538847886],
            [-0.95215536825901485, -0.30561438888825214],
            [-0.11406327138759683, -0.99347348737666846],
            [0.76621242240224538, -0.64258736663311636],
            [0.56237907629070299, 0.82687954053200256],
            [0.6989776743139657, -0.71514348966528367],
            [-0.24194725614451065, 0.97028940282997142],
        ],
    ),
    (
        500_000.0,
        [
            [0.93675212753314479, -0.34999350217129295],
            [0.93609292914471353, -0.35175279388410028],
            [-0.97112106586073877, -0.23858724911759781],
            [0.39303411401537224, 0.91952389051081831],
            [0.14631116667107792, 0.98923861757785622],
            [0.39357814010335339, -0.91929116586247315],
            [0.87907969310277289, 0.47667482960015273],
            [-0.83963200958518226, 0.54315567610027643],
            [-0.089556045570393947, 0.99598178432228043],
            [-0.97499092072341516, 0.22224469511533269],
            [0.51346233296766997, -0.85811213289604385],
            [0.9512291896879621, -0.30848505423372301],
        ],
    ),
];

#[test]
fn rotary_is_exact_a_million_tokens_in() {
    for (base, exact) in MILLIONTH {
        let rotary = Rotary {
            base,
            ..Rotary::default()
        };
        let tables = rotary.tables(&shape(1_000_001, 1, 24), &Weights::new()).unwrap();
        let rotation = tables.rotation.unwrap();
        for (pair, [cos, sin]) in exact.into_iter().enumerate() {
            for (table, exact) in [(&rotation.cos, cos), (&rotation.sin, sin)] {
                let value = table.at(1_000_000, pair);
                assert!(
                    (value - exact).abs() < 1e-9,
                    "base {base}, pair {pair}: {value}, exactly {exact}"
                );
                // As the engines take it.
                let rounded = f64::from(table.row(1_000_000)[pair] as f32);
                assert!(
                    (rounded - exact).abs() < 1e-6,
                    "base {base}, pair {pair}: {rounded}"
                );
            }
        }
    }
}

#[test]
fn odd_widths_are_refused() {
    for name in ["rotary", "xpos", "randomized"] {
        let encoding = Encoding::from_name(name).unwrap();
        for d_head in [1, 3, 25] {
            let error = encoding
                .tables(&shape(4, 1, d_head), &Weights::new())
                .unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains(&d_head.to_string()) && message.contains(name),
                "{message}"
            );
        }
        encoding.tables(&shape(4, 1, 2), &Weights::new()).unwrap();
    }
}

/// The score of a query at position `i` and a key at `j`.
fn score(tables: &[Vec<f64>; 2], pairing: Pairing, [q, k]: [&[f64]; 2], [i, j]: [usize; 2]) -> f64 {
    let pairs = q.len() / 2;
    let turned = |vector: &[f64], position: usize| -> Vec<f64> {
        let mut out = vector.to_vec();
        for pair in 0..pairs {
            let (first, second) = match pairing {
                Pairing::Halves => (pair, pair + pairs),
                Pairing::Interleaved => (2 * pair, 2 * pair + 1),
            };
            let [cos, sin] = [0, 1].map(|table: usize| tables[table][position * pairs + pair]);
            out[first] = vector[first] * cos - vector[second] * sin;
            out[second] = vector[first] * sin + vector[second] * cos;
        }
        out
    };
    turned(q, i).iter().zip(turned(k, j)).map(|(a, b)| a * b).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn rotary_scores_depend_on_the_distance_only(
        pairs in 1_usize..=16, interleaved: bool, distance in 0_usize..500, shift in 0_usize..20_000, seed in 0_u64..1000,
    ) {
        let pairing = if interleaved { Pairing::Interleaved } else { Pairing::Halves };
        let rotary = Rotary { pairing, ..Rotary::default() };
        let length = distance + shift + 1;
        let rotation = rotary.tables(&shape(length, 1, 2 * pairs), &Weights::new()).unwrap().rotation.unwrap();
        let tables = [rotation.cos.data, rotation.sin.data];
        let vector = |salt: u64| -> Vec<f64> {
            (0..2 * pairs as u64).map(|c| (((c + 1) * (seed + salt) * 7919) % 997) as f64 / 498.5 - 1.0).collect()
        };
        let (q, k) = (vector(1), vector(2));
        let near = score(&tables, pairing, [&q, &k], [distance, 0]);
        let far = score(&tables, pairing, [&q, &k], [distance + shift, shift]);
        prop_assert!((near - far).abs() < 1e-9, "{near} {far}");
    }

    #[test]
    fn alibi_never_raises_a_score_and_falls_with_the_distance(heads in 1_usize..=128, length in 1_usize..=400) {
        let alibi = Encoding::from_name("alibi").unwrap();
        let bias = alibi.tables(&shape(length, heads, 8), &Weights::new()).unwrap().bias.unwrap().behind;
        for head in 0..heads {
            let row = bias.row(head);
            prop_assert_eq!(row[0], 0.0);
            // Each step costs the same: the head's slope.
            for distance in 1..length {
                let slope = row[distance - 1] - row[distance];
                prop_assert!(slope > 0.0 && (slope + row[1]).abs() < 1e-12, "head {head}, {distance}: {slope}");
            }
        }
    }

    #[test]
    fn t5_buckets_grow_with_the_distance(
        half in 2_usize..=64, more in 1_usize..=4000, bidirectional: bool, distance in 0_usize..1_000_000,
    ) {
        let t5 = T5Bias { buckets: 2 * half, max_distance: 2 * half + more, bidirectional };
        t5.validate().unwrap();
        let side = if bidirectional { half } else { 2 * half };
        let (here, next) = (t5.bucket_behind(distance), t5.bucket_behind(distance + 1));
        prop_assert!(here <= next && next < side, "{here} {next}");
        prop_assert_eq!(t5.bucket_behind(t5.max_distance + distance), side - 1);
        let ahead = t5.bucket_ahead(distance + 1);
        prop_assert_eq!(ahead, if bidirectional { half + next } else { 0 });
    }
}
