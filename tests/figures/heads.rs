//! Figures of heads: ALiBi's slopes, and what the heads of a model look at.

use super::numbers::geometry;
use longview::figure::{
    AlibiSlopes, AlibiSoftmax, AttentionHeads, Cell, EffectiveContext, Figure, Paper, Protocol, Style,
    readout, svg,
};

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
        (heads(length, trained_length, 3, 16), ramp(12 * 16 * 16)),
        (heads(length, trained_length, 5, 100), ramp(20 * 100 * 100)),
        (context(length, trained_length), ramp(12 * (length + 1))),
        (paper(512, Protocol::NonOverlapping), vec![]),
        (paper(1024, Protocol::NonOverlapping), vec![]),
        (paper(512, Protocol::Sliding), vec![]),
        (paper(1024, Protocol::Sliding), vec![]),
    ]
}

fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 0.37).sin() * 0.5 + 0.5).collect()
}

fn heads(length: usize, trained_length: usize, layers: usize, side: usize) -> Figure {
    Figure::AttentionHeads(AttentionHeads {
        length,
        trained_length,
        layers,
        heads: 4,
        side,
        layer: 1,
        head: 2,
        encoding: "alibi".into(),
    })
}

fn context(length: usize, trained_length: usize) -> Figure {
    Figure::EffectiveContext(EffectiveContext {
        length,
        trained_length,
        layers: 3,
        heads: 4,
        layer: 1,
        head: 2,
        encoding: "alibi".into(),
    })
}

fn paper(trained: usize, protocol: Protocol) -> Figure {
    Figure::Paper(Paper {
        trained,
        protocol,
        selected: "alibi".into(),
    })
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
    assert!(same.ends_with("custom: all 8 slopes are the paper’s."), "{same}");
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

#[test]
fn every_panel_reads_its_own_head() {
    let figure = heads(64, 32, 3, 16);
    let mut values = vec![0.001f32; 12 * 16 * 16];
    // Layer 2, head 1: the last row of cells gives 0.75 to cell 5, which is keys 20 to 23.
    values[((2 * 4 + 1) * 16 + 15) * 16 + 5] = 0.75;
    let geometry = geometry(&figure, &values, &Style::default());
    let indices: Vec<usize> = geometry.plots.iter().map(|plot| plot.index).collect();
    assert_eq!(indices, (0..12).collect::<Vec<_>>());
    let line = |index: usize| {
        let plot = &geometry.plots[index];
        let at = [
            plot.x + plot.width * 5.5 / 16.0,
            plot.y + plot.height * 15.5 / 16.0,
        ];
        readout(&figure, &values, &geometry, at, "en").unwrap()
    };
    assert_eq!(line(9), "query 60–63, key 20–23, layer 2, head 1: weight 0.75");
    assert_eq!(line(8), "query 60–63, key 20–23, layer 2, head 0: weight 0.001");
    let summary = figure.summary(&values, "en").unwrap();
    assert!(summary.contains("0.75 in layer 2, head 1"), "{summary}");
    let table = figure.table(&values, "en").unwrap();
    assert_eq!(table.rows.len(), 12 * 16 * 17 / 2);
    let most = table
        .rows
        .iter()
        .find(|row| row[4] == Cell::Single(0.75))
        .unwrap();
    assert_eq!(most[..2], [Cell::Number(2.0), Cell::Number(1.0)]);
}

#[test]
fn effective_keys_are_the_exponential_of_the_entropy() {
    let figure = context(256, 128);
    let mut values = vec![0.0f32; 12 * 257];
    // Layer 1, head 2 always looks 40 tokens back, as far as there are so many.
    values[6 * 256 + 40] = 1.0;
    values[12 * 256 + 6] = 5f32.ln();
    let line = said_of(&figure, &values, 6.5 / 12.0, 0.5);
    // 216 of 256 queries have a key 40 tokens back.
    let back = 40.0 * 216.0 / 256.0;
    let expected =
        format!("layer 1, head 2: entropy 1.61 nats, 5 effective keys, mean distance {back:.1} tokens");
    assert_eq!(line, expected);
    let table = figure.table(&values, "en").unwrap();
    let Cell::Number(distance) = table.rows[6][4] else {
        panic!("no number");
    };
    assert!((distance - back).abs() < 1e-9 && table.rows.len() == 12);
    assert_eq!(table.rows[5][3], Cell::Number(1.0));
}

fn said_of(figure: &Figure, values: &[f32], right: f64, down: f64) -> String {
    let geometry = geometry(figure, values, &Style::default());
    let plot = &geometry.plots[0];
    let at = [plot.x + plot.width * right, plot.y + plot.height * down];
    readout(figure, values, &geometry, at, "en").unwrap()
}

#[test]
fn the_papers_numbers_stand_with_their_source() {
    let figure = paper(512, Protocol::NonOverlapping);
    let words = super::texts(&figure, &[]);
    for part in [
        "247 M parameters, Press et al. 2022",
        "out of memory at T = 15\u{202f}512",
        "L = 512",
    ] {
        assert!(words.iter().any(|word| word.contains(part)), "{part}: {words:?}");
    }
    let table = figure.table(&[], "en").unwrap();
    let value = |encoding: &str, length: f64| {
        let row = table
            .rows
            .iter()
            .find(|row| row[0] == Cell::Text(encoding.into()) && row[1] == Cell::Number(length));
        match row.unwrap()[2] {
            Cell::Number(value) => value,
            _ => panic!("no number"),
        }
    };
    assert_eq!(table.rows.len(), 40);
    assert_eq!((value("ALiBi", 3512.0), value("Rotary", 712.0)), (18.40, 19.79));
    assert!(value("T5 bias", 15512.0).is_nan());
    // ALiBi at the longest length: the place of its perplexity, by logarithms.
    let geometry = geometry(&figure, &[], &Style::default());
    let [low, high] = geometry.plots[0].y_range;
    let down = 1.0 - (18.31f64 / low).ln() / (high / low).ln();
    assert_eq!(
        said_of(&figure, &[], 1.0, down),
        "ALiBi, T = 15\u{202f}512: perplexity 18.31"
    );
    // The sliding window has no rotary, and neither it nor L = 1024's sinusoidal is drawn.
    let names = |protocol| {
        let mut names: Vec<String> = paper(1024, protocol)
            .table(&[], "en")
            .unwrap()
            .rows
            .iter()
            .map(|row| format!("{:?}", row[0]))
            .collect();
        names.dedup();
        names.len()
    };
    assert_eq!(
        (names(Protocol::NonOverlapping), names(Protocol::Sliding)),
        (4, 2)
    );
    let error = svg(&paper(700, Protocol::Sliding), &[], &Style::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("700") && error.contains("512 or 1024"), "{error}");
}
