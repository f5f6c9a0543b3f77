use super::{Bias, EncodingError, Positional, Shape, Table, Tables};
use crate::model::Weights;
use serde::{Deserialize, Serialize};

/// A score falls by the square root of the distance (source of the formula).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Root {}

impl Positional for Root {
    fn tables(&self, shape: &Shape, _: &Weights) -> Result<Tables, EncodingError> {
        let behind = Table::from_fn(shape.heads, shape.length, |_, n| -(n as f64).sqrt());
        Ok(Tables {
            bias: Some(Bias { behind, ahead: None }),
            ..Tables::default()
        })
    }
}
