//! From the last hidden state to the negative log likelihood of the targets.

use super::exp;
use super::linear::{Then, linear};
use super::parallel::{pieces, pieces2};
use super::parameters::Linear;
use super::product::{Into, View, product};

/// Rows whose logits are in memory at once, a thread: as many as stay in a small cache, or as `gemm` likes.
const ROWS: usize = if cfg!(target_arch = "wasm32") { 16 } else { 64 };

/// `nll[rows] = −ln softmax(hidden[rows][d] · output[V][d]ᵀ)[target]`, in nats; `output` has no bias. The
/// logits of a few rows only are in memory at once.
pub fn nll(hidden: &[f32], output: Linear, targets: &[u32], nll: &mut [f32], d: usize) {
    let vocabulary = output.weight.len() / d;
    pieces(nll, ROWS, |index, nll| {
        let mut logits = vec![0.0; nll.len() * vocabulary];
        let hidden = &hidden[index * ROWS * d..];
        linear(hidden, output, &mut logits, d, Then::Store);
        for ((nll, logits), &target) in nll
            .iter_mut()
            .zip(logits.chunks_exact(vocabulary))
            .zip(&targets[index * ROWS..])
        {
            let most = exp::largest(logits, f32::MIN);
            *nll = most + exp::sum_of_exp(logits, most).ln() - logits[target as usize];
        }
    });
}

/// `logits[rows][V] = hidden[rows][d] · output[V][d]ᵀ`; as many rows as `logits` holds.
pub fn logits_of(hidden: &[f32], output: &[f32], logits: &mut [f32], d: usize) {
    let vocabulary = output.len() / d;
    let rows = logits.len() / vocabulary;
    product(
        (rows, vocabulary, d),
        1.0,
        View::rows(hidden, d),
        View::rows(output, d).transposed(),
        logits,
        vocabulary,
        Into::Replace,
    );
}

/// Turns logits into probabilities and gives their log-sum-exp.
fn softmax(logits: &mut [f32]) -> f32 {
    let most = exp::largest(logits, f32::MIN);
    let sum = exp::exp_all(logits, most);
    for value in logits.iter_mut() {
        *value /= sum;
    }
    most + sum.ln()
}

/// The losses, as [`nll`], and the gradient of their mean for the logits: `dlogits[rows][V]`.
pub fn nll_backward(
    hidden: &[f32],
    output: &[f32],
    targets: &[u32],
    nll: &mut [f32],
    dlogits: &mut [f32],
    d: usize,
) {
    let vocabulary = output.len() / d;
    let share = 1.0 / nll.len() as f32;
    pieces2(
        (nll, ROWS),
        (dlogits, ROWS * vocabulary),
        |index, nll, dlogits| {
            logits_of(&hidden[index * ROWS * d..], output, dlogits, d);
            for ((nll, logits), &target) in nll
                .iter_mut()
                .zip(dlogits.chunks_exact_mut(vocabulary))
                .zip(&targets[index * ROWS..])
            {
                let chosen = logits[target as usize];
                *nll = softmax(logits) - chosen;
                logits[target as usize] -= 1.0;
                for value in logits {
                    *value *= share;
                }
            }
        },
    );
}
