//! Attention without far keys, by [tiles](super::tiles): four queries at a time. Keys and values of a head are
//! packed once a window; the scores' sums begin at the bias, whose table is padded so that keys after the
//! query are masked; and exponentials are powers of two, their factor being in the queries and the bias. The
//! nearest keys come first, so that farther ones whose weights a steep bias makes nothing can be left out.

use super::attention::{KEYS, QUERIES, Sizes};
use super::exp;
use super::lanes::{F32x4, LANES};
use super::scores::MASKED;
use super::tiles::{COLUMNS, ROWS, Sums, halves, tile};
use std::f32::consts::{LN_2, LOG2_E};

/// Keys that a tile can see past its first query.
const PAST: usize = ROWS + COLUMNS;

/// The biases of every head, turned round, `[H][T + PAST]`: that of a query and a key at distance n stands at
/// T − 1 − n, and keys after the query follow. In powers of two.
pub fn biases(bias: Option<&[f32]>, sizes: &Sizes) -> Vec<f32> {
    let length = sizes.length;
    let mut all = vec![0.0; sizes.heads * (length + PAST)];
    for (head, row) in all.chunks_exact_mut(length + PAST).enumerate() {
        let (visible, hidden) = row.split_at_mut(length);
        if let Some(bias) = bias {
            let bias = &bias[head * length..(head + 1) * length];
            for (value, bias) in visible.iter_mut().zip(bias.iter().rev()) {
                *value = bias * LOG2_E;
            }
        }
        hidden.fill(MASKED);
    }
    all
}

/// The keys and values of a window's heads as the tiles take them.
pub struct Packed {
    /// `[H][⌈T / 8⌉][d_head][8]`: panels of 8 keys.
    keys: Vec<f32>,
    /// `[H][⌈d_head / 8⌉][T][8]`, T being rounded up to 8: panels of 8 dimensions.
    values: Vec<f32>,
    /// `[H][⌈T / KEYS⌉]`: the length of the longest key of each block.
    longest: Vec<f32>,
}

/// T in whole panels.
fn padded(sizes: &Sizes) -> usize {
    sizes.length.next_multiple_of(COLUMNS)
}

/// Panels that hold the dimensions of a head.
fn panels(sizes: &Sizes) -> usize {
    sizes.d_head.div_ceil(COLUMNS)
}

impl Packed {
    /// From `qkv[T][3 · d_model]` of a window.
    pub fn new(qkv: &[f32], sizes: &Sizes) -> Self {
        let (d_model, d_head, padded) = (sizes.d_model(), sizes.d_head, padded(sizes));
        let mut keys = vec![0.0; sizes.heads * padded * d_head];
        let mut values = vec![0.0; sizes.heads * panels(sizes) * padded * COLUMNS];
        let blocks = sizes.length.div_ceil(KEYS);
        let mut longest = vec![0.0_f32; sizes.heads * blocks];
        for (row, qkv) in qkv.chunks_exact(3 * d_model).enumerate() {
            let (panel, column) = (row / COLUMNS, row % COLUMNS);
            let heads = qkv[d_model..2 * d_model].chunks_exact(d_head);
            for (head, key) in heads.enumerate() {
                let at = head * padded * d_head + panel * COLUMNS * d_head + column;
                for (slot, value) in keys[at..].iter_mut().step_by(COLUMNS).zip(key) {
                    *slot = *value;
                }
                let longest = &mut longest[head * blocks + row / KEYS];
                *longest = longest.max(norm(key));
            }
            let heads = qkv[2 * d_model..].chunks_exact(d_head);
            for (head, value) in heads.enumerate() {
                for (part, value) in value.chunks(COLUMNS).enumerate() {
                    let at = ((head * panels(sizes) + part) * padded + row) * COLUMNS;
                    values[at..at + value.len()].copy_from_slice(value);
                }
            }
        }
        Self {
            keys,
            values,
            longest,
        }
    }

