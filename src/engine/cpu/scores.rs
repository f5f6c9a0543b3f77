//! The scores of blocks of queries and keys, near, far and hidden: what attention, its captures and its
//! backward pass have in common.

use super::attention::{KEYS, QUERIES, Sizes};
use super::product::{Into, View, product};

/// Stands for minus infinity: e to it is 0, and it can be subtracted from itself.
pub const MASKED: f32 = -1e30;

/// What the scores of an attention layer are made from.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// `[rows][3 · d_model]`, turned if the encoding turns.
    pub qkv: &'a [f32],
    /// `[H][T]`, by distance.
    pub bias: Option<&'a [f32]>,
    pub far: Option<FarInputs<'a>>,
}

/// What becomes of keys far before the query, as in [`Far`](crate::encoding::Far).
#[derive(Clone, Copy, Debug)]
pub struct FarInputs<'a> {
    pub from: usize,
    pub keys: usize,
    pub last: usize,
    /// Queries and keys turned as far ones are, `[rows][2 · d_model]`; those in qkv where there are none.
    pub qk: Option<&'a [f32]>,
}

impl Inputs<'_> {
    /// Those of one window.
    pub(super) fn window(&self, sizes: &Sizes, window: usize) -> Self {
        let rows = |values: usize| window * sizes.length * values..(window + 1) * sizes.length * values;
        Self {
            qkv: &self.qkv[rows(3 * sizes.d_model())],
            bias: self.bias,
            far: self.far.map(|far| FarInputs {
                qk: far.qk.map(|qk| &qk[rows(2 * sizes.d_model())]),
                ..far
            }),
        }
    }

    /// The kinds of the keys `first_key ..` for a query.
    pub(super) fn row(&self, query: usize, first_key: usize, keys: usize) -> Row {
        let visible = (query + 1).saturating_sub(first_key).min(keys);
        let Some(far) = &self.far else {
            return Row {
                seen: 0,
                near: 0,
                visible,
            };
        };
        let near = (query + 1).saturating_sub(far.from).saturating_sub(first_key);
        let near = near.min(visible);
        Row {
            seen: far.keys.saturating_sub(first_key).min(near),
            near,
            visible,
        }
    }

    /// The keys that a block of queries looks at, as (first, count) of at most [`KEYS`]: first those that are
    /// far to all of its queries, as many as are seen at all, then the others.
    pub(super) fn key_blocks(
        &self,
        first_query: usize,
        queries: usize,
    ) -> impl Iterator<Item = (usize, usize)> + use<> {
        let end = first_query + queries;
        let near = self
            .far
            .map_or(0, |far| (first_query + 1).saturating_sub(far.from));
        let seen = self.far.map_or(0, |far| far.keys.min(near));
        [(0, seen), (near, end)].into_iter().flat_map(|(first, end)| {
            let blocks = (first..end).step_by(KEYS);
            blocks.map(move |key| (key, KEYS.min(end - key)))
        })
    }
}

/// The kinds of keys in a row of a block, in the order in which they stand: far ones that are seen up to
/// `seen`, hidden ones up to `near`, near ones up to `visible`, and those after the query.
pub(super) struct Row {
    pub seen: usize,
    pub near: usize,
    pub visible: usize,
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
/// query or hidden. `inputs` are those of one window; rows of `scores` begin `block.keys` apart.
pub(super) fn score_block(inputs: &Inputs, sizes: &Sizes, block: Block, scores: &mut [f32]) {
    let Block {
        first_query,
        queries,
        first_key,
        keys,
        ..
    } = block;
    let bias = inputs
        .bias
        .map(|bias| &bias[block.head * sizes.length..(block.head + 1) * sizes.length]);
    let is_near = |far: &FarInputs| first_query < (first_key + keys - 1).saturating_add(far.from);
    let is_far =
        |far: &FarInputs| first_query + queries > first_key.saturating_add(far.from) && first_key < far.keys;
    match inputs.far.filter(is_far).and_then(|far| Some((far, far.qk?))) {
        None => multiply(inputs.qkv, 3, sizes, block, scores),
        Some((far, qk)) => {
            multiply(qk, 2, sizes, block, scores);
            if is_near(&far) {
                let mut near_scores = [0.0; QUERIES * KEYS];
                multiply(inputs.qkv, 3, sizes, block, &mut near_scores);
                for offset in 0..queries {
                    let Row { near, visible, .. } = inputs.row(first_query + offset, first_key, keys);
                    let near = offset * keys + near..offset * keys + visible;
                    scores[near.clone()].copy_from_slice(&near_scores[near]);
                }
            }
        }
    }
    let last = inputs.far.map_or(usize::MAX, |far| far.last);
    for (offset, row) in scores.chunks_exact_mut(keys).take(queries).enumerate() {
        let query = first_query + offset;
        let Row { seen, near, visible } = inputs.row(query, first_key, keys);
        row[seen..near].fill(MASKED);
        row[visible..].fill(MASKED);
        add_bias(bias, query.min(last), first_key, &mut row[..seen]);
        add_bias(bias, query, first_key + near, &mut row[near..visible]);
    }
}

/// The products of a block, from rows of `parts` times d_model values that begin with q and k.
fn multiply(qk: &[f32], parts: usize, sizes: &Sizes, block: Block, out: &mut [f32]) {
    let (width, at) = (parts * sizes.d_model(), block.head * sizes.d_head);
    let q = View::rows(&qk[block.first_query * width + at..], width);
    let k = View::rows(&qk[block.first_key * width + sizes.d_model() + at..], width).transposed();
    product(
        (block.queries, block.keys, sizes.d_head),
        sizes.score_scale,
        q,
        k,
        out,
        block.keys,
        Into::Replace,
    );
}

/// Adds a head's `bias[T]` to the scores of the keys from `first_key` on, for a query at `position`.
fn add_bias(bias: Option<&[f32]>, position: usize, first_key: usize, scores: &mut [f32]) {
    let (Some(bias), Some(last)) = (bias, scores.len().checked_sub(1)) else {
        return;
    };
    // Key first_key + c stands position − first_key − c behind: the bias runs backwards.
    let nearest = position.saturating_sub(first_key + last);
    for (score, bias) in scores.iter_mut().zip(bias[nearest..=nearest + last].iter().rev()) {
        *score += bias;
    }
}
