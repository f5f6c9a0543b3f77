use crate::encoding::{Encoding, EncodingError, Pairing, Positional, Shape};
use crate::model::Weights;

/// The [`Tables`](crate::encoding::Tables) of an encoding as the engines take them: in f32.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TablesF32 {
    /// `[T][d_model]`
    pub input: Option<Vec<f32>>,
    pub rotation: Option<RotationF32>,
    /// `[H][T]`, by distance behind the query
    pub bias: Option<Vec<f32>>,
}

/// A [`Rotation`](crate::encoding::Rotation) in f32.
#[derive(Clone, Debug, PartialEq)]
pub struct RotationF32 {
    pub pairing: Pairing,
    pub pairs: usize,
    /// `[T][pairs]`
    pub cos: Vec<f32>,
    /// `[T][pairs]`
    pub sin: Vec<f32>,
}

impl TablesF32 {
    /// Computes the tables in f64 and rounds them.
    ///
    /// # Errors
    /// What the encoding cannot serve.
    pub fn new(encoding: &Encoding, shape: &Shape, weights: &Weights) -> Result<Self, EncodingError> {
        let tables = encoding.tables(shape, weights)?;
        Ok(Self {
            input: tables.input.map(|table| table.to_f32()),
            rotation: tables.rotation.map(|rotation| RotationF32 {
                pairing: rotation.pairing,
                pairs: rotation.cos.columns,
                cos: rotation.cos.to_f32(),
                sin: rotation.sin.to_f32(),
            }),
            bias: tables.bias.map(|bias| bias.behind.to_f32()),
        })
    }
}
