//! Figures of the laboratory: what is measured of variants, windows and speeds.

use super::numbers::geometry;
use longview::encoding::{Positional, Shape, T5Bias};
use longview::figure::{
    BiasCurves, Cell, CopyPoint, CopyScore, CopySeries, Figure, PairedLoss, Perplexity, Point, RotaryMethods,
    Series, SpeedBar, SpeedBars, SpeedGroup, Style, WindowLayout, Windows, XposDecay, readout, svg,
};
use longview::model::{Tensor, Weights};

/// Each figure with values that fit it.
pub(super) fn all(length: usize, trained_length: usize) -> Vec<(Figure, Vec<f32>)> {
    let windows = |protocol, stride: usize, tokens| {
        let figure = Windows {
            protocol,
            length,
            stride: stride.min(length),
            tokens,
            trained_length,
        };
        (Figure::Windows(figure), vec![])
    };
    let biases = |heads, logarithmic| {
        let figure = BiasCurves {
            encoding: "kerple".into(),
            heads,
            length,
            trained_length,
            logarithmic,
        };
        let values =
            (0..heads * length).map(|at| -((at % length) as f32) * (-1.0 - (at / length) as f32).exp2());
        (Figure::BiasCurves(figure), values.collect())
    };
    let speeds = |lengths: &[usize]| {
        let groups = lengths.iter().map(|&length| speed_group(length)).collect();
        (Figure::SpeedBars(SpeedBars { groups }), vec![])
    };
    vec![
        windows(WindowLayout::Both, 64, length * 3 + 7),
        windows(WindowLayout::Both, 1, 4096),
        windows(WindowLayout::NonOverlapping, 1, 1),
        windows(WindowLayout::Sliding, 2, 5000),
        (paired(length, trained_length, 1), ramp(length)),
        (paired(length, trained_length, 16), ramp(length.div_ceil(16))),
        (paired(length, trained_length, 16), ramp(2 * length.div_ceil(16))),
        (decay(24, length, trained_length), vec![]),
        (decay(2, length, trained_length), vec![]),
        (lengths(length, trained_length), vec![]),
        (copies(trained_length), vec![]),
        (variants(&["rotary"], length, trained_length), vec![]),
        (
            variants(
                &[
                    "rotary?scaling=pi",
                    "rotary?scaling=ntk",
                    "rotary?scaling=dynamic_ntk",
                    "rotary?scaling=by_parts",
                    "rotary?scaling=yarn",
                    "rotary?scaling=llama3",
                ],
                length,
                trained_length,
            ),
            vec![],
        ),
        speeds(&[]),
        speeds(&[length]),
        speeds(&[128, 512, 2048]),
        (methods(24, length, trained_length, None), vec![]),
        (methods(2, length, trained_length, Some(1.0)), vec![]),
        biases(8, false),
        biases(1, true),
    ]
}

fn ramp(count: usize) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * 0.37).sin() * 0.5 - 0.2).collect()
}

fn paired(length: usize, trained_length: usize, cell: usize) -> Figure {
    Figure::PairedLoss(PairedLoss {
        length,
        trained_length,
        encoding: "alibi".into(),
        cell,
    })
}

fn decay(d_head: usize, length: usize, trained_length: usize) -> Figure {
    Figure::XposDecay(XposDecay {
        d_head,
        length,
        trained_length,
        scale_base: 512.0,
    })
}

/// Three models, two of which have an L of their own.
fn lengths(length: usize, trained_length: usize) -> Figure {
    let mut figure = variants(&["alibi", "alibi-l64", "alibi-l256"], length, trained_length);
    if let Figure::Perplexity(perplexity) = &mut figure {
        perplexity.series[1].trained_length = Some(100);
        perplexity.series[2].trained_length = Some(105);
    }
    figure
}

fn methods(d_head: usize, length: usize, trained_length: usize, factor: Option<f64>) -> Figure {
    Figure::RotaryMethods(RotaryMethods {
        d_head,
        base: 1e4,
        trained_length,
        length,
        factor,
        beta_fast: None,
        beta_slow: None,
    })
}

