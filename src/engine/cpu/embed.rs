//! Token embedding, with the input table of the encoding.

use super::parallel::{ROWS, pieces};

/// `out[windows · T][d] = embedding[token] · scale + input[t]`. `tokens` are `[windows · T]`,
/// `embedding` is `[V][d]`, `input` is `[T][d]`.
pub fn embed(
    tokens: &[u32],
    embedding: &[f32],
    scale: f32,
    input: Option<&[f32]>,
    out: &mut [f32],
    d: usize,
) {
    pieces(out, ROWS * d, |index, out| {
        for (offset, out) in out.chunks_exact_mut(d).enumerate() {
            let row = index * ROWS + offset;
            let token = tokens[row] as usize;
            for (out, value) in out.iter_mut().zip(&embedding[token * d..(token + 1) * d]) {
                *out = value * scale;
            }
            if let Some(input) = input {
                let position = row % (input.len() / d);
                for (out, value) in out.iter_mut().zip(&input[position * d..]) {
                    *out += value;
                }
            }
        }
    });
}

/// Adds the gradients: `dembedding[V][d]` of the embedding, and `dinput[T][d]` of the input table.
pub fn embed_backward(
    tokens: &[u32],
    dout: &[f32],
    scale: f32,
    dembedding: &mut [f32],
    dinput: Option<&mut [f32]>,
    d: usize,
) {
    for (&token, dout) in tokens.iter().zip(dout.chunks_exact(d)) {
        let token = token as usize;
        for (sum, value) in dembedding[token * d..(token + 1) * d].iter_mut().zip(dout) {
            *sum += value * scale;
        }
    }
    if let Some(dinput) = dinput {
        for window in dout.chunks_exact(dinput.len()) {
            for (sum, value) in dinput.iter_mut().zip(window) {
                *sum += value;
            }
        }
    }
}
