use super::{all, perplexity, words_of};
use longview::encoding::{Layout, Pairing};
use longview::figure;
use longview::figure::{Figure, FigureError, Style, Theme, svg};

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
    let alibi = |heads, length, slopes| {
        Figure::AlibiMatrices(figure::AlibiMatrices {
            heads,
            length,
            slopes,
            trained_length: 8,
        })
    };
    refused(alibi(0, 8, None));
    refused(alibi(8, 0, None));
    refused(alibi(2, 8, Some(vec![1.0])));
    refused(alibi(2, 8, Some(vec![1.0, f64::NAN])));
    refused(Figure::Rotary(figure::Rotary {
        d_head: 5,
        base: 1e4,
        pairing: Pairing::Halves,
        query: 1,
        key: 0,
        trained_length: 8,
    }));
    refused(Figure::T5Buckets(figure::T5Buckets {
        heads: 1,
        buckets: 1,
        max_distance: 8,
        bidirectional: false,
        length: 8,
        trained_length: 8,
    }));
    refused(Figure::Sinusoidal(figure::Sinusoidal {
        length: 8,
        d_model: 8,
        layout: Layout::Halves,
        base: f64::NAN,
        trained_length: None,
    }));
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