fn copies(trained_length: usize) -> Figure {
    let series = |encoding: &str, scores: &[Option<f64>]| CopySeries {
        encoding: encoding.into(),
        label: None,
        style: None,
        points: [512, 16, 64, 128]
            .into_iter()
            .zip(scores)
            .map(|(gap, &score)| CopyPoint {
                gap,
                score,
                standard_error: Some(0.05),
            })
            .collect(),
    };
    Figure::CopyScore(CopyScore {
        trained_length,
        selected: "alibi-copy".into(),
        series: vec![
            series("alibi-copy", &[Some(-0.1), Some(-2.5), Some(-1.25), Some(-0.5)]),
            series("rotary-copy", &[Some(0.3), Some(-3.0), None, Some(0.1)]),
            series("none", &[]),
        ],
    })
}

fn variants(names: &[&str], length: usize, trained_length: usize) -> Figure {
    let series = |(index, name): (usize, &&str)| Series {
        encoding: name.to_string(),
        points: [100, 105, 110]
            .map(|length| Point {
                length,
                perplexity: Some(20.0 + index as f64 + length as f64 / 50.0),
                standard_error: None,
                other_seed: Some(20.5 + index as f64 + length as f64 / 50.0),
            })
            .into(),
        ..Series::default()
    };
    Figure::Perplexity(Perplexity {
        trained_length,
        length,
        selected: names[0].into(),
        series: names.iter().enumerate().map(series).collect(),
        undefined: vec![],
        ratio: false,
    })
}

fn speed_group(length: usize) -> SpeedGroup {
    let bar = |encoding: &str, time: f64| SpeedBar {
        encoding: encoding.into(),
        time,
        standard_error: Some(time / 20.0),
    };
    SpeedGroup {
        length,
        bars: vec![
            bar("sinusoidal", 4.0),
            bar("rotary", 5.0),
            bar("t5_bias", 4.5),
            bar("alibi", 4.1),
        ],
    }
}

/// What stands at a place given by the axes of a plot.
fn says(figure: &Figure, values: &[f32], plot: usize, [x, y]: [f64; 2]) -> Option<String> {
    let geometry = geometry(figure, values, &Style::default());
    let plot = &geometry.plots[plot];
    let part = |value: f64, [low, high]: [f64; 2], log: bool| match log {
        true => (value / low).ln() / (high / low).ln(),
        false => (value - low) / (high - low),
    };
    let at = [
        plot.x + part(x, plot.x_range, plot.x_log) * plot.width,
        plot.y + (1.0 - part(y, plot.y_range, plot.y_log)) * plot.height,
    ];
    readout(figure, values, &geometry, at, "en")
}

#[test]
fn a_window_of_a_thousand_starves_a_tenth_of_the_predictions() {
    let figure = |length| {
        Figure::Windows(Windows {
            protocol: WindowLayout::Both,
            length,
            stride: 250,
            tokens: 3000,
            trained_length: 128,
        })
    };
    let sentence = figure(1000).summary(&[], "en").unwrap();
    assert!(
        sentence.contains("non-overlapping windows: 500.5 tokens of context on average; 10 % of the predictions have at most 100, 12.8 % at most L = 128; tokens read for each prediction: 1"),
        "{sentence}"
    );
    assert!(sentence.contains("stride 250: 875.5 tokens"), "{sentence}");
    assert!(
        sentence.contains(
            "0 % of the predictions have at most 100, 0 % at most L = 128; tokens read for each prediction: 4"
        ),
        "{sentence}"
    );
    // At T = 2000 a window of a hundred tokens is a twentieth.
    let table = figure(2000).table(&[], "en").unwrap();
    let starved = table.rows[..2000]
        .iter()
        .filter(|row| matches!(row[2], Cell::Number(context) if context <= 100.0))
        .count();
    assert_eq!(starved, 100);
    let token = says(&figure(1000), &[], 2, [1499.5, 500.0]).unwrap();
    assert_eq!(
        token,
        "token 1499: non-overlapping windows: window 1, 500 tokens of context; sliding window, stride 250: window 2, 1000 tokens of context"
    );
}

#[test]
fn a_paired_loss_names_both_contexts() {
    let mut values = vec![0.0; 48];
    values[17] = -0.75;
    let sentence = says(&paired(48, 16, 1), &values, 0, [17.0, -0.1]).unwrap();
    assert_eq!(
        sentence,
        "position 17: 18 tokens of context at T, 2 at L; loss differs by −0.75 nats"
    );
    let summary = paired(48, 16, 1).summary(&values, "en").unwrap();
    // −0.75 of 48; of the first two of each window of L past L; of the others.
    assert!(summary.contains("−0.0156 nats on average"), "{summary}");
    assert!(
        summary.contains("it is −0.188 for the first 2 tokens"),
        "{summary}"
    );
    assert!(summary.contains("and 0 for the others"), "{summary}");
}

