//! Every figure draws at every size, ratio and theme, with values, without them and with undefined
//! ones; and what it writes are the program's numbers.
#![cfg(feature = "figures")]

mod drawing;
mod heads;
mod laboratory;
mod numbers;

use longview::encoding::{Layout, Pairing};
use longview::figure;
use longview::figure::{Figure, Point, Series, Style, svg};

fn point(length: usize, perplexity: f64) -> Point {
    Point {
        length,
        perplexity: Some(perplexity),
        standard_error: Some(perplexity / 64.0),
        ..Point::default()
    }
}

fn perplexity(lengths: &[usize]) -> Figure {
    let series = |encoding: &str, start: f64, growth: f64| Series {
        encoding: encoding.into(),
        points: lengths
            .iter()
            .map(|&length| point(length, (start * (length as f64 / 16.0).powf(growth)).round()))
            .collect(),
        ..Series::default()
    };
    Figure::Perplexity(figure::Perplexity {
        trained_length: 128,
        length: 512,
        selected: "alibi".into(),
        series: vec![
            series("alibi", 29.0, -0.02),
            series("rotary", 26.0, 0.25),
            series("none", 39.0, 0.05),
        ],
        undefined: vec!["learned".into()],
        ratio: false,
    })
}

/// Each figure with values that fit it, at a usual size.
fn all(length: usize, trained_length: usize) -> Vec<(Figure, Vec<f32>)> {
    let ramp = |count: usize| {
        (0..count)
            .map(|i| (i as f32 * 0.37).sin() * 0.5 + 0.5)
            .collect::<Vec<f32>>()
    };
    let encoding = || "alibi".to_string();
    let side = length.min(512);
    let similarity = |encoding: &str, measure| figure::Similarity {
        encoding: encoding.into(),
        length,
        trained_length,
        d_model: 96,
        layout: Layout::Interleaved,
        base: 1e4,
        measure,
    };
    let offsets = |encoding: &str, measure| figure::Offsets {
        encoding: encoding.into(),
        length,
        trained_length,
        d_model: 96,
        layout: Layout::Halves,
        base: 1e4,
        measure,
    };
    vec![
        (
            Figure::Sinusoidal(figure::Sinusoidal {
                length,
                d_model: 96,
                layout: Layout::Interleaved,
                base: 1e4,
                trained_length: Some(trained_length),
            }),
            vec![],
        ),
        (
            Figure::Rotary(figure::Rotary {
                d_head: 24,
                base: 1e4,
                pairing: Pairing::Halves,
                query: 130,
                key: 12,
                trained_length,
            }),
            vec![],
        ),
        (
            Figure::T5Buckets(figure::T5Buckets {
                heads: 4,
                buckets: 32,
                max_distance: 128,
                bidirectional: false,
                length,
                trained_length,
            }),
            ramp(128),
        ),
        (
            Figure::AlibiMatrices(figure::AlibiMatrices {
                heads: 12,
                length,
                slopes: None,
                trained_length,
            }),
            vec![],
        ),
        (
            Figure::Learned(figure::Learned {
                length,
                trained_length,
                d_model: 96,
            }),
            ramp(trained_length * 96),
        ),
        (
            Figure::CausalMask(figure::CausalMask {
                length,
                trained_length,
            }),
            vec![],
        ),
        (
            Figure::Attention(figure::Attention {
                length,
                trained_length,
                layer: 0,
                head: 1,
                side,
                encoding: encoding(),
            }),
            ramp(side * side),
        ),
        (
            Figure::Distance(figure::Distance {
                length,
                trained_length,
                layers: 3,
                heads: 4,
                layer: 1,
                head: 2,
                logarithmic: false,
                encoding: encoding(),
                decades: None,
            }),
            ramp(12 * length),
        ),
        (
            Figure::Distance(figure::Distance {
                length,
                trained_length,
                layers: 3,
                heads: 4,
                layer: 1,
                head: 2,
                logarithmic: true,
                encoding: encoding(),
                decades: None,
            }),
            ramp(12 * length),
        ),
        (perplexity(&[16, 64, 128, 256, 512]), vec![]),
        (
            Figure::PositionLoss(figure::PositionLoss {
                length,
                trained_length,
                encoding: encoding(),
            }),
            ramp(length),
        ),
        (
            Figure::Similarity(similarity("sinusoidal", figure::Measure::Cosine)),
            vec![],
        ),
        (
            Figure::Similarity(similarity("learned", figure::Measure::Dot)),
            ramp(trained_length * 96),
        ),
        (
            Figure::Similarity(similarity("learned", figure::Measure::Distance)),
            ramp(trained_length * 96),
        ),
        (
            Figure::Offsets(offsets("sinusoidal", figure::Measure::Dot)),
            vec![],
        ),
        (
            Figure::Offsets(offsets("learned", figure::Measure::Distance)),
            ramp(trained_length * 96),
        ),
        (
            Figure::Waves(figure::Waves {
                length,
                d_model: 95,
                layout: Layout::Fairseq,
                base: 1e4,
                trained_length: Some(trained_length),
                dimensions: vec![0, 3, 20, 46, 47, 60, 93, 94],
            }),
            vec![],
        ),
        (
            Figure::Counter(figure::Counter {
                length,
                d_model: 17,
                layout: Layout::Fairseq,
                base: 1e4,
            }),
            vec![],
        ),
        (t5_matrix(length, trained_length, false), vec![]),
        (t5_matrix(length, trained_length, true), vec![]),
        (
            Figure::Wavelengths(figure::Wavelengths {
                d_head: 24,
                base: 1e4,
                trained_length,
                length,
            }),
            vec![],
        ),
        (rotary_table(length, trained_length, Pairing::Halves), vec![]),
        (rotary_table(length, trained_length, Pairing::Interleaved), vec![]),
        (
            Figure::RotaryScores(figure::RotaryScores {
                d_head: 24,
                base: 1e4,
                pairing: Pairing::Halves,
                length,
                query: 100,
                key: 12,
                trained_length,
                seed: 1,
            }),
            vec![],
        ),
        (
            Figure::RotaryDecay(figure::RotaryDecay {
                d_head: 24,
                base: 1e4,
                length,
                trained_length,
            }),
            vec![],
        ),
    ]
    .into_iter()
    .chain(heads::all(length, trained_length))
    .chain(laboratory::all(length, trained_length))
    .collect()
}

fn t5_matrix(length: usize, trained_length: usize, bidirectional: bool) -> Figure {
    Figure::T5Matrix(figure::T5Matrix {
        buckets: 32,
        max_distance: 128,
        bidirectional,
        length,
        trained_length,
    })
}

fn rotary_table(length: usize, trained_length: usize, pairing: Pairing) -> Figure {
    Figure::RotaryTable(figure::RotaryTable {
        d_head: 24,
        base: 1e4,
        pairing,
        length,
        trained_length,
    })
}

/// The words of a picture.
fn texts(figure: &Figure, values: &[f32]) -> Vec<String> {
    let style = Style {
        width: 1400.0,
        height: 800.0,
        ..Style::default()
    };
    words_of(&svg(figure, values, &style).unwrap())
}

fn words_of(document: &str) -> Vec<String> {
    document
        .split("<text")
        .skip(1)
        .filter_map(|part| Some(part.split_once('>')?.1.split_once('<')?.0.trim().to_string()))
        .collect()
}
