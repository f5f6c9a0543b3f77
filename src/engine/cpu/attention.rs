//! Causal attention with an online softmax (Milakov & Gimelshein 2018, arXiv 1805.02867; Dao et al.
//! 2022, arXiv 2205.14135): memory grows with T, not with T².

use super::exp;
use super::parallel::pieces2;
use super::product::{Into, View, product};

/// Queries that share a block of scores.
pub const QUERIES: usize = 64;
/// Keys in a block of scores.
pub const KEYS: usize = 128;
/// Stands for minus infinity: e to it is 0, and it can be subtracted from itself.
pub const MASKED: f32 = -1e30;

/// The sizes of an attention layer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sizes {
    /// B
    pub windows: usize,
    /// T
    pub length: usize,
    /// H
    pub heads: usize,
    pub d_head: usize,
    /// Multiplies q·k.
    pub score_scale: f32,
}

impl Sizes {
    /// heads × d_head
    pub fn d_model(&self) -> usize {
        self.heads * self.d_head
    }

    /// windows × T
    pub fn rows(&self) -> usize {
        self.windows * self.length
    }
}

/// A block of scores of one head: queries `first_query ..` by keys `first_key ..` of one window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub head: usize,
    pub first_query: usize,
    pub queries: usize,
    pub first_key: usize,
    pub keys: usize,
}

/// `scores[queries][keys] = score_scale · q·k + bias[H][distance]`, [`MASKED`] where the key is after the
/// query. `qkv` is that of one window, `[T][3 · d_model]`; rows of `scores` begin `block.keys` apart.
pub(super) fn score_block(
    qkv: &[f32],
    bias: Option<&[f32]>,
    sizes: &Sizes,
    block: Block,
    scores: &mut [f32],
) {
    let (width, d_model) = (3 * sizes.d_model(), sizes.d_model());
    let Block {
        head,
        first_query,
        queries,
        first_key,
        keys,
    } = block;
    let q = View::rows(&qkv[first_query * width + head * sizes.d_head..], width);
    let k = View::rows(&qkv[first_key * width + d_model + head * sizes.d_head..], width).transposed();
    product(
        (queries, keys, sizes.d_head),
        sizes.score_scale,
        q,
        k,
        scores,
        keys,
        Into::Replace,
    );
    for (offset, row) in scores.chunks_exact_mut(keys).take(queries).enumerate() {
        let query = first_query + offset;
        let visible = (query + 1).saturating_sub(first_key).min(keys);
        row[visible..].fill(MASKED);
        if let Some(bias) = bias {
            let bias = &bias[head * sizes.length..(head + 1) * sizes.length];
            // Key first_key + c stands query − first_key − c behind: the bias runs backwards.
            let nearest = query + 1 - first_key.min(query + 1) - visible;
            for (score, bias) in row[..visible]
                .iter_mut()
                .zip(bias[nearest..nearest + visible].iter().rev())
            {
                *score += bias;
            }
        }
    }
}

/// `out[rows][d_model]`, the weighted sums of the values, and `log_sum_exp[rows][H]` of the scores, which
/// the captures and the backward pass start from. `qkv` is `[rows][3 · d_model]`, `bias` is `[H][T]`.
pub fn attention(qkv: &[f32], bias: Option<&[f32]>, sizes: &Sizes, out: &mut [f32], log_sum_exp: &mut [f32]) {
    let (length, heads) = (sizes.length, sizes.heads);
    let (width, d_model) = (3 * sizes.d_model(), sizes.d_model());
    // A piece of work is a block of queries; windows are cut apart first, as their last block may be short.
    let blocks = length.div_ceil(QUERIES);
    let mut rows: Vec<(&mut [f32], &mut [f32])> = Vec::with_capacity(sizes.windows * blocks);
    for (out, lse) in out
        .chunks_exact_mut(length * d_model)
        .zip(log_sum_exp.chunks_exact_mut(length * heads))
    {
        rows.extend(
            out.chunks_mut(QUERIES * d_model)
                .zip(lse.chunks_mut(QUERIES * heads)),
        );
    }
    let mut unused = vec![(); rows.len()];
    pieces2((&mut rows, 1), (&mut unused, 1), |index, piece, _| {
        let (window, first_query) = (index / blocks, index % blocks * QUERIES);
        let qkv = &qkv[window * length * width..(window + 1) * length * width];
        for (out, lse) in piece {
            let queries = lse.len() / heads;
            for head in 0..heads {
                attend(
                    qkv,
                    bias,
                    sizes,
                    head,
                    first_query,
                    &mut out[head * sizes.d_head..],
                    &mut lse[head..],
                    queries,
                );
            }
        }
    });
}

