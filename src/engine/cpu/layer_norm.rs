//! Layer normalisation (Ba et al. 2016, arXiv 1607.06450).

use super::lanes::{F32x4, LANES, for_each_with};
use super::parallel::{ROWS, add_partials, map, pieces};

/// The mean and 1/√(variance + ε) of a row; the variance is that of the whole row (divided by d).
fn moments(x: &[f32], epsilon: f32) -> (f32, f32) {
    let d = x.len() as f32;
    let mean = sum(x, |four| four) / d;
    let shift = F32x4::splat(mean);
    let variance = sum(x, |four| (four - shift) * (four - shift)) / d;
    (mean, 1.0 / (variance + epsilon).sqrt())
}

/// The sum of `of` of every value, four at a time.
#[inline(always)]
fn sum(x: &[f32], of: impl Fn(F32x4) -> F32x4) -> f32 {
    let (fours, rest) = x.as_chunks::<LANES>();
    let zero = F32x4::splat(0.0);
    let sums = fours.iter().fold(zero, |sums, four| sums + of(F32x4::load(four)));
    let rest = rest.iter().map(|value| of(F32x4::splat(*value)).to_array()[0]);
    sums.sum() + rest.sum::<f32>()
}

/// `out[rows][d] = (x − mean) / √(variance + ε) · weight[d] + bias[d]`, row by row.
pub fn layer_norm(x: &[f32], weight: &[f32], bias: Option<&[f32]>, epsilon: f32, out: &mut [f32]) {
    let d = weight.len();
    pieces(out, ROWS * d, |index, out| {
        let start = index * ROWS * d;
        for (x, out) in x[start..start + out.len()]
            .chunks_exact(d)
            .zip(out.chunks_exact_mut(d))
        {
            let (mean, scale) = moments(x, epsilon);
            let (shift, factor) = (F32x4::splat(mean), F32x4::splat(scale));
            out.copy_from_slice(x);
            for_each_with(out, weight, |x, weight| (x - shift) * factor * weight);
            if let Some(bias) = bias {
                for_each_with(out, bias, |x, bias| x + bias);
            }
        }
    });
}

/// Adds the gradient for the input to `dx[rows][d]` (the residual stream's own gradient stands there),
/// and those of weight and bias to `dweight[d]` and `dbias[d]`.
pub fn layer_norm_backward(
    x: &[f32],
    weight: &[f32],
    epsilon: f32,
    dout: &[f32],
    dx: &mut [f32],
    dweight: &mut [f32],
    dbias: Option<&mut [f32]>,
) {
    let d = weight.len();
    pieces(dx, ROWS * d, |index, dx| {
        let start = index * ROWS * d;
        let rows = x[start..start + dx.len()]
            .chunks_exact(d)
            .zip(dout[start..].chunks_exact(d));
        for ((x, dout), dx) in rows.zip(dx.chunks_exact_mut(d)) {
            let (mean, scale) = moments(x, epsilon);
            let (mut sum, mut product) = (0.0, 0.0);
            for ((value, dout), weight) in x.iter().zip(dout).zip(weight) {
                sum += dout * weight;
                product += dout * weight * (value - mean) * scale;
            }
            let (sum, product) = (sum / d as f32, product / d as f32);
            for (((dx, value), dout), weight) in dx.iter_mut().zip(x).zip(dout).zip(weight) {
                *dx += scale * (dout * weight - sum - (value - mean) * scale * product);
            }
        }
    });
    let piece = ROWS * d;
    // One row of partial sums a piece: the weight's, then the bias's.
    let partials = map(x.len().div_ceil(piece), |index| {
        let end = x.len().min((index + 1) * piece);
        let mut sums = vec![0.0; 2 * d];
        let (dweight, dbias) = sums.split_at_mut(d);
        for (x, dout) in x[index * piece..end]
            .chunks_exact(d)
            .zip(dout[index * piece..end].chunks_exact(d))
        {
            let (mean, scale) = moments(x, epsilon);
            for (((dweight, dbias), value), dout) in dweight.iter_mut().zip(dbias.iter_mut()).zip(x).zip(dout)
            {
                *dweight += dout * (value - mean) * scale;
                *dbias += dout;
            }
        }
        sums
    });
    let mut sums = vec![0.0; 2 * d];
    add_partials(&mut sums, &partials);
    add_partials(dweight, &[sums[..d].to_vec()]);
    if let Some(dbias) = dbias {
        add_partials(dbias, &[sums[d..].to_vec()]);
    }
}
