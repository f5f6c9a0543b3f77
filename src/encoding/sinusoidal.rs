use super::{EncodingError, Positional, Shape, Table, Tables};
use crate::model::Weights;
use serde::{Deserialize, Serialize};

/// Sines and cosines of many wavelengths, added to the token embedding
/// (Vaswani et al. 2017, arXiv 1706.03762, section 3.5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Sinusoidal {
    pub layout: Layout,
    /// The ratio of the longest to the shortest wavelength.
    pub base: f64,
}

impl Default for Sinusoidal {
    fn default() -> Self {
        Self {
            layout: Layout::Interleaved,
            base: 10_000.0,
        }
    }
}

/// Where sines and cosines stand in a row, and which frequencies they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// The paper's: sin, cos, sin, cos, …; frequency c is base^(−2c/d).
    #[default]
    Interleaved,
    /// All sines, then all cosines, with the paper's frequencies; an odd d has one more sine.
    Halves,
    /// tensor2tensor and fairseq: all sines, then all cosines; frequency c is base^(−c/(d/2 − 1)),
    /// and an odd d ends with a column of zeros.
    Fairseq,
}

impl Sinusoidal {
    /// The value at a position and one of `d` columns.
    pub fn value(&self, position: usize, column: usize, d: usize) -> f64 {
        match self.wave(column, d) {
            Some((frequency, true)) => (position as f64 * frequency).sin(),
            Some((frequency, false)) => (position as f64 * frequency).cos(),
            None => 0.0,
        }
    }

    /// The frequency of one of `d` columns in radians a token, and whether it is a sine (else a
    /// cosine); `None` for a column of zeros.
    pub fn wave(&self, column: usize, d: usize) -> Option<(f64, bool)> {
        let half = d / 2;
        let (pair, is_sine) = match self.layout {
            Layout::Interleaved => (column / 2, column.is_multiple_of(2)),
            Layout::Halves => {
                let sines = d.div_ceil(2);
                (column % sines, column < sines)
            }
            Layout::Fairseq if column == 2 * half => return None,
            Layout::Fairseq => (column % half, column < half),
        };
        let exponent = match self.layout {
            Layout::Interleaved | Layout::Halves => 2.0 * pair as f64 / d as f64,
            Layout::Fairseq => pair as f64 / (half as f64 - 1.0),
        };
        Some((self.base.powf(-exponent), is_sine))
    }
}

impl Positional for Sinusoidal {
    fn tables(&self, shape: &Shape, _: &Weights) -> Result<Tables, EncodingError> {
        let least = if self.layout == Layout::Fairseq { 4 } else { 2 };
        if shape.d_model < least {
            return Err(EncodingError::Size {
                encoding: "sinusoidal",
                what: "d_model",
                value: shape.d_model,
                need: "at least 2 dimensions (4 in the fairseq layout)",
            });
        }
        if !(self.base.is_finite() && self.base > 1.0) {
            return Err(EncodingError::Setting {
                encoding: "sinusoidal",
                what: "the base",
                value: self.base,
                need: "a finite number above 1 (10000 is usual)",
            });
        }
        let input = Table::from_fn(shape.length, shape.d_model, |position, column| {
            self.value(position, column, shape.d_model)
        });
        Ok(Tables {
            input: Some(input),
            ..Tables::default()
        })
    }
}
