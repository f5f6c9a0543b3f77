//! Mixing keys with the key before them (smeared keys: Olsson et al. 2022, In-context Learning and
//! Induction Heads), which lets one layer alone look for what followed a token.

use super::attention::Sizes;
use super::parallel::{ROWS, add_partials, pieces, pieces2};

/// The share of the key before in every head, from the trained numbers; both `[H]`.
pub fn shares(raw: &[f32]) -> Vec<f32> {
    raw.iter()
        .map(|raw| (1.0 / (1.0 + (-f64::from(*raw)).exp())) as f32)
        .collect()
}

/// The keys in `qkv[rows][3 · d_model]` become k_t = (1 − s)·k_t + s·k_(t−1) with the head's share s of
/// `share[H]`, from `before[rows][2 · d_model]`, the queries and keys as they were; the first key of a window
/// has none before it, which counts as zero.
pub fn smear(before: &[f32], share: &[f32], sizes: &Sizes, qkv: &mut [f32]) {
    let (d_model, length) = (sizes.d_model(), sizes.length);
    pieces(qkv, ROWS * 3 * d_model, |index, qkv| {
        for (offset, row) in qkv.chunks_exact_mut(3 * d_model).enumerate() {
            let row_index = index * ROWS + offset;
            for (c, key) in row[d_model..2 * d_model].iter_mut().enumerate() {
                let s = share[c / sizes.d_head];
                let at = row_index * 2 * d_model + d_model + c;
                let previous = if row_index.is_multiple_of(length) {
                    0.0
                } else {
                    before[at - 2 * d_model]
                };
                *key = (1.0 - s) * before[at] + s * previous;
            }
        }
    });
}

/// Turns the gradients of the mixed keys in `dqkv[rows][3 · d_model]` into those of the keys before, and
/// adds those of the trained numbers (before [`shares`]) to `draw[H]`.
pub fn smear_backward(before: &[f32], share: &[f32], sizes: &Sizes, dqkv: &mut [f32], draw: &mut [f32]) {
    let (d_model, length) = (sizes.d_model(), sizes.length);
    let (width, both) = (3 * d_model, 2 * d_model);
    let mut partials = vec![Vec::new(); sizes.windows];
    pieces2(
        (dqkv, length * width),
        (&mut partials, 1),
        |window, dqkv, partial| {
            let before = &before[window * length * both..(window + 1) * length * both];
            let mut sums = vec![0.0_f64; sizes.heads];
            for t in 0..length {
                for c in 0..d_model {
                    let (head, at) = (c / sizes.d_head, t * width + d_model + c);
                    let s = share[head];
                    let key = t * both + d_model + c;
                    let previous = if t == 0 { 0.0 } else { before[key - both] };
                    sums[head] += f64::from(dqkv[at]) * f64::from(previous - before[key]);
                    // The gradient of the next key is still that of the mixed one.
                    let next = if t + 1 == length { 0.0 } else { dqkv[at + width] };
                    dqkv[at] = (1.0 - s) * dqkv[at] + s * next;
                }
            }
            let slope = |(sum, s): (f64, &f32)| (sum * f64::from(s * (1.0 - s))) as f32;
            partial[0] = sums.into_iter().zip(share).map(slope).collect();
        },
    );
    add_partials(draw, &partials);
}

#[cfg(test)]
mod tests {
    use super::super::attention::tests::numbers;
    use super::super::copy_qk::copy_qk;
    use super::*;

    const SIZES: Sizes = Sizes {
        windows: 2,
        length: 67,
        heads: 3,
        d_head: 5,
        score_scale: 1.0,
    };

    fn smeared(qkv: &[f32], raw: &[f32]) -> Vec<f32> {
        let mut before = vec![f32::NAN; SIZES.rows() * 2 * SIZES.d_model()];
        copy_qk(qkv, SIZES.d_model(), &mut before);
        let mut after = qkv.to_vec();
        smear(&before, &shares(raw), &SIZES, &mut after);
        after
    }

    #[test]
    fn a_window_does_not_look_into_the_one_before() {
        let (d, raw) = (SIZES.d_model(), [-1.0, 0.0, 2.0]);
        let qkv = numbers(SIZES.rows() * 3 * d, 1);
        let after = smeared(&qkv, &raw);
        for (at, got) in after.iter().enumerate() {
            let (row, column) = (at / (3 * d), at % (3 * d));
            let exact = if column / d == 1 {
                let s = 1.0 / (1.0 + (-f64::from(raw[column % d / SIZES.d_head])).exp());
                let previous = if row % SIZES.length == 0 {
                    0.0
                } else {
                    qkv[at - 3 * d]
                };
                (1.0 - s) * f64::from(qkv[at]) + s * f64::from(previous)
            } else {
                f64::from(qkv[at])
            };
            assert!((f64::from(*got) - exact).abs() < 1e-6, "{row} {column}");
        }
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let d = SIZES.d_model();
        let (qkv, dy) = (numbers(SIZES.rows() * 3 * d, 1), numbers(SIZES.rows() * 3 * d, 2));
        let raw = [-1.0, 0.3, 2.0];
        let loss = |qkv: &[f32], raw: &[f32]| -> f64 {
            let products = smeared(qkv, raw).into_iter().zip(&dy);
            products.map(|(y, dy)| f64::from(y) * f64::from(*dy)).sum()
        };
        let mut before = vec![0.0; SIZES.rows() * 2 * d];
        copy_qk(&qkv, d, &mut before);
        let (mut dqkv, mut draw) = (dy.clone(), vec![0.0; 3]);
        smear_backward(&before, &shares(&raw), &SIZES, &mut dqkv, &mut draw);
        let step = 0.0625;
        // The sum is linear in qkv: a large step is exact. First, last and middle rows of both windows.
        for row in [0, 1, 40, 66, 67, 68, 133] {
            for column in [0, d - 1, d, d + 7, 2 * d - 1, 2 * d] {
                let at = row * 3 * d + column;
                let moved = |by: f32| {
                    let mut qkv = qkv.clone();
                    qkv[at] += by;
                    loss(&qkv, &raw)
                };
                let exact = (moved(step) - moved(-step)) / f64::from(2.0 * step);
                assert!((f64::from(dqkv[at]) - exact).abs() < 1e-4, "{row} {column}");
            }
        }
        for head in 0..3 {
            let moved = |by: f32| {
                let mut raw = raw;
                raw[head] += by;
                loss(&qkv, &raw)
            };
            let step = 0.01;
            let exact = (moved(step) - moved(-step)) / f64::from(2.0 * step);
            assert!(
                (f64::from(draw[head]) - exact).abs() < 2e-3,
                "{head}: {} {exact}",
                draw[head]
            );
        }
    }
}