/// One head of one block of queries; rows of `out` begin `d_model` apart, those of `lse` H apart.
#[allow(clippy::too_many_arguments)]
fn attend(
    qkv: &[f32],
    bias: Option<&[f32]>,
    sizes: &Sizes,
    head: usize,
    first_query: usize,
    out: &mut [f32],
    lse: &mut [f32],
    queries: usize,
) {
    let (width, d_model, d_head) = (3 * sizes.d_model(), sizes.d_model(), sizes.d_head);
    let mut scores = [0.0; QUERIES * KEYS];
    let mut largest = [MASKED; QUERIES];
    let mut sums = [0.0; QUERIES];
    for query in 0..queries {
        out[query * d_model..query * d_model + d_head].fill(0.0);
    }
    for first_key in (0..first_query + queries).step_by(KEYS) {
        let keys = KEYS.min(first_query + queries - first_key);
        let block = Block {
            head,
            first_query,
            queries,
            first_key,
            keys,
        };
        score_block(qkv, bias, sizes, block, &mut scores);
        for (query, row) in scores.chunks_exact_mut(keys).take(queries).enumerate() {
            // Masked keys come last: only the visible ones are looked at.
            let visible = (first_query + query + 1).saturating_sub(first_key).min(keys);
            let most = exp::largest(&row[..visible], largest[query]);
            let shrink = exp::exp(largest[query] - most);
            largest[query] = most;
            sums[query] = sums[query] * shrink + exp::exp_all(&mut row[..visible], most);
            row[visible..].fill(0.0);
            if first_key > 0 {
                for value in &mut out[query * d_model..query * d_model + d_head] {
                    *value *= shrink;
                }
            }
        }
        let v = View::rows(&qkv[first_key * width + 2 * d_model + head * d_head..], width);
        product(
            (queries, d_head, keys),
            1.0,
            View::rows(&scores, keys),
            v,
            out,
            d_model,
            Into::Add,
        );
    }
    for query in 0..queries {
        for value in &mut out[query * d_model..query * d_model + d_head] {
            *value /= sums[query];
        }
        lse[query * sizes.heads] = largest[query] + sums[query].ln();
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Repeatable numbers in −1 … 1.
    pub fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(747_796_405) | 1;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// Attention probabilities `[T][T]` of a head of a window, in f64, with the softmax written out.
    pub fn probabilities(
        qkv: &[f32],
        bias: Option<&[f32]>,
        sizes: &Sizes,
        window: usize,
        head: usize,
    ) -> Vec<f64> {
        let (t, d, dh) = (sizes.length, sizes.d_model(), sizes.d_head);
        let at = |row: usize, part: usize, c: usize| {
            f64::from(qkv[((window * t + row) * 3 + part) * d + head * dh + c])
        };
        let mut all = vec![0.0; t * t];
        for i in 0..t {
            let scores: Vec<f64> = (0..=i)
                .map(|j| {
                    let dot: f64 = (0..dh).map(|c| at(i, 0, c) * at(j, 1, c)).sum();
                    f64::from(sizes.score_scale) * dot
                        + bias.map_or(0.0, |bias| f64::from(bias[head * t + i - j]))
                })
                .collect();
            let most = scores.iter().copied().fold(f64::MIN, f64::max);
            let sum: f64 = scores.iter().map(|s| (s - most).exp()).sum();
            for (j, score) in scores.iter().enumerate() {
                all[i * t + j] = (score - most).exp() / sum;
            }
        }
        all
    }

    #[test]
    fn equals_the_softmax_written_out() {
        for (windows, length, heads, d_head) in [
            (1, 1, 1, 1),
            (2, 17, 3, 8),
            (1, 64, 1, 24),
            (1, 129, 2, 5),
            (1, 300, 1, 64),
        ] {
            let sizes = Sizes {
                windows,
                length,
                heads,
                d_head,
                score_scale: 1.7 / (d_head as f32).sqrt(),
            };
            let qkv = numbers(sizes.rows() * 3 * sizes.d_model(), 5);
            let table: Vec<f32> = numbers(heads * length, 6).iter().map(|x| 3.0 * x).collect();
            for bias in [None, Some(&table[..])] {
                let mut out = vec![f32::NAN; sizes.rows() * sizes.d_model()];
                let mut lse = vec![f32::NAN; sizes.rows() * heads];
                attention(&qkv, bias, &sizes, &mut out, &mut lse);
                for window in 0..windows {
                    for head in 0..heads {
                        let p = probabilities(&qkv, bias, &sizes, window, head);
                        for i in 0..length {
                            for c in 0..d_head {
                                let value = |j: usize| {
                                    qkv[((window * length + j) * 3 + 2) * sizes.d_model() + head * d_head + c]
                                };
                                let exact: f64 =
                                    (0..=i).map(|j| p[i * length + j] * f64::from(value(j))).sum();
                                let got = out[(window * length + i) * sizes.d_model() + head * d_head + c];
                                assert!(
                                    (f64::from(got) - exact).abs() < 2e-6,
                                    "{length} {head} {i} {c}: {got} {exact}"
                                );
                            }
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn far_smaller_scores_do_not_break_the_sums() {
        // A slope this steep leaves every key but the nearest with a probability of zero.
        let sizes = Sizes {
            windows: 1,
            length: 200,
            heads: 1,
            d_head: 4,
            score_scale: 1.0,
        };
        let qkv = numbers(200 * 12, 8);
        let bias: Vec<f32> = (0..200).map(|n| -1000.0 * n as f32).collect();
        let (mut out, mut lse) = (vec![0.0; 800], vec![0.0; 200]);
        attention(&qkv, Some(&bias), &sizes, &mut out, &mut lse);
        for row in 0..200 {
            for c in 0..4 {
                assert_eq!(out[row * 4 + c], qkv[row * 12 + 8 + c]);
            }
        }
        assert!(lse.iter().all(|value| value.is_finite()));
    }
}
