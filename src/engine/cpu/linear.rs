//! Linear layers.

use super::parallel::{ROWS, add_partials, map, pieces};
use super::product::{Into, View, product};

/// What is done to the outputs of a linear layer while they are at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// They replace what stood in the output.
    Store,
    /// They are added to it (the residual stream).
    Residual,
}

/// `out[rows][outputs] (+)= x[rows][inputs] · weight[outputs][inputs]ᵀ + bias[outputs]`.
pub fn linear(x: &[f32], weight: &[f32], bias: Option<&[f32]>, out: &mut [f32], inputs: usize, then: Then) {
    let outputs = weight.len() / inputs;
    let into = if then == Then::Residual {
        Into::Add
    } else {
        Into::Replace
    };
    pieces(out, ROWS * outputs, |index, out| {
        let rows = out.len() / outputs;
        let x = View::rows(&x[index * ROWS * inputs..], inputs);
        product(
            (rows, outputs, inputs),
            1.0,
            x,
            View::rows(weight, inputs).transposed(),
            out,
            outputs,
            into,
        );
        if let Some(bias) = bias {
            for row in out.chunks_exact_mut(outputs) {
                for (value, bias) in row.iter_mut().zip(bias) {
                    *value += bias;
                }
            }
        }
    });
}

/// The gradient for the input: `dx[rows][inputs] = dy[rows][outputs] · weight[outputs][inputs]`.
pub fn linear_backward_input(dy: &[f32], weight: &[f32], dx: &mut [f32], inputs: usize) {
    let outputs = weight.len() / inputs;
    pieces(dx, ROWS * inputs, |index, dx| {
        let rows = dx.len() / inputs;
        let dy = View::rows(&dy[index * ROWS * outputs..], outputs);
        product(
            (rows, inputs, outputs),
            1.0,
            dy,
            View::rows(weight, inputs),
            dx,
            inputs,
            Into::Replace,
        );
    });
}

/// The gradient for the weight: `dweight[outputs][inputs] += dy[rows][outputs]ᵀ · x[rows][inputs]`.
pub fn linear_backward_weight(x: &[f32], dy: &[f32], dweight: &mut [f32], inputs: usize) {
    let outputs = dweight.len() / inputs;
    let rows = x.len() / inputs;
    // Pieces of the outputs, not of the rows: each sum over rows stays in one place and one order.
    const OUTPUTS: usize = 48;
    pieces(dweight, OUTPUTS * inputs, |index, dweight| {
        let count = dweight.len() / inputs;
        let dy = View::rows(&dy[index * OUTPUTS..], outputs).transposed();
        product(
            (count, inputs, rows),
            1.0,
            dy,
            View::rows(x, inputs),
            dweight,
            inputs,
            Into::Add,
        );
    });
}

/// The gradient for the bias: `dbias[outputs] += Σ_rows dy[rows][outputs]`.
pub fn linear_backward_bias(dy: &[f32], dbias: &mut [f32]) {
    let outputs = dbias.len();
    let piece = ROWS * outputs;
    let partials = map(dy.len().div_ceil(piece), |index| {
        let mut sum = vec![0.0; outputs];
        for row in dy[index * piece..dy.len().min((index + 1) * piece)].chunks_exact(outputs) {
            for (sum, value) in sum.iter_mut().zip(row) {
                *sum += value;
            }
        }
        sum
    });
    add_partials(dbias, &partials);
}
