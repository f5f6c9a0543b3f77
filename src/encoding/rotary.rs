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

/// base^(−2c/r) for the pairs c of `rotated` dimensions, `[rotated/2]`.
fn powers(base: f64, rotated: usize) -> Vec<f64> {
    (0..rotated / 2)
        .map(|pair| base.powf(-2.0 * pair as f64 / rotated as f64))
        .collect()
}

/// The frequencies of the pairs in radians a token, `[rotated/2]`, for an encoding that turns pairs.
///
/// # Errors
/// A base that is none, or dimensions that cannot be paired.
pub(super) fn frequencies(
    encoding: &'static str,
    base: f64,
    rotated: usize,
) -> Result<Vec<f64>, EncodingError> {
    if !(base.is_finite() && base > 1.0) {
        return Err(EncodingError::Setting {
            encoding,
            what: "the base",
            value: base,
            need: "a finite number above 1 (10000 is usual)",
        });
    }
    if rotated == 0 || !rotated.is_multiple_of(2) {
        return Err(EncodingError::Size {
            encoding,
            what: "the number of rotated dimensions",
            value: rotated,
            need: "an even number of dimensions, at least 2",
        });
    }
    Ok(powers(base, rotated))
}

/// Cosines and sines, each `[rows][pairs]`, of the angles `position(row) · inv_freq[pair]`, times
/// `scale(row, pair)`.
pub(super) fn turns(
    rows: usize,
    inv_freq: &[f64],
    position: impl Fn(usize) -> f64,
    scale: impl Fn(usize, usize) -> f64,
) -> [Table; 2] {
    let table = |wave: fn(f64) -> f64| {
        Table::from_fn(rows, inv_freq.len(), |row, pair| {
            scale(row, pair) * wave(position(row) * inv_freq[pair])
        })
    };
    [table(f64::cos), table(f64::sin)]
}

impl Rotary {
    /// θ_c = base^(−2c/r) in radians a token for the pairs of `rotated` dimensions; `[rotated/2]`.
    pub fn inv_freq(&self, rotated: usize) -> Vec<f64> {
        powers(self.base, rotated)
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
        let inv_freq = frequencies("rotary", self.base, self.rotated(shape.d_head)?)?;
        let [cos, sin] = turns(shape.length, &inv_freq, |row| row as f64, |_, _| 1.0);
        Ok(Tables {
            rotation: Some(Rotation {
                pairing: self.pairing,
                cos,
                sin,
                keys: None,
            }),
            ..Tables::default()
        })
    }
}
