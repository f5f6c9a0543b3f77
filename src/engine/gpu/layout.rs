//! How numbers lie in the GPU's buffers: every row of a vector, and every head in it, is padded with zeros to
//! whole vectors of four, which are what the kernels read and write.

use crate::engine::cpu::attention::Sizes;

/// Stands for minus infinity in the bias of logits that no token has.
const NEVER: f32 = -1e30;

/// Vectors of four that hold so many values.
pub fn vectors(width: usize) -> usize {
    width.div_ceil(4)
}

/// Values in a row of so many, with its padding.
pub fn padded(width: usize) -> usize {
    4 * vectors(width)
}

/// An attention layer's sizes with heads padded.
pub fn padded_sizes(sizes: &Sizes) -> Sizes {
    Sizes {
        d_head: padded(sizes.d_head),
        ..*sizes
    }
}

/// Rows of `width` values, each padded with zeros.
pub fn widened(values: &[f32], width: usize) -> Vec<f32> {
    let mut wide = vec![0.0; values.len() / width * padded(width)];
    for (to, from) in wide
        .chunks_exact_mut(padded(width))
        .zip(values.chunks_exact(width))
    {
        to[..width].copy_from_slice(from);
    }
    wide
}

/// The rows of `width` values without their padding.
pub fn narrowed(values: &[f32], width: usize) -> Vec<f32> {
    let rows = values.chunks_exact(padded(width));
    rows.flat_map(|row| &row[..width]).copied().collect()
}

/// A weight `[outputs][inputs]` in blocks of 4 × 4, `[inputs / 4][outputs / 4][4 inputs][4 outputs]`, as the
/// linear kernels read it. Inputs and outputs consist of rows of so many values (heads, or all), each padded.
pub fn blocks(weight: &[f32], inputs: usize, in_width: usize, out_width: usize) -> Vec<f32> {
    let outputs = weight.len() / inputs;
    let place = |index: usize, width: usize| index / width * padded(width) + index % width;
    let panels = vectors(place(outputs - 1, out_width) + 1);
    let mut data = vec![0.0; vectors(place(inputs - 1, in_width) + 1) * panels * 16];
    for (output, row) in weight.chunks_exact(inputs).enumerate() {
        let to = place(output, out_width);
        for (input, value) in row.iter().enumerate() {
            let from = place(input, in_width);
            data[(from / 4 * panels + to / 4) * 16 + from % 4 * 4 + to % 4] = *value;
        }
    }
    data
}

/// The bias of logits: nothing for tokens, and for what pads them as good as minus infinity.
pub fn logit_bias(vocabulary: usize) -> Vec<f32> {
    let mut bias = vec![0.0; vocabulary];
    bias.resize(padded(vocabulary), NEVER);
    bias
}
