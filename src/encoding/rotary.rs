use super::{EncodingError, Pairing, Positional, Rotation, Shape, Table, Tables};
use crate::model::Weights;
use serde::{Deserialize, Serialize};

/// Rotary position embedding: turns pairs of dimensions of queries and keys by an angle that grows
/// with the position, so that a score depends on the distance only (Su et al. 2021, arXiv 2104.09864).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rotary {
    pub pairing: Pairing,
    pub base: f64,
    /// The share of a head's dimensions that turn: 1 for all, 0.25 in GPT-NeoX-20B.
    pub fraction: f64,
}

impl Default for Rotary {
    fn default() -> Self {
        Self {
            pairing: Pairing::default(),
            base: 10_000.0,
            fraction: 1.0,
        }
    }
}

impl Rotary {
    /// θ_c = base^(−2c/r) in radians a token for the pairs of `rotated` dimensions; `[rotated/2]`.
    pub fn inv_freq(&self, rotated: usize) -> Vec<f64> {
        (0..rotated / 2)
            .map(|pair| self.base.powf(-2.0 * pair as f64 / rotated as f64))
            .collect()
    }

    /// How many dimensions of a head turn.
    ///
    /// # Errors
    /// An odd or zero count cannot be paired.
    pub fn rotated(&self, d_head: usize) -> Result<usize, EncodingError> {
        let rotated = (d_head as f64 * self.fraction).round() as usize;
        if rotated == 0 || !rotated.is_multiple_of(2) || rotated > d_head {
            return Err(EncodingError::Size {
                encoding: "rotary",
                what: "the number of rotated dimensions",
                value: rotated,
                need: "an even number of dimensions, at least 2 and at most d_head",
            });
        }
        Ok(rotated)
    }
}

impl Positional for Rotary {
    fn tables(&self, shape: &Shape, _: &Weights) -> Result<Tables, EncodingError> {
        if !(self.base.is_finite() && self.base > 1.0) {
            return Err(EncodingError::Setting {
                encoding: "rotary",
                what: "the base",
                value: self.base,
                need: "a finite number above 1 (10000 is usual)",
            });
        }
        let inv_freq = self.inv_freq(self.rotated(shape.d_head)?);
        let angle = |position: usize, pair: usize| position as f64 * inv_freq[pair];
        let pairs = inv_freq.len();
        Ok(Tables {
            rotation: Some(Rotation {
                pairing: self.pairing,
                cos: Table::from_fn(shape.length, pairs, |p, c| angle(p, c).cos()),
                sin: Table::from_fn(shape.length, pairs, |p, c| angle(p, c).sin()),
                keys: None,
            }),
            ..Tables::default()
        })
    }
}
