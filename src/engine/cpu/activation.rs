//! The nonlinearity of the MLP: GELU (Hendrycks & Gimpel 2016, arXiv 1606.08415), exact or by tanh.

use super::exp::{exp, exp2_4};
use super::lanes::{F32x4, for_each, for_each_with};
use super::parallel::pieces;
use crate::model::Activation;
use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};

/// √(2/π)
const ROOT: f32 = 0.797_884_6;
const CUBIC: f32 = 0.044_715;
/// Values a piece of work.
const PIECE: usize = 1 << 15;

/// tanh to an absolute error of about 2·10⁻⁷.
#[inline(always)]
fn tanh4(x: F32x4) -> F32x4 {
    let [one, two] = [1.0, 2.0].map(F32x4::splat);
    // e^2x in powers of two; where it is large, tanh is 1.
    let power = (x * F32x4::splat(2.0 * LOG2_E)).min(F32x4::splat(60.0));
    one - two / (exp2_4(power) + one)
}

fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + libm::erff(x * FRAC_1_SQRT_2))
}

#[inline(always)]
fn gelu_tanh4(x: F32x4) -> F32x4 {
    let [half, one] = [0.5, 1.0].map(F32x4::splat);
    let inner = F32x4::splat(ROOT) * (x + F32x4::splat(CUBIC) * x * x * x);
    half * x * (one + tanh4(inner))
}

/// Replaces every value by its activation.
pub fn activation(kind: Activation, values: &mut [f32]) {
    pieces(values, PIECE, |_, values| match kind {
        Activation::Gelu => values.iter_mut().for_each(|value| *value = gelu(*value)),
        Activation::GeluTanh => for_each(values, gelu_tanh4),
    });
}

/// Turns the gradient of the output, which stands in `gradient`, into that of the input `x`.
pub fn activation_backward(kind: Activation, x: &[f32], gradient: &mut [f32]) {
    pieces(gradient, PIECE, |index, gradient| {
        let x = &x[index * PIECE..];
        match kind {
            Activation::Gelu => gradient.iter_mut().zip(x).for_each(|(gradient, &x)| {
                // The density of the normal distribution is ROOT/2 · e^(−x²/2).
                let cumulative = 0.5 * (1.0 + libm::erff(x * FRAC_1_SQRT_2));
                *gradient *= cumulative + x * 0.5 * ROOT * exp(-0.5 * x * x);
            }),
            Activation::GeluTanh => for_each_with(gradient, x, |gradient, x| gradient * gelu_tanh_slope4(x)),
        }
    });
}

#[inline(always)]
fn gelu_tanh_slope4(x: F32x4) -> F32x4 {
    let [half, one] = [0.5, 1.0].map(F32x4::splat);
    let cube = F32x4::splat(CUBIC) * x * x;
    let t = tanh4(F32x4::splat(ROOT) * (x + cube * x));
    let inner = F32x4::splat(ROOT) * (one + F32x4::splat(3.0) * cube);
    half * (one + t) + half * x * (one - t * t) * inner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_slopes_equal_the_formulas_in_f64() {
        for step in -800..=800 {
            let x = step as f32 * 0.01;
            let exact = |kind, x: f64| match kind {
                Activation::Gelu => 0.5 * x * (1.0 + libm::erf(x * std::f64::consts::FRAC_1_SQRT_2)),
                Activation::GeluTanh => {
                    0.5 * x
                        * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
                }
            };
            for kind in [Activation::Gelu, Activation::GeluTanh] {
                let mut out = [x];
                activation(kind, &mut out);
                assert!(
                    (f64::from(out[0]) - exact(kind, x.into())).abs() < 2e-6,
                    "{kind:?} {x}"
                );
                let mut slope = [1.0];
                activation_backward(kind, &[x], &mut slope);
                let h = 1e-5;
                let by_difference =
                    (exact(kind, f64::from(x) + h) - exact(kind, f64::from(x) - h)) / (2.0 * h);
                assert!(
                    (f64::from(slope[0]) - by_difference).abs() < 3e-6,
                    "{kind:?} slope at {x}"
                );
            }
        }
    }
}
