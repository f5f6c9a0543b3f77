//! Linear layers.

use super::parallel::{ROWS, add_partials, map, pieces};
use super::parameters::Linear;
use super::product::{Into, View, product};
use super::tiles::{by_panels, pack};

/// What is done to the outputs of a linear layer while they are at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// They replace what stood in the output.
    Store,
    /// They are added to it (the residual stream).
    Residual,
}

/// `out[rows][outputs] (+)= x[rows][inputs] · weight[outputs][inputs]ᵀ + bias[outputs]`.
pub fn linear(x: &[f32], layer: Linear, out: &mut [f32], inputs: usize, then: Then) {
    let outputs = layer.weight.len() / inputs;
    let into = if then == Then::Residual {
        Into::Add
    } else {
        Into::Replace
    };
    pieces(out, ROWS * outputs, |index, out| {
        let shape = (out.len() / outputs, outputs, inputs);
        let x = &x[index * ROWS * inputs..];
        if let Some(panels) = layer.panels {
            by_panels(shape, (x, inputs), panels, layer.bias, (out, outputs), into);
            return;
        }
        let weight = View::rows(layer.weight, inputs).transposed();
        product(shape, 1.0, View::rows(x, inputs), weight, out, outputs, into);
        if let Some(bias) = layer.bias {
            for row in out.chunks_exact_mut(outputs) {
                for (value, bias) in row.iter_mut().zip(bias) {
                    *value += bias;
                }
            }
        }
    });
}

/// A weight `[outputs][inputs]` as [`Linear::panels`] has it.
pub fn packed(weight: &[f32], inputs: usize) -> Vec<f32> {
    let mut panels = Vec::new();
    let transposed = View::rows(weight, inputs).transposed();
    pack(transposed, (inputs, weight.len() / inputs), &mut panels);
    panels
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

#[cfg(test)]
mod tests {
    use super::super::attention::tests::numbers;
    use super::*;

    #[test]
    fn packed_weights_give_the_same() {
        for (rows, inputs, outputs) in [(1, 1, 1), (5, 24, 17), (131, 9, 8), (2, 96, 40)] {
            let [x, weight, bias] = [(rows * inputs, 1), (inputs * outputs, 2), (outputs, 3)]
                .map(|(count, seed)| numbers(count, seed));
            let panels = packed(&weight, inputs);
            for (then, bias) in [
                (Then::Store, Some(&bias[..])),
                (Then::Residual, Some(&bias)),
                (Then::Store, None),
            ] {
                let run = |panels| {
                    let layer = Linear {
                        panels,
                        ..Linear::unpacked(&weight, bias)
                    };
                    let mut out = numbers(rows * outputs, 4);
                    linear(&x, layer, &mut out, inputs, then);
                    out
                };
                for (packed, plain) in run(Some(&panels)).iter().zip(run(None)) {
                    assert!(
                        (packed - plain).abs() < 2e-5,
                        "{rows} {inputs} {outputs} {then:?}: {packed} {plain}"
                    );
                }
            }
        }
    }
}
