//! Causal attention with an online softmax (Milakov & Gimelshein 2018, arXiv 1805.02867; Dao et al.
//! 2022, arXiv 2205.14135): memory grows with T, not with T².

use super::attention_tiles::{self, Packed, Scratch};
use super::exp;
use super::parallel::pieces2;
use super::product::{Into, View, product};
use super::scores::{Block, Inputs, MASKED, Row, score_block};

/// Queries that share a block of scores.
pub const QUERIES: usize = 64;
/// Keys in a block of scores.
pub const KEYS: usize = 128;
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

/// `out[rows][d_model]`, the weighted sums of the values, and `log_sum_exp[rows][H]` of the scores, which
/// the captures and the backward pass start from.
pub fn attention(inputs: &Inputs, sizes: &Sizes, out: &mut [f32], log_sum_exp: &mut [f32]) {
    attention_from(0, inputs, sizes, out, log_sum_exp);
}

/// The same for the queries from position `first` on; what is written of those before is not defined.
pub fn attention_from(
    first: usize,
    inputs: &Inputs,
    sizes: &Sizes,
    out: &mut [f32],
    log_sum_exp: &mut [f32],
) {
    let (length, heads) = (sizes.length, sizes.heads);
    let d_model = sizes.d_model();
    // Far keys are scored block by block; where there are none, four queries at a time.
    let biases = inputs
        .far
        .is_none()
        .then(|| attention_tiles::biases(inputs.bias, sizes));
    pieces2(
        (out, length * d_model),
        (log_sum_exp, length * heads),
        |window, out, lse| {
            let inputs = inputs.window(sizes, window);
            let tiles = biases
                .as_ref()
                .map(|biases| (biases, Packed::new(inputs.qkv, sizes)));
            let (out, lse) = ((out, QUERIES * d_model), (lse, QUERIES * heads));
            pieces2(out, lse, |block, out, lse| {
                let first_query = block * QUERIES;
                if first_query + QUERIES <= first {
                    return;
                }
                let rows = first_query..length.min(first_query + QUERIES);
                let qkv = &inputs.qkv[rows.start * 3 * d_model..rows.end * 3 * d_model];
                let mut scratch = tiles.as_ref().map(|_| Scratch::new(sizes));
                for head in 0..heads {
                    let (out, lse) = (&mut out[head * sizes.d_head..], &mut lse[head..]);
                    match (&tiles, &mut scratch) {
                        (Some((biases, packed)), Some(scratch)) => {
                            scratch.attend(packed, biases, sizes, head, (qkv, first_query), out, lse);
                        }
                        _ => attend(&inputs, sizes, head, first_query, out, lse),
                    }
                }
            });
        },
    );
}

