use std::collections::BTreeMap;

/// A tensor of f32, row by row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensor {
    pub shape: Vec<usize>,
    pub data: Vec<f32>,
}

/// The tensors of a model by name, in the order of the names.
pub type Weights = BTreeMap<String, Tensor>;

/// A tensor that a model has, and how training begins with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: String,
    pub shape: Vec<usize>,
    pub init: Init,
}

/// The values of a tensor before training.
#[derive(Clone, Debug, PartialEq)]
pub enum Init {
    Zeros,
    Ones,
    /// Normally distributed about zero.
    Normal {
        deviation: f64,
    },
    /// These values.
    Values(Vec<f64>),
}
