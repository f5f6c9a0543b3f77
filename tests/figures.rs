//! Every figure draws at every size, ratio and theme, with values, without them and with undefined
//! ones; and what it writes are the program's numbers.
#![cfg(feature = "figures")]

use longview::encoding::{Alibi, Layout, Pairing, Positional, Shape, T5Bias};
use longview::figure::{Figure, FigureError, Point, Series, Style, Theme, svg};
use longview::model::Weights;

fn point(length: usize, perplexity: f64) -> Point {
    Point {
        length,
        perplexity: Some(perplexity),
        standard_error: Some(perplexity / 64.0),
    }
}

fn perplexity(lengths: &[usize]) -> Figure {
    let series = |encoding: &str, start: f64, growth: f64| Series {
        encoding: encoding.into(),
        note: None,
        points: lengths
            .iter()
            .map(|&length| point(length, (start * (length as f64 / 16.0).powf(growth)).round()))
            .collect(),
    };
    Figure::Perplexity {
        trained_length: 128,
        length: 512,
        selected: "alibi".into(),
        series: vec![
            series("alibi", 29.0, -0.02),
            series("rotary", 26.0, 0.25),
            series("none", 39.0, 0.05),
        ],
        undefined: vec!["learned".into()],
    }
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
    vec![
        (
            Figure::Sinusoidal {
                length,
                d_model: 96,
                layout: Layout::Interleaved,
                base: 1e4,
                trained_length: Some(trained_length),
            },
            vec![],
        ),
        (
            Figure::Rotary {
                d_head: 24,
                base: 1e4,
                pairing: Pairing::Halves,
                query: 130,
                key: 12,
                trained_length,
            },
            vec![],
        ),
        (
            Figure::T5Bias {
                heads: 4,
                buckets: 32,
                max_distance: 128,
                bidirectional: false,
                length,
                trained_length,
            },
            ramp(128),
        ),
        (
            Figure::Alibi {
                heads: 12,
                length,
                slopes: None,
                trained_length,
            },
            vec![],
        ),
        (
            Figure::Learned {
                length,
                trained_length,
                d_model: 96,
            },
            ramp(trained_length * 96),
        ),
        (
            Figure::None {
                length,
                trained_length,
            },
            vec![],
        ),
        (
            Figure::Attention {
                length,
                trained_length,
                layer: 0,
                head: 1,
                side,
                encoding: encoding(),
            },
            ramp(side * side),
        ),
        (
            Figure::Distance {
                length,
                trained_length,
                layers: 3,
                heads: 4,
                layer: 1,
                head: 2,
                logarithmic: false,
                encoding: encoding(),
            },
            ramp(12 * length),
        ),
        (
            Figure::Distance {
                length,
                trained_length,
                layers: 3,
                heads: 4,
                layer: 1,
                head: 2,
                logarithmic: true,
                encoding: encoding(),
            },
            ramp(12 * length),
        ),
        (perplexity(&[16, 64, 128, 256, 512]), vec![]),
        (
            Figure::PositionLoss {
                length,
                trained_length,
                encoding: encoding(),
            },
            ramp(length),
        ),
    ]
}

fn styles() -> Vec<Style> {
    let mut styles = Vec::new();
    for (width, height) in [(320.0, 200.0), (1400.0, 800.0), (2.0, 2.0)] {
        for pixel_ratio in [1.0, 2.5] {
            for theme in [Theme::Light, Theme::Dark] {
                styles.push(Style {
                    width,
                    height,
                    pixel_ratio,
                    theme,
                    ..Style::default()
                });
            }
        }
    }
    styles
}

#[test]
fn every_figure_draws_at_every_size_and_theme() {
    for (figure, values) in all(300, 128) {
        for style in styles() {
            let document = svg(&figure, &values, &style).unwrap();
            assert!(document.ends_with("</svg>\n"), "{}", figure.name());
            let odd = words_of(&document)
                .into_iter()
                .find(|word| word.contains("NaN") || word.contains("inf"));
            assert_eq!(odd, None, "{}", figure.name());
        }
    }
}

