use super::{Bias, EncodingError, Positional, Shape, Table, Tables};
use crate::model::Weights;
use serde::{Deserialize, Serialize};

/// A file may name any number; each costs a sine a position.
const DIMENSIONS_MAX: usize = 1 << 16;

/// The inner products of sinusoidal encodings as a bias: Σ_c cos(n / 10000^(2c/d̄)), c = 0 … d̄/2 − 1, at the
/// distance n, divided by 8h/H for the head h = 1 … H (Chi et al. 2023, arXiv 2212.10356).
/// Nothing of it is trained. Here d̄/2, the sum at n = 0, is taken off: a softmax does not see a constant, and
/// so the bias is 0 for the query's own token and below it elsewhere, as other biases are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sandwich {
    /// d̄: how many sines and cosines there are, whatever the model's width.
    pub dimensions: usize,
}

impl Default for Sandwich {
    fn default() -> Self {
        Self { dimensions: 128 }
    }
}

impl Positional for Sandwich {
    fn tables(&self, shape: &Shape, _: &Weights) -> Result<Tables, EncodingError> {
        if !(2..=DIMENSIONS_MAX).contains(&self.dimensions) || !self.dimensions.is_multiple_of(2) {
            return Err(EncodingError::Size {
                encoding: "sandwich",
                what: "the number of dimensions",
                value: self.dimensions,
                need: "an even number from 2 to 65536 (128 is the paper's)",
            });
        }
        let d = self.dimensions as f64;
        let frequencies: Vec<f64> = (0..self.dimensions / 2)
            .map(|pair| 10_000_f64.powf(-2.0 * pair as f64 / d))
            .collect();
        // cos(x) − 1 = −2·sin²(x/2), which loses nothing where x is small.
        let sums: Vec<f64> = (0..shape.length)
            .map(|n| {
                let halves = frequencies
                    .iter()
                    .map(|frequency| (0.5 * n as f64 * frequency).sin());
                halves.map(|sine| -2.0 * sine * sine).sum()
            })
            .collect();
        let ratio = |head: usize| 8.0 * (head + 1) as f64 / shape.heads as f64;
        Ok(Tables {
            bias: Some(Bias {
                behind: Table::from_fn(shape.heads, shape.length, |head, n| sums[n] / ratio(head)),
                ahead: None,
            }),
            ..Tables::default()
        })
    }
}
