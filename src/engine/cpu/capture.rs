//! What is kept of the attention of a batch's first window. The probabilities are computed anew from q,
//! k and the log-sum-exp, block by block, so nothing of size T² is stored.

use super::attention::{Block, KEYS, QUERIES, Sizes, score_block};
use super::exp::exp_all;
use super::parallel::map;
use crate::engine::RASTER_SIDE_MAX;

/// Calls `visit(query, first_key, probabilities)` for every row of every block of one head; the
/// probabilities are those of the visible keys from `first_key` on.
fn visit_rows(
    qkv: &[f32],
    bias: Option<&[f32]>,
    log_sum_exp: &[f32],
    sizes: &Sizes,
    head: usize,
    mut visit: impl FnMut(usize, usize, &[f32]),
) {
    let mut scores = [0.0; QUERIES * KEYS];
    for first_query in (0..sizes.length).step_by(QUERIES) {
        let queries = QUERIES.min(sizes.length - first_query);
        for first_key in (0..first_query + queries).step_by(KEYS) {
            let keys = KEYS.min(first_query + queries - first_key);
            score_block(
                qkv,
                bias,
                sizes,
                Block {
                    head,
                    first_query,
                    queries,
                    first_key,
                    keys,
                },
                &mut scores,
            );
            for (offset, row) in scores.chunks_exact_mut(keys).take(queries).enumerate() {
                let query = first_query + offset;
                let visible = (query + 1).saturating_sub(first_key).min(keys);
                let lse = log_sum_exp[query * sizes.heads + head];
                exp_all(&mut row[..visible], lse);
                visit(query, first_key, &row[..visible]);
            }
        }
    }
}

/// The attention of one head of the first window as a [`Raster`](crate::engine::Raster)'s data,
/// `[side][side]` with side = min(T, 512).
pub fn capture_attention(
    qkv: &[f32],
    bias: Option<&[f32]>,
    log_sum_exp: &[f32],
    sizes: &Sizes,
    head: usize,
) -> Vec<f32> {
    let length = sizes.length;
    let side = length.min(RASTER_SIDE_MAX);
    let mut sums = vec![0.0; side * side];
    visit_rows(qkv, bias, log_sum_exp, sizes, head, |query, first_key, row| {
        let line = query * side / length * side;
        for (offset, p) in row.iter().enumerate() {
            sums[line + (first_key + offset) * side / length] += p;
        }
    });
    for (line, row) in sums.chunks_exact_mut(side).enumerate() {
        // Queries i with ⌊i·side/T⌋ = line.
        let queries = ((line + 1) * length).div_ceil(side) - (line * length).div_ceil(side);
        for value in row {
            *value /= queries as f32;
        }
    }
    sums
}

/// Mean attention by distance of every head of the first window, `[H][T]`: for each distance n the mean
/// over queries i ≥ n of the probability that i gives to the key i − n.
pub fn capture_profile(qkv: &[f32], bias: Option<&[f32]>, log_sum_exp: &[f32], sizes: &Sizes) -> Vec<f32> {
    let length = sizes.length;
    let heads = map(sizes.heads, |head| {
        let mut sums = vec![0.0_f64; length];
        visit_rows(qkv, bias, log_sum_exp, sizes, head, |query, first_key, row| {
            for (offset, &p) in row.iter().enumerate() {
                sums[query - first_key - offset] += f64::from(p);
            }
        });
        sums.iter()
            .enumerate()
            .map(|(n, sum)| (sum / (length - n) as f64) as f32)
            .collect::<Vec<_>>()
    });
    heads.concat()
}

#[cfg(test)]
mod tests {
    use super::super::attention::attention;
    use super::super::attention::tests::{numbers, probabilities};
    use super::*;

    #[test]
    fn captures_equal_the_probabilities_written_out() {
        for (length, heads, d_head) in [(1, 1, 2), (17, 3, 8), (129, 2, 5), (600, 1, 4), (1100, 1, 2)] {
            let sizes = Sizes {
                windows: 1,
                length,
                heads,
                d_head,
                score_scale: 2.0,
            };
            let qkv = numbers(length * 3 * sizes.d_model(), 3);
            let bias: Vec<f32> = (0..heads * length).map(|i| -0.01 * (i % length) as f32).collect();
            let (mut out, mut lse) = (vec![0.0; length * sizes.d_model()], vec![0.0; length * heads]);
            attention(&qkv, Some(&bias), &sizes, &mut out, &mut lse);
            let profile = capture_profile(&qkv, Some(&bias), &lse, &sizes);
            for head in 0..heads {
                let p = probabilities(&qkv, Some(&bias), &sizes, 0, head);
                for n in 0..length {
                    let exact = (n..length).map(|i| p[i * length + i - n]).sum::<f64>() / (length - n) as f64;
                    assert!((f64::from(profile[head * length + n]) - exact).abs() < 1e-6);
                }
                let raster = capture_attention(&qkv, Some(&bias), &lse, &sizes, head);
                let side = length.min(512);
                let mut exact = vec![0.0; side * side];
                let mut queries = vec![0.0; side];
                for i in 0..length {
                    queries[i * side / length] += 1.0;
                    for j in 0..=i {
                        exact[i * side / length * side + j * side / length] += p[i * length + j];
                    }
                }
                for (at, value) in raster.iter().enumerate() {
                    assert!(
                        (f64::from(*value) - exact[at] / queries[at / side]).abs() < 2e-6,
                        "{length} {at}"
                    );
                }
                for row in raster.chunks_exact(side) {
                    assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                }
            }
        }
    }
}
