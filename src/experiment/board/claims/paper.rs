//! Figures of the ALiBi paper (arXiv 2108.12409v2): WikiText-103, 247 M parameters, validation perplexity in
//! windows that do not overlap, by the length of evaluation.

/// `[T, sinusoidal, rotary, T5 bias, ALiBi]`; trained on 512 tokens. NaN where the memory did not suffice.
pub const TRAINED_512: &[[f64; 5]] = &[
    [512.0, 20.05, 20.07, 19.65, 19.73],
    [532.0, 19.91, 19.98, 19.53, 19.61],
    [562.0, 19.91, 19.87, 19.39, 19.49],
    [712.0, 24.86, 19.79, 19.10, 19.14],
    [1012.0, 43.54, 21.37, 18.79, 18.73],
    [1112.0, 50.36, 22.01, 18.77, 18.68],
    [1512.0, 76.23, 25.99, 18.91, 18.52],
    [3512.0, 178.97, 35.54, 22.91, 18.40],
    [12512.0, 373.17, 69.70, 64.94, 18.31],
    [15512.0, 406.01, 79.25, f64::NAN, 18.31],
];

/// The same, trained on 1024 tokens.
pub const TRAINED_1024: &[[f64; 5]] = &[
    [1024.0, 19.34, 19.33, 18.80, 18.66],
    [1074.0, 19.19, 19.19, 18.65, 18.49],
    [1124.0, 19.26, 19.18, 18.62, 18.46],
    [1424.0, 26.45, 21.27, 18.48, 18.28],
    [1824.0, 42.23, 27.63, 18.30, 18.08],
    [3024.0, 96.46, 35.67, 18.62, 17.92],
    [16024.0, 453.32, 106.99, f64::NAN, 17.98],
];

/// ALiBi trained on a length and evaluated at twice that length, beside ALiBi trained on the latter:
/// `[T, shorter, longer]`.
pub const LONGER_TRAINING: &[[f64; 3]] = &[
    [128.0, 24.70, 23.98],
    [256.0, 21.70, 21.29],
    [512.0, 19.89, 19.73],
    [1024.0, 18.81, 18.66],
];

/// Sliding windows with stride 1: method and trained length, and the perplexity at T = 512, 1024, 1536, 2048
/// and 3072.
pub const SLIDING: &[(&str, [f64; 5])] = &[
    ("sinusoidal", [18.35, 204.42, 264.74, 306.19, 360.12]),
    ("t5_bias", [17.92, 18.51, 20.36, 22.62, 30.77]),
    ("alibi", [17.98, 17.92, 18.2, 18.28, 18.3]),
];
/// The lengths of [`SLIDING`].
pub const SLIDING_LENGTHS: [usize; 5] = [512, 1024, 1536, 2048, 3072];

/// On one V100 at L = 512: thousands of words a second in training and in evaluation, and memory in GB.
pub const SPEED: &[(&str, [f64; 3])] = &[
    ("sinusoidal", [28.5, 82.1, 15.3]),
    ("rotary", [20.0, 43.4, 17.8]),
    ("t5_bias", [14.4, 21.8, 16.9]),
    ("alibi", [28.3, 85.8, 15.3]),
];

/// 1.3 B parameters, trained on 512 tokens: perplexity at T = 512, 1024 and 2048.
pub const LARGE: &[(&str, [f64; 3])] = &[
    ("sinusoidal", [9.71, 37.05, 105.42]),
    ("alibi", [9.79, 9.30, 9.54]),
];

/// An encoding's column of [`TRAINED_512`] and [`TRAINED_1024`].
pub fn column(encoding: &str) -> usize {
    match encoding {
        "sinusoidal" => 1,
        "rotary" => 2,
        "t5_bias" => 3,
        _ => 4,
    }
}
