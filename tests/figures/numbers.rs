use super::{all, perplexity, texts};
use longview::encoding::{Alibi, Positional, Shape, T5Bias};
use longview::figure;
use longview::figure::{Figure, Style};
use longview::model::Weights;

#[test]
fn slopes_on_the_picture_are_the_encodings() {
    for heads in [1, 3, 8, 12, 16] {
        let figure = Figure::AlibiMatrices(figure::AlibiMatrices {
            heads,
            length: 64,
            slopes: None,
            trained_length: 32,
        });
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
    let figure = Figure::T5Buckets(figure::T5Buckets {
        heads: 4,
        buckets: 32,
        max_distance: 128,
        bidirectional: false,
        length: 512,
        trained_length: 128,
    });
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
fn the_sentence_counts_the_distances_that_have_a_bucket_of_their_own() {
    for (buckets, max_distance, bidirectional, says) in [
        (
            32,
            128,
            false,
            "the first 16 distances have their own, and from distance 113 on",
        ),
        (
            4,
            8,
            false,
            "the first 2 distances have their own, and from distance 4 on",
        ),
        (
            32,
            128,
            true,
            "the first 8 distances have their own, and from distance 91 on",
        ),
    ] {
        let figure = Figure::T5Buckets(figure::T5Buckets {
            heads: 4,
            buckets,
            max_distance,
            bidirectional,
            length: 512,
            trained_length: 128,
        });
        let said = figure.summary(&[], "en").unwrap();
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn the_sentence_tells_also_what_was_measured_below_l_only() {
    let said = perplexity(&[16, 64]).summary(&[], "en").unwrap();
    assert!(said.contains("ALiBi") && said.contains("at 64"), "{said}");
    let said = perplexity(&[128, 512]).summary(&[], "en").unwrap();
    assert!(said.contains("at L and") && said.contains("at 512"), "{said}");
    let said = perplexity(&[]).summary(&[], "en").unwrap();
    assert!(said.contains("nothing is measured"), "{said}");
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
    let figure = Figure::AlibiMatrices(figure::AlibiMatrices {
        heads: 8,
        length: 256,
        slopes: None,
        trained_length: 128,
    });
    let geometry = geometry(&figure, &[], &style);
    assert_eq!(geometry.plots.len(), 8);
    let plot = &geometry.plots[3];
    let (x, y) = (
        plot.x + plot.width * (12.5 / 256.0),
        plot.y + plot.height * (130.5 / 256.0),
    );
    let said = longview::figure::readout(&figure, &[], &geometry, [x, y], "en").unwrap();
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
    let above = longview::figure::readout(
        &figure,
        &[],
        &geometry,
        [plot.x + plot.width * 0.9, plot.y + 2.0],
        "en",
    );
    assert!(above.unwrap().ends_with("masked"));
    assert_eq!(
        longview::figure::readout(&figure, &[], &geometry, [-5.0, -5.0], "en"),
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
                    longview::figure::readout(&figure, &values, &geometry, [x, y], "en");
                }
            }
        }
    }
}

/// The geometry, by drawing on a backend that throws everything away.
pub(super) fn geometry(figure: &Figure, values: &[f32], style: &Style) -> longview::figure::Geometry {
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