    /// A head's panels of keys, its values, and the lengths of its longest keys.
    fn head(&self, sizes: &Sizes, head: usize) -> [&[f32]; 3] {
        let keys = padded(sizes) * sizes.d_head;
        let values = panels(sizes) * padded(sizes) * COLUMNS;
        let blocks = sizes.length.div_ceil(KEYS);
        [
            (&self.keys, keys),
            (&self.values, values),
            (&self.longest, blocks),
        ]
        .map(|(all, count)| &all[head * count..(head + 1) * count])
    }
}

/// The length of a vector.
fn norm(vector: &[f32]) -> f32 {
    vector.iter().map(|value| value * value).sum::<f32>().sqrt()
}

/// What a block of queries needs, for all heads.
pub struct Scratch {
    /// `[QUERIES][d_head]`, scaled.
    queries: Vec<f32>,
    /// `[QUERIES][panels · 8]`
    sums: Vec<f32>,
    scores: [[f32; KEYS]; ROWS],
    /// The lengths of the queries.
    norms: [f32; QUERIES],
    largest: [f32; QUERIES],
    totals: [f32; QUERIES],
}

impl Scratch {
    pub fn new(sizes: &Sizes) -> Self {
        Self {
            queries: vec![0.0; QUERIES * sizes.d_head],
            sums: vec![0.0; QUERIES * panels(sizes) * COLUMNS],
            scores: [[0.0; KEYS]; ROWS],
            norms: [0.0; QUERIES],
            largest: [MASKED; QUERIES],
            totals: [0.0; QUERIES],
        }
    }

    /// One head of a block of queries of a window. Rows of `qkv` are the block's own; rows of `out` begin
    /// `d_model` values apart, those of `lse` H.
    #[allow(clippy::too_many_arguments)]
    pub fn attend(
        &mut self,
        packed: &Packed,
        biases: &[f32],
        sizes: &Sizes,
        head: usize,
        (qkv, first_query): (&[f32], usize),
        out: &mut [f32],
        lse: &mut [f32],
    ) {
        let (d_model, d_head) = (sizes.d_model(), sizes.d_head);
        let queries = qkv.len() / (3 * d_model);
        let scale = sizes.score_scale * LOG2_E;
        let rows = qkv.chunks_exact(3 * d_model);
        let into = self.queries.chunks_exact_mut(d_head).zip(&mut self.norms);
        for ((query, length), row) in into.zip(rows) {
            for (value, from) in query.iter_mut().zip(&row[head * d_head..]) {
                *value = from * scale;
            }
            *length = norm(query);
        }
        self.sums.fill(0.0);
        self.largest.fill(MASKED);
        self.totals.fill(0.0);
        let [keys, values, longest] = packed.head(sizes, head);
        let stride = sizes.length + PAST;
        let biases = &biases[head * stride..(head + 1) * stride];
        let end = first_query + queries;
        for (first_key, &longest) in (0..end).step_by(KEYS).zip(longest).rev() {
            for group in (0..queries).step_by(ROWS) {
                let last = (first_query + group + ROWS).min(end);
                if last <= first_key {
                    continue;
                }
                let seen = (last - first_key).div_ceil(COLUMNS).min(KEYS / COLUMNS);
                // The bias of each query and the first of these keys; past the last query its own is taken.
                let at = [0, 1, 2, 3].map(|row| {
                    let query = (first_query + group + row).min(sizes.length - 1);
                    &biases[sizes.length - 1 - query + first_key..]
                });
                if self.is_nothing(at, group, (longest, seen)) {
                    continue;
                }
                let largest = self.score(keys, at, sizes, group, (first_key, seen));
                self.weigh(values, sizes, group, (first_key, seen), largest);
            }
        }
        let width = panels(sizes) * COLUMNS;
        let rows = self.sums.chunks_exact(width).take(queries).enumerate();
        for (query, sums) in rows {
            let total = self.totals[query];
            let out = &mut out[query * d_model..query * d_model + d_head];
            for (out, sum) in out.iter_mut().zip(sums) {
                *out = sum / total;
            }
            lse[query * sizes.heads] = (self.largest[query] + total.log2()) * LN_2;
        }
    }

