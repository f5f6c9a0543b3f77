//! What is kept of the attention of a batch's first window. The probabilities are computed anew from q,
//! k and the log-sum-exp, block by block, so nothing of size T² is stored.

use super::attention::{KEYS, QUERIES, Sizes};
use super::exp::exp_all;
use super::parallel::map;
use super::scores::{Block, Inputs, Row, score_block};

/// The least logarithm of a probability that is reckoned with: p ln p is 0 there, also in f32.
const LOG_MIN: f32 = -100.0;

/// Calls `visit(query, first_key, probabilities, logarithms)` for every row of every block of one head;
/// both are those of the keys from `first_key` to the
/// query; a hidden key has the probability 0.
fn visit_rows(
    inputs: &Inputs,
    log_sum_exp: &[f32],
    sizes: &Sizes,
    head: usize,
    mut visit: impl FnMut(usize, usize, &[f32], &[f32]),
) {
    let mut scores = [0.0; QUERIES * KEYS];
    let mut logs = [0.0; KEYS];
    for first_query in (0..sizes.length).step_by(QUERIES) {
        let queries = QUERIES.min(sizes.length - first_query);
        for (first_key, keys) in inputs.key_blocks(first_query, queries) {
            score_block(
                inputs,
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
                let Row { seen, near, visible } = inputs.row(query, first_key, keys);
                let lse = log_sum_exp[query * sizes.heads + head];
                let (row, logs) = (&mut row[..visible], &mut logs[..visible]);
                for (log, score) in logs.iter_mut().zip(&*row) {
                    *log = (score - lse).max(LOG_MIN);
                }
                exp_all(row, lse);
                row[seen..near].fill(0.0);
                visit(query, first_key, row, logs);
            }
        }
    }
}

/// The attention of one head of the first window as a [`Raster`](crate::engine::Raster)'s data,
/// `[side][side]` with side ≤ T.
pub fn capture_attention(
    inputs: &Inputs,
    log_sum_exp: &[f32],
    sizes: &Sizes,
    head: usize,
    side: usize,
) -> Vec<f32> {
    let length = sizes.length;
    let mut sums = vec![0.0_f64; side * side];
    visit_rows(inputs, log_sum_exp, sizes, head, |query, first_key, row, _| {
        let line = query * side / length * side;
        for (offset, p) in row.iter().enumerate() {
            sums[line + (first_key + offset) * side / length] += f64::from(*p);
        }
    });
    // Queries i with ⌊i·side/T⌋ = line.
    let queries = |line: usize| ((line + 1) * length).div_ceil(side) - (line * length).div_ceil(side);
    sums.iter()
        .enumerate()
        .map(|(at, sum)| (sum / queries(at / side) as f64) as f32)
        .collect()
}

/// What [`capture_profile`] gives, each `[H][T]`: for each distance n the mean over queries i ≥ n, with p
/// the probability that i gives to the key i − n.
#[derive(Clone, Debug, PartialEq)]
pub struct ByDistance {
    /// Of p.
    pub weight: Vec<f32>,
    /// Of −p ln p, in nats.
    pub entropy: Vec<f32>,
}

/// Mean attention by distance of every head of the first window, and what each distance adds to the
/// entropy of its queries.
pub fn capture_profile(inputs: &Inputs, log_sum_exp: &[f32], sizes: &Sizes) -> ByDistance {
    let length = sizes.length;
    let heads = map(sizes.heads, |head| {
        let mut sums = vec![[0.0_f64; 2]; length];
        visit_rows(inputs, log_sum_exp, sizes, head, |query, first_key, row, logs| {
            for (offset, (&p, &log)) in row.iter().zip(logs).enumerate() {
                let [weight, entropy] = &mut sums[query - first_key - offset];
                *weight += f64::from(p);
                *entropy -= f64::from(p * log);
            }
        });
        sums
    });
    let mean = |part: usize| {
        let of_head = |sums: &Vec<[f64; 2]>| {
            let means = sums.iter().enumerate();
            means
                .map(|(n, sum)| (sum[part] / (length - n) as f64) as f32)
                .collect::<Vec<_>>()
        };
        heads.iter().flat_map(of_head).collect()
    };
    ByDistance {
        weight: mean(0),
        entropy: mean(1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::attention::attention;
    use super::super::attention::tests::{fars, numbers, probabilities};
    use super::*;
    use crate::engine::Profile;

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
            let far_qk = numbers(length * 2 * sizes.d_model(), 4);
            for far in fars(&far_qk) {
                let inputs = Inputs {
                    qkv: &qkv,
                    bias: Some(&bias),
                    far,
                };
                let (mut out, mut lse) = (vec![0.0; length * sizes.d_model()], vec![0.0; length * heads]);
                attention(&inputs, &sizes, &mut out, &mut lse);
                let profile = capture_profile(&inputs, &lse, &sizes);
                let profile = Profile::new((1, heads, length), profile.weight, &profile.entropy);
                for head in 0..heads {
                    let p = probabilities(&inputs, &sizes, 0, head);
                    for n in 0..length {
                        let exact =
                            (n..length).map(|i| p[i * length + i - n]).sum::<f64>() / (length - n) as f64;
                        assert!((f64::from(profile.data[head * length + n]) - exact).abs() < 1e-6);
                    }
                    let rows = p.iter().map(|&p| if p > 0.0 { -p * p.ln() } else { 0.0 });
                    let exact = rows.sum::<f64>() / length as f64;
                    let entropy = f64::from(profile.entropy[head]);
                    assert!((entropy - exact).abs() < 1e-5, "{length}: {entropy} {exact}");
                }
                // A raster of a cell a query, and thumbnails whose cells are not all of one size.
                for (head, side) in (0..heads).flat_map(|head| [512, 48, 5].map(|side| (head, side))) {
                    let side = length.min(side);
                    let p = probabilities(&inputs, &sizes, 0, head);
                    let raster = capture_attention(&inputs, &lse, &sizes, head, side);
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
}