/// One head of one block of queries; rows of `out` begin `d_model` apart, those of `lse` H apart.
fn attend(inputs: &Inputs, sizes: &Sizes, head: usize, first_query: usize, out: &mut [f32], lse: &mut [f32]) {
    let queries = lse.len().div_ceil(sizes.heads);
    let (width, d_model, d_head) = (3 * sizes.d_model(), sizes.d_model(), sizes.d_head);
    let mut scores = [0.0; QUERIES * KEYS];
    let mut largest = [MASKED; QUERIES];
    let mut sums = [0.0; QUERIES];
    for query in 0..queries {
        out[query * d_model..query * d_model + d_head].fill(0.0);
    }
    for (first_key, keys) in inputs.key_blocks(first_query, queries) {
        let block = Block {
            head,
            first_query,
            queries,
            first_key,
            keys,
        };
        score_block(inputs, sizes, block, &mut scores);
        for (query, row) in scores.chunks_exact_mut(keys).take(queries).enumerate() {
            // Keys after the query come last: they are not looked at.
            let Row { seen, near, visible } = inputs.row(first_query + query, first_key, keys);
            let most = exp::largest(&row[..visible], largest[query]);
            let shrink = exp::exp(largest[query] - most);
            largest[query] = most;
            sums[query] = sums[query] * shrink + exp::exp_all(&mut row[..visible], most);
            row[seen..near].fill(0.0);
            row[visible..].fill(0.0);
            if first_key > 0 {
                for value in &mut out[query * d_model..query * d_model + d_head] {
                    *value *= shrink;
                }
            }
        }
        let v = View::rows(
            &inputs.qkv[first_key * width + 2 * d_model + head * d_head..],
            width,
        );
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
    use super::super::scores::FarInputs;
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

    /// No far keys, windows, windows with sinks, and far keys that are turned otherwise, of a short length
    /// and a longer one; `qk` is `[rows][2 · d_model]`.
    pub fn fars(qk: &[f32]) -> Vec<Option<FarInputs<'_>>> {
        let far = |from, keys, last, qk| Some(FarInputs { from, keys, last, qk });
        vec![
            None,
            far(1, 0, usize::MAX, None),
            far(7, 0, 6, None),
            far(7, 3, 9, None),
            far(7, 3, 9, Some(qk)),
            far(40, 150, 160, Some(qk)),
            far(100, 2, 101, Some(qk)),
            far(9, usize::MAX, usize::MAX, Some(qk)),
            far(150, usize::MAX, usize::MAX, Some(qk)),
            far(1_000_000, 4, 1_000_003, Some(qk)),
        ]
    }

    /// Attention probabilities `[T][T]` of a head of a window, in f64, with the softmax written out.
    pub fn probabilities(inputs: &Inputs, sizes: &Sizes, window: usize, head: usize) -> Vec<f64> {
        let (t, d, dh) = (sizes.length, sizes.d_model(), sizes.d_head);
        let dot = |values: &[f32], parts: usize, i: usize, j: usize| -> f64 {
            let at = |row: usize, part: usize, c: usize| {
                f64::from(values[((window * t + row) * parts + part) * d + head * dh + c])
            };
            (0..dh).map(|c| at(i, 0, c) * at(j, 1, c)).sum()
        };
        let score = |i: usize, j: usize| {
            let far = inputs.far.filter(|far| i - j >= far.from);
            let (product, distance) = match far {
                None => (dot(inputs.qkv, 3, i, j), i - j),
                Some(far) if j >= far.keys => return f64::NEG_INFINITY,
                Some(far) => {
                    let product = far
                        .qk
                        .map_or_else(|| dot(inputs.qkv, 3, i, j), |qk| dot(qk, 2, i, j));
                    (product, i.min(far.last).saturating_sub(j))
                }
            };
            let bias = inputs
                .bias
                .map_or(0.0, |bias| f64::from(bias[head * t + distance]));
            f64::from(sizes.score_scale) * product + bias
        };
        let mut all = vec![0.0; t * t];
        for i in 0..t {
            let scores: Vec<f64> = (0..=i).map(|j| score(i, j)).collect();
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
            (2, 129, 2, 5),
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
            let far_qk = numbers(sizes.rows() * 2 * sizes.d_model(), 7);
            let table: Vec<f32> = numbers(heads * length, 6).iter().map(|x| 3.0 * x).collect();
            for (bias, far) in [None, Some(&table[..])]
                .into_iter()
                .flat_map(|bias| fars(&far_qk).into_iter().map(move |far| (bias, far)))
            {
                let inputs = Inputs { qkv: &qkv, bias, far };
                let mut out = vec![f32::NAN; sizes.rows() * sizes.d_model()];
                let mut lse = vec![f32::NAN; sizes.rows() * heads];
                attention(&inputs, &sizes, &mut out, &mut lse);
                for (window, head) in (0..windows).flat_map(|w| (0..heads).map(move |h| (w, h))) {
                    let p = probabilities(&inputs, &sizes, window, head);
                    for (i, c) in (0..length).flat_map(|i| (0..d_head).map(move |c| (i, c))) {
                        let value = |j: usize| {
                            qkv[((window * length + j) * 3 + 2) * sizes.d_model() + head * d_head + c]
                        };
                        let exact: f64 = (0..=i).map(|j| p[i * length + j] * f64::from(value(j))).sum();
                        let got = out[(window * length + i) * sizes.d_model() + head * d_head + c];
                        assert!(
                            (f64::from(got) - exact).abs() < 2e-6,
                            "{length} {head} {i} {c}: {got} {exact}; {:?}",
                            far.map(|far| (far.from, far.keys, far.last, far.qk.is_some()))
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn four_queries_at_a_time_equal_blocks_of_products() {
        for (length, heads, d_head) in [(1, 1, 8), (17, 2, 64), (333, 1, 24), (333, 3, 20), (4097, 1, 8)] {
            let sizes = Sizes {
                windows: 1,
                length,
                heads,
                d_head,
                score_scale: 2.0 / (d_head as f32).sqrt(),
            };
            let qkv = numbers(length * 3 * sizes.d_model(), 9);
            // The second bias leaves out most of the blocks of keys.
            let bias = numbers(heads * length, 10).into_iter().map(|x| 4.0 * x);
            let steep = (0..heads * length).map(|at| -0.7 * (at % length) as f32);
            for bias in [bias.collect::<Vec<f32>>(), steep.collect()] {
                let run = |far| {
                    let bias = Some(&bias[..]);
                    let inputs = Inputs { qkv: &qkv, bias, far };
                    let (mut out, mut lse) = (vec![0.0; length * sizes.d_model()], vec![0.0; length * heads]);
                    attention(&inputs, &sizes, &mut out, &mut lse);
                    [out, lse]
                };
                // Far keys from a distance on that no window has: the general way, which changes nothing here.
                let nowhere = FarInputs {
                    from: usize::MAX,
                    keys: 0,
                    last: usize::MAX,
                    qk: None,
                };
                for (tiles, blocks) in run(None).iter().zip(run(Some(nowhere))) {
                    for (a, b) in tiles.iter().zip(blocks) {
                        assert!((a - b).abs() < 4e-6, "{length}, {heads} × {d_head}: {a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn blocks_of_hidden_keys_are_not_looked_at() {
        let looked_at = |from, keys| {
            let far = FarInputs {
                from,
                keys,
                last: usize::MAX,
                qk: None,
            };
            let inputs = Inputs {
                qkv: &[],
                bias: None,
                far: Some(far),
            };
            inputs.key_blocks(960, QUERIES).collect::<Vec<_>>()
        };
        assert_eq!(looked_at(64, 0), [(897, 127)]);
        assert_eq!(looked_at(256, 4), [(0, 4), (705, 128), (833, 128), (961, 63)]);
        let all: usize = looked_at(64, usize::MAX).iter().map(|(_, keys)| keys).sum();
        assert_eq!(all, 1024);
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
        let inputs = Inputs {
            qkv: &qkv,
            bias: Some(&bias),
            far: None,
        };
        attention(&inputs, &sizes, &mut out, &mut lse);
        for row in 0..200 {
            for c in 0..4 {
                assert_eq!(out[row * 4 + c], qkv[row * 12 + 8 + c]);
            }
        }
        assert!(lse.iter().all(|value| value.is_finite()));
    }
}
