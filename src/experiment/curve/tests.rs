use super::*;

/// A step of windows that do not overlap.
fn step(length: usize, start: usize, windows: usize) -> Step {
    Step {
        round: 0,
        length,
        start,
        windows,
        window: length,
        stride: length,
        counted: length,
    }
}

#[test]
fn perplexity_is_weighted_by_token() {
    let mut curve = Curve::default();
    // One window of 4 and then two: losses as if each token had the same weight.
    curve.add(&step(4, 0, 1), &[1.0, 2.0, 3.0, 6.0]);
    curve.add(&step(4, 4, 2), &[0.0; 8]);
    let points = curve.points();
    assert_eq!(points.len(), 1);
    assert_eq!((points[0].length, points[0].tokens), (4, 12));
    assert!((points[0].perplexity - 1.0_f64.exp()).abs() < 1e-12);
    assert_eq!(points[0].standard_error, None);
    assert_eq!(curve.by_position(4), [1.0 / 3.0, 2.0 / 3.0, 1.0, 2.0]);
    assert!(curve.by_position(8).is_empty());
    assert!(curve.by_token(4).is_empty());
}

#[test]
fn the_standard_error_is_that_of_segments() {
    let mut curve = Curve::default();
    // Three segments with mean losses 1, 2 and 3: mean 2, deviation 1, error 1/√3.
    let nll: Vec<f32> = (0..192).map(|i| 1.0 + (i / 64) as f32).collect();
    curve.add(&step(192, 0, 1), &nll);
    let point = curve.points()[0];
    let expected = 2.0_f64.exp() / 3.0_f64.sqrt();
    assert!(
        (point.standard_error.unwrap() - expected).abs() < 1e-9,
        "{point:?}"
    );
    // The same losses, window by window, give the same.
    let mut other = Curve::default();
    for start in (0..192).step_by(32) {
        other.add(&step(32, start, 1), &nll[start..start + 32]);
    }
    assert_eq!(other.points()[0].standard_error, point.standard_error);
}

#[test]
fn a_sliding_step_counts_the_ends_of_its_windows() {
    let mut curve = Curve::keeping_tokens();
    let first = Step {
        stride: 2,
        ..step(4, 0, 1)
    };
    curve.add(&first, &[1.0, 2.0, 3.0, 4.0]);
    // Two windows from 2 and 4; a last one from 6 that the text's end cuts short.
    let later = Step {
        start: 2,
        windows: 2,
        counted: 2,
        ..first
    };
    curve.add(&later, &[90.0, 90.0, 5.0, 6.0, 90.0, 90.0, 7.0, 8.0]);
    let short = Step {
        start: 6,
        window: 3,
        counted: 1,
        ..first
    };
    curve.add(&short, &[90.0, 90.0, 9.0]);
    assert_eq!(curve.by_token(4), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
    let point = curve.points()[0];
    assert_eq!((point.tokens, point.perplexity.ln().round()), (9, 5.0));
    // Positions are places in the window: the tokens of context, less one.
    assert_eq!(
        curve.by_position(4),
        [1.0, 2.0, (3.0 + 5.0 + 7.0 + 9.0) / 4.0, (4.0 + 6.0 + 8.0) / 3.0]
    );
}
