//! A fast exponential, four numbers at a time.

use super::lanes::{F32x4, LANES, for_each};

/// Adding 1.5·2²³ rounds to an integer and leaves it in the low bits of the sum.
const ROUND: f32 = 12_582_912.0;

/// e^x for x ≤ 88, to a relative error below 2·10⁻⁷; x below −87 gives a number below 2·10⁻³⁸.
///
/// Range reduction to |r| ≤ ln 2 / 2 and the polynomial of Cephes' `expf` (S. Moshier).
#[inline(always)]
pub fn exp4(x: F32x4) -> F32x4 {
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let constant = F32x4::splat;
    let x = x.max(constant(-87.0)).min(constant(88.0));
    let rounded = x * constant(std::f32::consts::LOG2_E) + constant(ROUND);
    let power = rounded - constant(ROUND);
    let r = x - power * constant(LN2_HIGH) - power * constant(LN2_LOW);
    let mut p = constant(1.987_569_1e-4);
    for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5e-1] {
        p = p.mul_add(r, constant(coefficient));
    }
    (p * r * r + r + constant(1.0)) * rounded.power_of_two()
}

/// 2^x for x ≤ 126, to a relative error below 2·10⁻⁷; x below −100 gives 2⁻¹⁰⁰, which is nothing in a sum and times
/// a value no subnormal number: those are slow.
///
/// A polynomial of degree 6 whose largest relative error on −1/2 … 1/2 is least (2.6·10⁻⁹, by Remez' exchange) among
/// those that give 1 at 0.
#[inline(always)]
pub fn exp2_4(x: F32x4) -> F32x4 {
    let constant = F32x4::splat;
    let x = x.max(constant(-100.0));
    let rounded = x + constant(ROUND);
    let rest = x - (rounded - constant(ROUND));
    let mut p = constant(1.559_467_8e-4);
    for coefficient in [
        1.340_664_4e-3,
        9.617_693e-3,
        5.550_310_6e-2,
        2.402_265_3e-1,
        6.931_472e-1,
        1.0,
    ] {
        p = p.mul_add(rest, constant(coefficient));
    }
    p.scaled_by(rounded)
}

/// e^x of one number, as [`exp4`].
#[inline]
pub fn exp(x: f32) -> f32 {
    exp4(F32x4::splat(x)).to_array()[0]
}

/// Replaces every value by e^(value − `less`) and gives their sum.
pub fn exp_all(values: &mut [f32], less: f32) -> f32 {
    let shift = F32x4::splat(less);
    let (whole, rest) = values.as_chunks_mut::<LANES>();
    let mut sums = F32x4::splat(0.0);
    for chunk in whole {
        let done = exp4(F32x4::load(chunk) - shift);
        sums = sums + done;
        *chunk = done.to_array();
    }
    for_each(rest, |x| exp4(x - shift));
    sums.sum() + rest.iter().sum::<f32>()
}

/// The sum of e^(value − `less`) of all values.
pub fn sum_of_exp(values: &[f32], less: f32) -> f32 {
    let shift = F32x4::splat(less);
    let (whole, rest) = values.as_chunks::<LANES>();
    let zero = F32x4::splat(0.0);
    let sums = whole
        .iter()
        .fold(zero, |sums, four| sums + exp4(F32x4::load(four) - shift));
    sums.sum() + rest.iter().map(|value| exp(value - less)).sum::<f32>()
}

/// Replaces fours by 2^(value − `less`), where no value is larger than `less`, and gives their sum.
#[inline(always)]
pub fn exp2_all(fours: &mut [[f32; LANES]], less: f32) -> f32 {
    let shift = F32x4::splat(less);
    let mut sums = F32x4::splat(0.0);
    for four in fours {
        let done = exp2_4(F32x4::load(four) - shift);
        sums = sums + done;
        *four = done.to_array();
    }
    sums.sum()
}

/// 2^x of one number ≤ 0, as [`exp2_all`] computes it.
#[inline]
pub fn exp2(x: f32) -> f32 {
    exp2_4(F32x4::splat(x)).to_array()[0]
}

/// The largest value, or `least` if that is larger.
pub fn largest(values: &[f32], least: f32) -> f32 {
    let (whole, rest) = values.as_chunks::<LANES>();
    let most = whole
        .iter()
        .fold(F32x4::splat(least), |most, chunk| most.max(F32x4::load(chunk)));
    let [a, b, c, d] = most.to_array();
    rest.iter().copied().fold(a.max(b).max(c.max(d)), f32::max)
}

#[cfg(test)]
mod tests {
    use super::{exp, exp_all, exp2, exp2_all, largest, sum_of_exp};

    #[test]
    fn agrees_with_the_exact_exponential() {
        let mut worst: f64 = 0.0;
        for step in 0..175_000 {
            let x = -87.0 + step as f32 * 0.001;
            let exact = f64::from(x).exp();
            worst = worst.max(((f64::from(exp(x)) - exact) / exact).abs());
        }
        assert!(worst < 2e-7, "largest relative error {worst:e}");
        assert_eq!(exp(0.0), 1.0);
        assert!(exp(-1e30) < 2e-38 && exp(-1e30) >= 0.0);
    }

    #[test]
    fn powers_of_two_agree_with_the_exact_ones() {
        let mut worst: f64 = 0.0;
        for step in 0..226_000 {
            let x = -100.0 + step as f32 * 0.001;
            let exact = f64::from(x).exp2();
            worst = worst.max(((f64::from(exp2(x)) - exact) / exact).abs());
        }
        assert!(worst < 2e-7, "largest relative error {worst:e}");
        assert_eq!(exp2(0.0), 1.0);
        assert!(exp2(-1e30) < 1e-30 && exp2(-1e30) >= 0.0);
        let mut fours = [[-1.0, -2.0, 1.0, -1e30], [1.0, 0.0, -0.5, -3.0]];
        let sum = exp2_all(&mut fours, 1.0);
        assert!((sum - (0.25 + 0.125 + 1.0 + 1.0 + 0.5 + 0.5f32.powf(1.5) + 0.0625)).abs() < 1e-6);
        assert_eq!(fours[1][..2], [1.0, 0.5]);
    }

    #[test]
    fn rows_of_any_length_are_done_whole() {
        for length in 0..14 {
            let values: Vec<f32> = (0..length).map(|i| ((i * 7) % 5) as f32 - 6.5).collect();
            let most = values.iter().copied().fold(-3.0, f32::max);
            assert_eq!(largest(&values, -3.0), most);
            let mut done = values.clone();
            let sum = exp_all(&mut done, most);
            let exact: Vec<f64> = values.iter().map(|&x| f64::from(x - most).exp()).collect();
            for (done, exact) in done.iter().zip(&exact) {
                assert!((f64::from(*done) - exact).abs() < 1e-6, "{length}");
            }
            assert!(
                (f64::from(sum) - exact.iter().sum::<f64>()).abs() < 1e-5,
                "{length}"
            );
            assert!((sum_of_exp(&values, most) - sum).abs() < 1e-6, "{length}");
        }
    }
}
