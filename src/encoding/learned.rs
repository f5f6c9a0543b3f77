use super::{EncodingError, Positional, Shape, Table, Tables};
use crate::model::{Init, Parameter, Weights};
use serde::{Deserialize, Serialize};

const NAME: &str = "position_embedding.weight";
/// Of the rows before training.
const DEVIATION: f64 = 0.2;

/// One trained row a position, added to the token embedding (Gehring et al. 2017, GPT-2).
/// Nothing exists past the last row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Learned {
    /// What stands at positions past the table.
    pub past_end: PastEnd,
}

/// What a learned table gives for a position that it was never trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PastEnd {
    /// An error: the truth.
    #[default]
    Undefined,
    /// The last row again, a choice that the reader must have made.
    LastRow,
    /// Random rows, as an untrained table begins: N(0, 0.2²), the same at every asking.
    Random,
}

/// A number of N(0, 0.2²) that position and column decide, by SplitMix64 and Box and Muller.
fn noise(position: usize, column: usize) -> f64 {
    let uniform = |salt: u64| {
        let mut z = (((position as u64) << 32) | column as u64)
            .wrapping_mul(2)
            .wrapping_add(salt)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        // Above 0 and below 1.
        (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    };
    DEVIATION * (-2.0 * uniform(0).ln()).sqrt() * (std::f64::consts::TAU * uniform(1)).cos()
}

impl Positional for Learned {
    fn parameters(&self, trained: &Shape) -> Vec<Parameter> {
        vec![Parameter {
            name: NAME.into(),
            shape: vec![trained.length, trained.d_model],
            init: Init::Normal { deviation: DEVIATION },
        }]
    }

    fn tables(&self, shape: &Shape, weights: &Weights) -> Result<Tables, EncodingError> {
        let tensor = weights.get(NAME).ok_or(EncodingError::MissingWeights {
            encoding: "learned",
            name: NAME,
        })?;
        let rows = tensor.shape.first().copied().unwrap_or(0);
        if tensor.shape != [rows, shape.d_model] || rows == 0 {
            return Err(EncodingError::WeightShape {
                encoding: "learned",
                name: NAME,
                found: tensor.shape.clone(),
                need: vec![rows.max(1), shape.d_model],
            });
        }
        if shape.length > rows && self.past_end == PastEnd::Undefined {
            return Err(EncodingError::Undefined { position: rows, rows });
        }
        let input = Table::from_fn(shape.length, shape.d_model, |position, column| {
            if position >= rows && self.past_end == PastEnd::Random {
                return noise(position, column);
            }
            f64::from(tensor.data[position.min(rows - 1) * shape.d_model + column])
        });
        Ok(Tables {
            input: Some(input),
            ..Tables::default()
        })
    }

    /// Only for training: `shape.length` is the table's whole length.
    fn backward(
        &self,
        _: &Shape,
        _: &Weights,
        gradient: &Tables,
    ) -> Result<Vec<(&'static str, Vec<f64>)>, EncodingError> {
        let rows = gradient.input.iter().map(|table| (NAME, table.data.clone()));
        Ok(rows.collect())
    }
}
