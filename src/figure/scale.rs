//! From data to CSS px and back, and where ticks stand.

/// One axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    domain: [f64; 2],
    range: [f64; 2],
    log: bool,
}

impl Scale {
    /// `domain` is widened where it is empty or not finite, so that nothing divides by zero.
    pub fn linear(domain: [f64; 2], range: [f64; 2]) -> Self {
        let [mut low, mut high] = domain;
        if !(low.is_finite() && high.is_finite()) {
            (low, high) = (0.0, 1.0);
        }
        if low == high {
            high = low + 1.0;
        }
        Self {
            domain: [low, high],
            range,
            log: false,
        }
    }

    /// As [`linear`](Self::linear), by logarithms; the domain is kept above zero.
    pub fn log(domain: [f64; 2], range: [f64; 2]) -> Self {
        let [mut low, mut high] = domain;
        if !(low.is_finite() && high.is_finite() && low > 0.0 && high > 0.0) {
            (low, high) = (1.0, 10.0);
        }
        if low == high {
            high = low * 2.0;
        }
        Self {
            domain: [low, high],
            range,
            log: true,
        }
    }

    fn part(&self, value: f64) -> f64 {
        let [low, high] = self.domain;
        if self.log {
            (value.max(1e-300) / low).ln() / (high / low).ln()
        } else {
            (value - low) / (high - low)
        }
    }

    /// The place of a value, CSS px.
    pub fn px(&self, value: f64) -> f64 {
        self.range[0] + self.part(value) * (self.range[1] - self.range[0])
    }

    /// As [`px`](Self::px), kept inside the range.
    pub fn px_clamped(&self, value: f64) -> f64 {
        self.range[0] + self.part(value).clamp(0.0, 1.0) * (self.range[1] - self.range[0])
    }

    pub fn domain(&self) -> [f64; 2] {
        self.domain
    }

    pub fn is_log(&self) -> bool {
        self.log
    }

    pub fn contains(&self, value: f64) -> bool {
        (-1e-9..=1.0 + 1e-9).contains(&self.part(value))
    }
}

/// As `clamp`, but in an empty range the middle, where `clamp` would panic.
pub(crate) fn within(value: f64, low: f64, high: f64) -> f64 {
    if low > high {
        return (low + high) / 2.0;
    }
    value.clamp(low, high)
}

/// The value at `part` (0 to 1) of an axis from `low` to `high`.
pub(crate) fn invert([low, high]: [f64; 2], log: bool, part: f64) -> f64 {
    if log && low > 0.0 && high > 0.0 {
        low * (high / low).powf(part)
    } else {
        low + part * (high - low)
    }
}

/// Powers of two from `low` to `high`, every so many that at most `most` stand.
pub(crate) fn powers_of_two(low: f64, high: f64, most: usize) -> Vec<f64> {
    if !(low > 0.0 && high >= low && high.is_finite()) {
        return Vec::new();
    }
    let (first, last) = (
        (low.log2() - 1e-9).ceil() as i32,
        (high.log2() + 1e-9).floor() as i32,
    );
    let step = (1..)
        .find(|step| ((last - first).max(0) / step) < most.max(1) as i32)
        .unwrap_or(1);
    // Counted from the top, so that the longest length is always there.
    (first..=last)
        .filter(|exponent| (last - exponent) % step == 0)
        .map(|exponent| f64::from(exponent).exp2())
        .collect()
}

/// Token positions for a linear axis from 0: multiples of a power of two, at most `most`.
pub(crate) fn positions(length: usize, most: usize) -> Vec<f64> {
    let step = (length as f64 / most.max(1) as f64).max(1.0).log2().ceil().exp2();
    (0..)
        .map(|index| f64::from(index) * step)
        .take_while(|&at| at <= length as f64)
        .collect()
}

/// Multiples of 1, 2 or 5 times a power of ten from `low` to `high`, about `most`.
pub(crate) fn linear_ticks([low, high]: [f64; 2], most: usize) -> Vec<f64> {
    let span = high - low;
    if !(span > 0.0 && span.is_finite()) {
        return vec![low];
    }
    let raw = span / most.max(1) as f64;
    let ten = 10f64.powf(raw.log10().floor());
    let step = ten
        * [1.0, 2.0, 5.0, 10.0]
            .into_iter()
            .find(|m| m * ten >= raw)
            .unwrap_or(10.0);
    let (first, last) = (
        (low / step - 1e-9).ceil() as i64,
        (high / step + 1e-9).floor() as i64,
    );
    (first..=last).map(|index| index as f64 * step).collect()
}

/// Ticks of a logarithmic axis: powers of ten, with 2 and 5 (or all of 1 … 9) between where they are few.
pub(crate) fn log_ticks([low, high]: [f64; 2], most: usize) -> Vec<f64> {
    if !(low > 0.0 && high > low && high.is_finite()) {
        return vec![low];
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let between = |steps: &[f64], every: i32| -> Vec<f64> {
        (first..=last)
            .filter(|exponent| exponent % every == 0)
            .flat_map(|exponent| steps.iter().map(move |step| step * 10f64.powi(exponent)))
            .filter(|&tick| tick >= low * (1.0 - 1e-9) && tick <= high * (1.0 + 1e-9))
            .collect()
    };
    const STEPS: [&[f64]; 4] = [
        &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0],
        &[1.0, 2.0, 3.0, 5.0, 7.0],
        &[1.0, 2.0, 5.0],
        &[1.0],
    ];
    STEPS
        .iter()
        .map(|steps| between(steps, 1))
        .find(|ticks| ticks.len() <= most)
        .unwrap_or_else(|| between(&[1.0], 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_and_its_inverse_agree() {
        for scale in [
            Scale::linear([3.0, 11.0], [40.0, 300.0]),
            Scale::log([0.5, 512.0], [40.0, 300.0]),
        ] {
            for value in [3.0, 5.0, 11.0] {
                let part = (scale.px(value) - 40.0) / 260.0;
                let back = invert(scale.domain(), scale.is_log(), part);
                assert!((back - value).abs() < 1e-9, "{back} {value}");
            }
        }
    }

    #[test]
    fn empty_domains_stay_finite() {
        for scale in [
            Scale::linear([4.0, 4.0], [0.0, 10.0]),
            Scale::linear([f64::NAN, 4.0], [0.0, 10.0]),
            Scale::log([0.0, 0.0], [0.0, 10.0]),
            Scale::log([7.0, 7.0], [0.0, 10.0]),
        ] {
            assert!(scale.px(4.0).is_finite());
        }
    }

    #[test]
    fn length_ticks_are_powers_of_two() {
        assert_eq!(
            powers_of_two(16.0, 512.0, 9),
            [16.0, 32.0, 64.0, 128.0, 256.0, 512.0]
        );
        assert_eq!(powers_of_two(16.0, 512.0, 3), [32.0, 128.0, 512.0]);
        assert_eq!(powers_of_two(1.0, 1.0, 3), [1.0]);
        assert_eq!(positions(512, 5), [0.0, 128.0, 256.0, 384.0, 512.0]);
        assert_eq!(positions(1, 5), [0.0, 1.0]);
    }

    #[test]
    fn other_ticks_are_round() {
        assert_eq!(
            linear_ticks([0.0, 1.0], 5),
            [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]
        );
        assert_eq!(log_ticks([22.0, 110.0], 6), [30.0, 50.0, 70.0, 100.0]);
        assert_eq!(log_ticks([1e-4, 1.0], 5), [1e-4, 1e-3, 1e-2, 1e-1, 1.0]);
        assert!(log_ticks([1e-9, 1.0], 5).len() <= 6);
    }
}
