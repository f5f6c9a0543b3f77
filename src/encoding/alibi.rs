use super::{Bias, EncodingError, Positional, Shape, Table, Tables};
use crate::model::{Init, Parameter, Weights};
use serde::{Deserialize, Serialize};

const NAME: &str = "slopes";

/// Attention with linear biases: a head's score falls by its slope for every token of distance
/// (Press et al. 2022, arXiv 2108.12409). The bias is not scaled by 1/√d_head.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Alibi {
    /// Slopes to use in place of the paper's, one a head.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slopes: Option<Vec<f64>>,
    /// The slopes are trained: they stand in the weights, and begin as the others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub trained: bool,
}

/// The paper's slopes, `[heads]`: 2^(−8h/heads), h = 1 …, where the number of heads is a power of two;
/// otherwise those of the power of two below, then every second one of twice that power
/// (`get_slopes` in ofirpress/attention_with_linear_biases).
pub fn slopes(heads: usize) -> Vec<f64> {
    let geometric = |count: usize| (1..=count).map(move |h| (-8.0 * h as f64 / count as f64).exp2());
    if heads == 0 {
        return Vec::new();
    }
    let below = 1 << heads.ilog2();
    geometric(below)
        .chain(geometric(2 * below).step_by(2).take(heads - below))
        .collect()
}

impl Alibi {
    /// The slope of every head before training, `[heads]`.
    ///
    /// # Errors
    /// Custom slopes that are not one finite number a head.
    pub fn slopes(&self, heads: usize) -> Result<Vec<f64>, EncodingError> {
        let Some(custom) = &self.slopes else {
            return Ok(slopes(heads));
        };
        if custom.len() != heads {
            return Err(EncodingError::SlopeCount {
                found: custom.len(),
                heads,
            });
        }
        if let Some(&value) = custom.iter().find(|slope| !slope.is_finite()) {
            return Err(EncodingError::Setting {
                encoding: "alibi",
                what: "a slope",
                value,
                need: "finite numbers",
            });
        }
        Ok(custom.clone())
    }
}

impl Positional for Alibi {
    fn parameters(&self, trained: &Shape) -> Vec<Parameter> {
        if !self.trained {
            return Vec::new();
        }
        vec![Parameter {
            name: NAME.into(),
            shape: vec![trained.heads],
            init: Init::Values(self.slopes.clone().unwrap_or_else(|| slopes(trained.heads))),
        }]
    }

    fn tables(&self, shape: &Shape, weights: &Weights) -> Result<Tables, EncodingError> {
        let slopes = if self.trained {
            let tensor = weights.get(NAME).ok_or(EncodingError::MissingWeights {
                encoding: "alibi",
                name: NAME,
            })?;
            if tensor.shape != [shape.heads] {
                return Err(EncodingError::WeightShape {
                    encoding: "alibi",
                    name: NAME,
                    found: tensor.shape.clone(),
                    need: vec![shape.heads],
                });
            }
            tensor.data.iter().map(|&slope| f64::from(slope)).collect()
        } else {
            self.slopes(shape.heads)?
        };
        Ok(Tables {
            bias: Some(Bias {
                behind: Table::from_fn(shape.heads, shape.length, |head, n| -slopes[head] * n as f64),
                ahead: None,
            }),
            ..Tables::default()
        })
    }

    fn backward(
        &self,
        _: &Shape,
        _: &Weights,
        gradient: &Tables,
    ) -> Result<Vec<(&'static str, Vec<f64>)>, EncodingError> {
        let Some(bias) = gradient.bias.as_ref().filter(|_| self.trained) else {
            return Ok(Vec::new());
        };
        let weighted = |row: &[f64]| row.iter().enumerate().map(|(n, g)| -(n as f64) * g).sum();
        let slopes = (0..bias.behind.rows).map(|head| weighted(bias.behind.row(head)));
        Ok(vec![(NAME, slopes.collect())])
    }
}
