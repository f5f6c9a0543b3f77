//! Figures of heads: ALiBi's slopes, and what the heads of a model look at.

use super::numbers::geometry;
use longview::figure::{AlibiSlopes, AlibiSoftmax, Cell, Figure, Style, readout};

/// Each figure with values that fit it.
pub(super) fn all(length: usize, trained_length: usize) -> Vec<(Figure, Vec<f32>)> {
    let custom = || Some((0..12).map(|head| 0.25 - f64::from(head) / 32.0).collect());
    let softmax = |slopes, logarithmic| {
        Figure::AlibiSoftmax(AlibiSoftmax {
            heads: 12,
            length,
            slopes,
            trained_length,
            logarithmic,
        })
    };
    vec![
        (
            Figure::AlibiSlopes(AlibiSlopes {
                heads: 12,
                slopes: custom(),
                trained: Some((0..12).map(|head| f64::from(12 - head) / 64.0).collect()),
                length,
                trained_length,
            }),
            vec![],
        ),
        (softmax(None, false), vec![]),
        (softmax(custom(), true), vec![]),
        (
            softmax(
                Some(vec![
                    1e300, -1e300, 1e-300, 0.0, -0.0, 1.0, 2.0, -2.0, 9.0, 1e-9, 0.5, 0.25,
                ]),
                false,
            ),
            vec![],
        ),
    ]
}

/// What the readout says at a place of the first plot, as parts of its width and height.
fn said(figure: &Figure, right: f64, down: f64) -> Option<String> {
    let geometry = geometry(figure, &[], &Style::default());
    let plot = &geometry.plots[0];
    let at = [plot.x + plot.width * right, plot.y + plot.height * down];
    readout(figure, &[], &geometry, at, "en")
}

fn slopes(heads: usize, custom: Option<Vec<f64>>) -> Figure {
    Figure::AlibiSlopes(AlibiSlopes {
        heads,
        slopes: custom,
        trained: None,
        length: 512,
        trained_length: 128,
    })
}

#[test]
fn slopes_and_their_half_distances_are_the_papers() {
    let eight = slopes(8, None);
    let table = eight.table(&[], "en").unwrap();
    assert_eq!(table.rows.len(), 8);
    for (head, row) in table.rows.iter().enumerate() {
        let [Cell::Number(given), Cell::Number(slope), Cell::Number(half)] = row[..] else {
            panic!("{row:?}");
        };
        assert_eq!((given, slope), (head as f64, 0.5f64.powi(head as i32 + 1)));
        assert!(((-slope * half).exp() - 0.5).abs() < 1e-12);
    }
    let line = said(&eight, 3.5 / 8.0, 0.5).unwrap();
    assert_eq!(line, "head 3: slope 1/16, halves every 11.1 tokens");
    // Twelve heads: those of eight, then every second one of sixteen.
    let twelve = slopes(12, None).table(&[], "en").unwrap();
    let root = Cell::Number((-0.5f64).exp2());
    assert_eq!(
        (&twelve.rows[7][1], &twelve.rows[8][1]),
        (&Cell::Number(1.0 / 256.0), &root)
    );
}

#[test]
fn slopes_that_differ_are_named() {
    let powers = |heads: i32| (1..=heads).map(|h| 0.5f64.powi(h)).collect::<Vec<f64>>();
    let mut custom = powers(8);
    let same = slopes(8, Some(custom.clone())).summary(&[], "en").unwrap();
    assert!(same.ends_with("custom: all 8 slopes are the paper's."), "{same}");
    custom[3] = 0.05;
    custom[7] = -1.0;
    let figure = slopes(8, Some(custom.clone()));
    let summary = figure.summary(&[], "en").unwrap();
    let list = "2 of 8 heads differ: head 3 has 0.05 in place of 1/16; head 7 has −1 in place of 1/256.";
    assert!(summary.ends_with(list), "{summary}");
    let line = said(&figure, 7.5 / 8.0, 0.5).unwrap();
    assert!(line.ends_with("; custom: −1, never halves"), "{line}");
    custom.fill(3.0);
    let all = slopes(8, Some(custom)).summary(&[], "en").unwrap();
    assert!(
        all.contains("8 of 8 heads differ") && all.ends_with("; and 5 more."),
        "{all}"
    );
}

fn softmax(slopes: Option<Vec<f64>>, length: usize) -> Figure {
    Figure::AlibiSoftmax(AlibiSoftmax {
        heads: 8,
        length,
        slopes,
        trained_length: 128,
        logarithmic: false,
    })
}

#[test]
fn weights_are_the_softmax_of_the_bias() {
    let custom = vec![0.5, -0.5, 0.0, 1e-7, 400.0, -400.0, 0.02, -1e-7];
    let powers = (1..=8).map(|h| 0.5f64.powi(h)).collect();
    for (slopes, given) in [(powers, None), (custom.clone(), Some(custom))] {
        let table = softmax(given, 300).table(&[], "en").unwrap();
        assert_eq!(table.rows.len(), 300);
        for (head, slope) in slopes.iter().enumerate() {
            let biases: Vec<f64> = (0..300).map(|n| -slope * f64::from(n)).collect();
            let most = biases.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = biases.iter().map(|bias| (bias - most).exp()).sum();
            for (distance, bias) in biases.iter().enumerate() {
                let Cell::Number(weight) = table.rows[distance][head + 1] else {
                    panic!("no number");
                };
                let expected = (bias - most).exp() / sum;
                assert!(
                    (weight - expected).abs() <= expected * 1e-9,
                    "{slope} {distance}: {weight} {expected}"
                );
            }
        }
    }
}

#[test]
fn the_readout_of_softmax_names_the_nearest_curve() {
    let figure = softmax(None, 129);
    let geometry = geometry(&figure, &[], &Style::default());
    let plot = &geometry.plots[0];
    let sum: f64 = (0..129).map(|n| (-f64::from(n) / 16.0).exp()).sum();
    let weight = (-12.0f64 / 16.0).exp() / sum;
    let up = (weight / plot.y_range[0]).ln() / (plot.y_range[1] / plot.y_range[0]).ln();
    let line = said(&figure, 12.0 / 128.0, 1.0 - up).unwrap();
    let expected = format!("head 3 (m = 1/16), distance 12: weight {weight:.4}, halves every 11.1 tokens");
    assert_eq!(line, expected);
}
