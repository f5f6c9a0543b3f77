//! The backward pass of [`attention`](super::attention::attention) without far keys, which are for inference.

use super::attention::Sizes;
use super::exp::exp_all;
use super::parallel::{add_partials, pieces2};
use super::product::{Into, View, product};
use super::scores::{Block, Inputs, score_block};

/// What the forward pass left behind.
#[derive(Clone, Copy)]
pub struct Saved<'a> {
    /// `[rows][3 · d_model]`, turned if the encoding turns.
    pub qkv: &'a [f32],
    /// `[H][T]`
    pub bias: Option<&'a [f32]>,
    /// `[rows][d_model]`
    pub out: &'a [f32],
    /// `[rows][H]`
    pub log_sum_exp: &'a [f32],
}

/// Writes the gradient for q, k and v to `dqkv[rows][3 · d_model]` and adds that of the bias table to
/// `dbias[H][T]`. The probabilities are computed anew from the log-sum-exp, one head of one window at a
/// time: memory grows with T² here, which training on short windows can afford.
pub fn attention_backward(
    saved: &Saved,
    sizes: &Sizes,
    dout: &[f32],
    dqkv: &mut [f32],
    dbias: Option<&mut [f32]>,
) {
    let (length, d_model) = (sizes.length, sizes.d_model());
    let table = sizes.heads * length;
    let mut partials = vec![Vec::new(); sizes.windows];
    let wants_bias = dbias.is_some();
    pieces2(
        (dqkv, length * 3 * d_model),
        (&mut partials, 1),
        |window, dqkv, partial| {
            let rows = |data: &'_ [f32], width: usize| {
                window * length * width..(window * length * width + length * width).min(data.len())
            };
            let saved = Saved {
                qkv: &saved.qkv[rows(saved.qkv, 3 * d_model)],
                out: &saved.out[rows(saved.out, d_model)],
                log_sum_exp: &saved.log_sum_exp[rows(saved.log_sum_exp, sizes.heads)],
                ..*saved
            };
            let dout = &dout[rows(dout, d_model)];
            let mut dbias = vec![0.0; if wants_bias { table } else { 0 }];
            let mut scratch = Scratch {
                p: vec![0.0; length * length],
                ds: vec![0.0; length * length],
            };
            for head in 0..sizes.heads {
                let dbias = wants_bias.then(|| &mut dbias[head * length..(head + 1) * length]);
                one_head(&saved, sizes, head, dout, dqkv, dbias, &mut scratch);
            }
            partial[0] = dbias;
        },
    );
    if let Some(dbias) = dbias {
        add_partials(dbias, &partials);
    }
}

struct Scratch {
    /// Probabilities, `[T][T]`.
    p: Vec<f32>,
    /// Gradients of the scores, `[T][T]`.
    ds: Vec<f32>,
}

/// One head of one window; all slices are that window's.
fn one_head(
    saved: &Saved,
    sizes: &Sizes,
    head: usize,
    dout: &[f32],
    dqkv: &mut [f32],
    dbias: Option<&mut [f32]>,
    scratch: &mut Scratch,
) {
    let (t, d_head, d_model) = (sizes.length, sizes.d_head, sizes.d_model());
    let (width, at) = (3 * d_model, head * d_head);
    let Scratch { p, ds } = scratch;
    score_block(
        &Inputs {
            qkv: saved.qkv,
            bias: saved.bias,
            far: None,
        },
        sizes,
        Block {
            head,
            first_query: 0,
            queries: t,
            first_key: 0,
            keys: t,
        },
        p,
    );
    for (query, row) in p.chunks_exact_mut(t).enumerate() {
        let lse = saved.log_sum_exp[query * sizes.heads + head];
        exp_all(&mut row[..=query], lse);
        row[query + 1..].fill(0.0);
    }
    let dout_head = View::rows(&dout[at..], d_model);
    let v = View::rows(&saved.qkv[2 * d_model + at..], width);
    product(
        (t, t, d_head),
        1.0,
        dout_head,
        v.transposed(),
        ds,
        t,
        Into::Replace,
    );
    for query in 0..t {
        let start = query * d_model + at;
        let mean: f32 = dout[start..start + d_head]
            .iter()
            .zip(&saved.out[start..])
            .map(|(a, b)| a * b)
            .sum();
        let row = query * t..(query + 1) * t;
        for (ds, p) in ds[row.clone()].iter_mut().zip(&p[row]) {
            *ds = p * (*ds - mean);
        }
    }
    if let Some(dbias) = dbias {
        for query in 0..t {
            for (sum, value) in dbias[..=query]
                .iter_mut()
                .zip(ds[query * t..query * t + query + 1].iter().rev())
            {
                *sum += value;
            }
        }
    }
    let (p, ds) = (View::rows(p, t), View::rows(ds, t));
    let q = View::rows(&saved.qkv[at..], width);
    let k = View::rows(&saved.qkv[d_model + at..], width);
    let sizes_of = (t, d_head, t);
    product(
        sizes_of,
        sizes.score_scale,
        ds,
        k,
        &mut dqkv[at..],
        width,
        Into::Replace,
    );
    product(
        sizes_of,
        sizes.score_scale,
        ds.transposed(),
        q,
        &mut dqkv[d_model + at..],
        width,
        Into::Replace,
    );
    product(
        sizes_of,
        1.0,
        p.transposed(),
        dout_head,
        &mut dqkv[2 * d_model + at..],
        width,
        Into::Replace,
    );
}
