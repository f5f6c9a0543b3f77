use super::{EncodingError, Positional, Shape, Tables};
use crate::model::Weights;
use serde::{Deserialize, Serialize};

/// No position at all (NoPE): the causal mask alone implies an order
/// (Haviv et al. 2022, arXiv 2203.16634; Kazemnejad et al. 2023, arXiv 2305.19466).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct None {}

impl Positional for None {
    fn tables(&self, _: &Shape, _: &Weights) -> Result<Tables, EncodingError> {
        Ok(Tables::default())
    }
}