#[test]
fn a_copy_score_is_read_at_its_point_and_below_zero() {
    let figure = copies(128);
    let sentence = says(&figure, &[], 0, [64.0, -1.2]).unwrap();
    assert_eq!(sentence, "ALiBi copy, gap 64: copy score −1.25 ± 0.05 nats");
    let summary = figure.summary(&[], "en").unwrap();
    assert!(
        summary.contains(
            "ALiBi copy −2.5 at gap 16 and −0.1 at gap 512; Rotary copy −3 at gap 16 and 0.3 at gap 512"
        ),
        "{summary}"
    );
}

#[test]
fn variants_of_one_encoding_are_named_and_told_apart_without_colour() {
    let names = ["rotary", "rotary?scaling=pi", "rotary?scaling=yarn&factor=4"];
    let figure = variants(&names, 110, 100);
    let sentence = says(&figure, &[], 0, [110.0, 24.2]).unwrap();
    assert_eq!(sentence, "Rotary scaling=yarn factor=4, T = 110: perplexity 24.2");
    let wide = Style {
        width: 1400.0,
        ..Style::default()
    };
    let marks = |names: &[&str]| {
        let document = svg(&variants(names, 110, 100), &[], &wide).unwrap();
        // Dashes are lines of their own.
        [
            document.matches("<polyline").count(),
            document.matches("<circle").count(),
        ]
    };
    let (plain, dashed) = (marks(&names[..1]), marks(&names[..2]));
    assert!(dashed[0] > plain[0] + 5, "{plain:?} {dashed:?}");
    assert!(dashed[1] > plain[1], "{plain:?} {dashed:?}");
}

#[test]
fn speeds_are_read_relative_to_the_first() {
    let figure = Figure::SpeedBars(SpeedBars {
        groups: vec![speed_group(128), speed_group(512)],
    });
    // The second of four bars in the second group: rotary.
    let sentence = says(&figure, &[], 0, [1.4, 0.5]).unwrap();
    assert_eq!(
        sentence,
        "Measured here, 512: Rotary takes 1.25 ± 0.062 times the first’s time"
    );
    // Training with T5's bias: 28.5 ÷ 14.4 thousand words a second.
    let sentence = says(&figure, &[], 1, [0.6, 0.5]).unwrap();
    assert_eq!(
        sentence,
        "ALiBi paper, training: T5 bias takes 1.98 times the first’s time"
    );
}

#[test]
fn a_pair_is_read_with_what_each_method_makes_of_it() {
    let figure = methods(32, 512, 128, None);
    // θ = 10000^(−10/16) of pair 10: 1987 tokens a turn, stretched in full but by NTK: 4^(−10/15).
    let sentence = says(&figure, &[], 0, [10.0, 0.5]).unwrap();
    assert!(
        sentence.ends_with("PI 0.25, NTK 0.397, by parts 0.25, YaRN 0.25, LLaMA 3 0.25"),
        "{sentence}"
    );
    assert!(sentence.contains("0.0644 turns within L = 128"), "{sentence}");
    let wrong = methods(32, 512, 128, Some(0.5));
    assert!(svg(&wrong, &[], &Style::default()).is_err());
}

#[test]
fn the_curves_of_biases_are_the_encodings() {
    let shape = Shape {
        length: 200,
        d_model: 8,
        heads: 2,
        d_head: 4,
    };
    let data: Vec<f32> = (0..64).map(|index| index as f32 / -16.0).collect();
    let tensor = Tensor {
        shape: vec![32, 2],
        data,
    };
    let weights = Weights::from([("relative_bias.weight".to_string(), tensor)]);
    let bias = T5Bias::default()
        .tables(&shape, &weights)
        .unwrap()
        .bias
        .unwrap()
        .behind;
    let figure = Figure::BiasCurves(BiasCurves {
        encoding: "t5_bias".into(),
        heads: 2,
        length: 200,
        trained_length: 128,
        logarithmic: false,
    });
    // Distance 60 is in bucket 26, whose biases are −52/16 and −53/16.
    let sentence = says(&figure, &bias.to_f32(), 0, [60.0, -3.3]).unwrap();
    assert_eq!(
        sentence,
        "distance 60, head 1: bias −3.312, which multiplies a weight by 0.0364"
    );
    let table = figure.table(&bias.to_f32(), "en").unwrap();
    assert_eq!(table.rows[150][1], Cell::Single(bias.at(0, 150) as f32));
}
