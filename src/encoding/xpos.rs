use super::rotary::{frequencies, turns};
use super::{EncodingError, Pairing, Positional, Rotation, Shape, Tables};
use crate::model::Weights;
use serde::{Deserialize, Serialize};

/// γ in ζ_c = (2c/d + γ)/(1 + γ), by the paper.
const GAMMA: f64 = 0.4;
/// Scales stay within f32 up to here, with the paper's scale base.
const EXPONENT_MAX: f64 = 64.0;

/// xPos: rotary whose pairs also fade with the distance. At the position p a query's pair c is multiplied by
/// ζ_c^(p/512) and a key's by ζ_c^(−p/512), with ζ_c = (2c/d + 0.4)/1.4, so that a score has the factor
/// ζ_c^(n/512) at the distance n (Sun et al. 2022, arXiv 2212.10554; `xpos_relative_position.py` in
/// microsoft/torchscale). For causal attention only: keys after the query would grow.
/// Positions are counted from the middle of the sequence; a score is the same, and f32 holds the scales.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Xpos {
    pub pairing: Pairing,
    pub base: f64,
    /// The distance at which the pair c has faded to ζ_c.
    pub scale_base: f64,
}

impl Default for Xpos {
    fn default() -> Self {
        Self {
            pairing: Pairing::default(),
            base: 10_000.0,
            scale_base: 512.0,
        }
    }
}

impl Xpos {
    /// ζ_c, `[pairs]`: what is left of a pair at the distance `scale_base`.
    pub fn scales(pairs: usize) -> Vec<f64> {
        (0..pairs)
            .map(|pair| (pair as f64 / pairs as f64 + GAMMA) / (1.0 + GAMMA))
            .collect()
    }
}

impl Positional for Xpos {
    fn tables(&self, shape: &Shape, _: &Weights) -> Result<Tables, EncodingError> {
        if !(self.scale_base.is_finite() && self.scale_base > 0.0) {
            return Err(EncodingError::Setting {
                encoding: "xpos",
                what: "the scale base",
                value: self.scale_base,
                need: "a finite number above 0 (512 is the paper's)",
            });
        }
        if shape.length as f64 / 2.0 > EXPONENT_MAX * self.scale_base {
            return Err(EncodingError::Size {
                encoding: "xpos",
                what: "the length",
                value: shape.length,
                need: "at most 128 times the scale base (65536 with 512), or its scales overflow",
            });
        }
        let inv_freq = frequencies("xpos", self.base, shape.d_head)?;
        let zeta = Self::scales(inv_freq.len());
        let middle = (shape.length / 2) as f64;
        let position = |row: usize| row as f64 - middle;
        let scale =
            |row: usize, pair: usize, sign: f64| zeta[pair].powf(sign * position(row) / self.scale_base);
        let [cos, sin] = turns(shape.length, &inv_freq, position, |row, pair| {
            scale(row, pair, 1.0)
        });
        let keys = turns(shape.length, &inv_freq, position, |row, pair| {
            scale(row, pair, -1.0)
        });
        Ok(Tables {
            rotation: Some(Rotation {
                pairing: self.pairing,
                cos,
                sin,
                keys: Some(keys),
            }),
            ..Tables::default()
        })
    }
}