    /// Whether the weights of four queries and `seen` panels of keys, none longer than `longest`, are at most 2⁻¹⁰⁰
    /// beside those that are known, which is what the exponential gives for anything smaller: in a sum, nothing.
    fn is_nothing(&self, biases: [&[f32]; ROWS], group: usize, (longest, seen): (f32, usize)) -> bool {
        // One more, for what the product of the lengths is rounded by.
        const LEAST: f32 = -101.0;
        biases.iter().enumerate().all(|(row, biases)| {
            let query = group + row;
            let room = self.largest[query] + LEAST - self.norms[query] * longest;
            // Most biases are not steep enough; their nearest says so.
            biases[seen * COLUMNS - 1] < room && exp::largest(&biases[..seen * COLUMNS], MASKED) < room
        })
    }

    /// The scores of four queries and `seen` panels of keys, masked; gives the largest of each, over four lanes.
    #[inline(never)]
    fn score(
        &mut self,
        keys: &[f32],
        biases: [&[f32]; ROWS],
        sizes: &Sizes,
        group: usize,
        (first_key, seen): (usize, usize),
    ) -> [F32x4; ROWS] {
        let d_head = sizes.d_head;
        let rows = [0, 1, 2, 3].map(|row| {
            let at = (group + row) * d_head;
            &self.queries[at..at + d_head]
        });
        let panels = keys[first_key * d_head..].chunks_exact(COLUMNS * d_head);
        let mut largest = [F32x4::splat(MASKED); ROWS];
        for (index, panel) in panels.enumerate().take(seen) {
            let column = index * COLUMNS;
            let start: Sums = biases.map(|biases| {
                let fours = biases[column..column + COLUMNS].as_chunks::<LANES>().0;
                [F32x4::load(&fours[0]), F32x4::load(&fours[1])]
            });
            let scores = tile(rows, panel.as_chunks::<COLUMNS>().0, start);
            for ((row, scores), largest) in self.scores.iter_mut().zip(scores).zip(&mut largest) {
                *largest = largest.max(scores[0]).max(scores[1]);
                let fours = row[column..column + COLUMNS].as_chunks_mut::<LANES>().0;
                fours[0] = scores[0].to_array();
                fours[1] = scores[1].to_array();
            }
        }
        largest
    }

    /// Turns the scores of four queries into weights of a running softmax, and adds the values by them.
    #[inline(never)]
    fn weigh(
        &mut self,
        values: &[f32],
        sizes: &Sizes,
        group: usize,
        (first_key, seen): (usize, usize),
        largest: [F32x4; ROWS],
    ) {
        let seen = seen * COLUMNS;
        let mut shrink = [F32x4::splat(0.0); ROWS];
        for (row, scores) in self.scores.iter_mut().enumerate() {
            let (scores, query) = (&mut scores[..seen], group + row);
            let [a, b, c, d] = largest[row].to_array();
            let most = a.max(b).max(c.max(d)).max(self.largest[query]);
            let factor = exp::exp2(self.largest[query] - most);
            self.largest[query] = most;
            let total = exp::exp2_all(scores.as_chunks_mut::<LANES>().0, most);
            self.totals[query] = self.totals[query] * factor + total;
            shrink[row] = F32x4::splat(factor);
        }
        let rows = self.scores.each_ref().map(|row| &row[..seen]);
        let (parts, padded) = (panels(sizes), padded(sizes));
        for part in 0..parts {
            let at = (part * padded + first_key) * COLUMNS;
            let panel = values[at..at + seen * COLUMNS].as_chunks::<COLUMNS>().0;
            let lines = self.sums.as_chunks_mut::<COLUMNS>().0;
            let line = |row: usize| (group + row) * parts + part;
            let mut start = [[F32x4::splat(0.0); 2]; ROWS];
            for (row, start) in start.iter_mut().enumerate() {
                let (low, high) = halves(&lines[line(row)]);
                *start = [low * shrink[row], high * shrink[row]];
            }
            for (row, sums) in tile(rows, panel, start).into_iter().enumerate() {
                let fours = lines[line(row)].as_chunks_mut::<LANES>().0;
                fours[0] = sums[0].to_array();
                fours[1] = sums[1].to_array();
            }
        }
    }
}