#[test]
fn lengths_of_one_and_the_longest_draw() {
    for (length, trained) in [(1, 1), (2, 128), (128, 128), (4096, 128), (4096, 1)] {
        for (figure, values) in all(length, trained) {
            svg(&figure, &values, &Style::default()).unwrap();
        }
    }
    for figure in [perplexity(&[]), perplexity(&[512]), perplexity(&[128, 128])] {
        svg(&figure, &[], &Style::default()).unwrap();
    }
}

#[test]
fn undefined_values_draw_and_missing_ones_leave_a_note() {
    for (figure, mut values) in all(64, 32) {
        let given = values.len();
        for (index, value) in values.iter_mut().enumerate() {
            match index % 4 {
                0 => *value = f32::NAN,
                1 => *value = f32::INFINITY,
                2 => *value = 0.0,
                _ => {}
            }
        }
        svg(&figure, &values, &Style::default()).unwrap();
        svg(&figure, &vec![f32::NAN; given], &Style::default()).unwrap();
        let document = svg(&figure, &[], &Style::default()).unwrap();
        if given > 0 {
            assert!(document.contains("appear"), "{}", figure.name());
        }
    }
}

#[test]
fn values_of_another_length_are_refused_with_the_shape() {
    for (figure, mut values) in all(64, 32) {
        values.push(0.0);
        let error = svg(&figure, &values, &Style::default()).unwrap_err();
        assert!(matches!(error, FigureError::Values { .. }), "{error}");
    }
}

#[test]
fn impossible_settings_are_refused() {
    let style = Style::default();
    let refused = |figure: Figure| svg(&figure, &[], &style).unwrap_err();
    let alibi = |heads, length, slopes| Figure::Alibi {
        heads,
        length,
        slopes,
        trained_length: 8,
    };
    refused(alibi(0, 8, None));
    refused(alibi(8, 0, None));
    refused(alibi(2, 8, Some(vec![1.0])));
    refused(alibi(2, 8, Some(vec![1.0, f64::NAN])));
    refused(Figure::Rotary {
        d_head: 5,
        base: 1e4,
        pairing: Pairing::Halves,
        query: 1,
        key: 0,
        trained_length: 8,
    });
    refused(Figure::T5Bias {
        heads: 1,
        buckets: 1,
        max_distance: 8,
        bidirectional: false,
        length: 8,
        trained_length: 8,
    });
    refused(Figure::Sinusoidal {
        length: 8,
        d_model: 8,
        layout: Layout::Halves,
        base: f64::NAN,
        trained_length: None,
    });
    for (width, height, pixel_ratio) in [
        (0.0, 10.0, 1.0),
        (f64::NAN, 10.0, 1.0),
        (10.0, 10.0, 0.0),
        (1e6, 10.0, 1.0),
    ] {
        let style = Style {
            width,
            height,
            pixel_ratio,
            ..Style::default()
        };
        assert!(svg(&alibi(1, 8, None), &[], &style).is_err());
    }
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

#[test]
fn slopes_on_the_picture_are_the_encodings() {
    for heads in [1, 3, 8, 12, 16] {
        let figure = Figure::Alibi {
            heads,
            length: 64,
            slopes: None,
            trained_length: 32,
        };
        let written: Vec<f64> = texts(&figure, &[])
            .iter()
            .filter_map(|text| text.strip_prefix("m = "))
            .map(|text| match text.split_once('/') {
                Some((one, below)) => one.parse::<f64>().unwrap() / below.parse::<f64>().unwrap(),
                None => text.parse().unwrap(),
            })
            .collect();
        let slopes = Alibi::default().slopes(heads).unwrap();
        assert_eq!(written.len(), heads);
        for (written, slope) in written.iter().zip(slopes) {
            assert!(
                (written - slope).abs() <= slope * 1e-3,
                "{heads}: {written} {slope}"
            );
        }
    }
}

#[test]
fn first_distances_on_the_picture_are_the_encodings() {
    let figure = Figure::T5Bias {
        heads: 4,
        buckets: 32,
        max_distance: 128,
        bidirectional: false,
        length: 512,
        trained_length: 128,
    };
    let words = texts(&figure, &[]);
    for (bucket, first) in T5Bias::default().first_distances() {
        assert!(
            words.contains(&first.to_string()),
            "bucket {bucket} from {first}: {words:?}"
        );
    }
    assert!(words.contains(&"113".to_string()) && words.contains(&"L = 128".to_string()));
}

#[test]
fn lengths_and_marks_stand_on_the_perplexity_picture() {
    let words = texts(&perplexity(&[16, 64, 128, 256, 512]), &[]);
    for word in [
        "16", "32", "64", "128", "256", "512", "L = 128", "T = 512", "ALiBi", "Rotary", "NoPE",
    ] {
        assert!(words.contains(&word.to_string()), "{word}: {words:?}");
    }
    assert!(
        words.iter().any(|word| word.contains("no row past 128")),
        "{words:?}"
    );
}

#[test]
fn the_readout_says_what_the_encoding_says() {
    let style = Style {
        width: 800.0,
        height: 500.0,
        ..Style::default()
    };
    let figure = Figure::Alibi {
        heads: 8,
        length: 256,
        slopes: None,
        trained_length: 128,
    };
    let geometry = geometry(&figure, &[], &style);
    assert_eq!(geometry.plots.len(), 8);
    let plot = &geometry.plots[3];
    let (x, y) = (
        plot.x + plot.width * (12.5 / 256.0),
        plot.y + plot.height * (130.5 / 256.0),
    );
    let said = longview::figure::readout(&figure, &[], &geometry, x, y).unwrap();
    let shape = Shape {
        length: 256,
        d_model: 8,
        heads: 8,
        d_head: 1,
    };
    let bias = Alibi::default()
        .tables(&shape, &Weights::default())
        .unwrap()
        .bias
        .unwrap();
    let value = bias.behind.at(3, 118);
    assert_eq!(said, format!("query 130, key 12, head 3: bias −{:.3}", -value));
    let above = longview::figure::readout(&figure, &[], &geometry, plot.x + plot.width * 0.9, plot.y + 2.0);
    assert!(above.unwrap().ends_with("masked"));
    assert_eq!(
        longview::figure::readout(&figure, &[], &geometry, -5.0, -5.0),
        None
    );
}

#[test]
fn every_plot_of_every_figure_reads_out() {
    for (figure, values) in all(300, 128) {
        for values in [values, vec![]] {
            let geometry = geometry(&figure, &values, &Style::default());
            assert!(!geometry.plots.is_empty(), "{}", figure.name());
            for plot in &geometry.plots {
                for (right, down) in [(0.0, 0.0), (0.1, 0.7), (0.5, 0.5), (1.0, 1.0)] {
                    let (x, y) = (plot.x + plot.width * right, plot.y + plot.height * down);
                    longview::figure::readout(&figure, &values, &geometry, x, y);
                }
            }
        }
    }
}

/// The geometry, by drawing on a backend that throws everything away.
fn geometry(figure: &Figure, values: &[f32], style: &Style) -> longview::figure::Geometry {
    use plotters::prelude::{IntoDrawingArea, SVGBackend};
    let mut buffer = String::new();
    let area = SVGBackend::with_string(&mut buffer, (10, 10)).into_drawing_area();
    // Heat maps are blitted pixel by pixel here; a small picture is enough.
    let style = Style {
        pixel_ratio: 0.25,
        ..style.clone()
    };
    longview::figure::draw(&area, figure, values, &style).unwrap()
}

#[test]
fn figures_and_styles_are_the_same_after_json() {
    for (figure, _) in all(64, 32) {
        let json = serde_json::to_string(&figure).unwrap();
        assert!(
            json.contains(&format!("\"figure\":\"{}\"", figure.name())),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<Figure>(&json).unwrap(), figure);
    }
    let style: Style = serde_json::from_str(r#"{"width": 360, "height": 300, "theme": "dark"}"#).unwrap();
    assert_eq!(style.theme, Theme::Dark);
    assert_eq!(style.pixel_ratio, 1.0);
}
