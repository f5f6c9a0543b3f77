use crate::encoding::{EncodingError, Pairing, Positional, Rotation, Table, Tables};
use crate::model::{Config, Weights};

/// The [`Tables`](crate::encoding::Tables) of a model as the engines take them: in f32.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TablesF32 {
    /// `[T][d_model]`
    pub input: Option<Vec<f32>>,
    pub rotation: Option<RotationF32>,
    /// `[H][T]`, by distance behind the query
    pub bias: Option<Vec<f32>>,
    pub far: Option<FarF32>,
}

/// A [`Rotation`](crate::encoding::Rotation) in f32.
#[derive(Clone, Debug, PartialEq)]
pub struct RotationF32 {
    pub pairing: Pairing,
    pub pairs: usize,
    /// Of queries, `[T][pairs]`.
    pub cos: Vec<f32>,
    /// Of queries, `[T][pairs]`.
    pub sin: Vec<f32>,
    /// Cosines and sines of keys, where they differ.
    pub keys: Option<[Vec<f32>; 2]>,
}

/// A [`Far`](crate::encoding::Far) in f32.
#[derive(Clone, Debug, PartialEq)]
pub struct FarF32 {
    pub from: usize,
    pub keys: usize,
    pub last: usize,
    pub rotation: Option<RotationF32>,
}

impl From<&Rotation> for RotationF32 {
    fn from(rotation: &Rotation) -> Self {
        Self {
            pairing: rotation.pairing,
            pairs: rotation.cos.columns,
            cos: rotation.cos.to_f32(),
            sin: rotation.sin.to_f32(),
            keys: rotation
                .keys
                .as_ref()
                .map(|keys| keys.each_ref().map(Table::to_f32)),
        }
    }
}

impl From<&Tables> for TablesF32 {
    fn from(tables: &Tables) -> Self {
        Self {
            input: tables.input.as_ref().map(Table::to_f32),
            rotation: tables.rotation.as_ref().map(RotationF32::from),
            bias: tables.bias.as_ref().map(|bias| bias.behind.to_f32()),
            far: tables.far.as_ref().map(|far| FarF32 {
                from: far.from,
                keys: far.keys,
                last: far.last,
                rotation: far.rotation.as_ref().map(RotationF32::from),
            }),
        }
    }
}

impl TablesF32 {
    /// Computes the tables for sequences of `length` tokens in f64, hides what the model's window hides, and
    /// rounds them.
    ///
    /// # Errors
    /// What the encoding cannot serve.
    pub fn new(config: &Config, length: usize, weights: &Weights) -> Result<Self, EncodingError> {
        let tables = config.encoding.tables(&config.shape(length), weights)?;
        Self::windowed(config, tables)
    }

    /// The tables for one step of training; `draw(n)` gives a uniform random number below n.
    ///
    /// # Errors
    /// What the encoding cannot serve.
    pub fn training(
        config: &Config,
        length: usize,
        weights: &Weights,
        draw: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Self, EncodingError> {
        let shape = config.shape(length);
        let tables = config.encoding.training_tables(&shape, weights, draw)?;
        Self::windowed(config, tables)
    }

    fn windowed(config: &Config, mut tables: Tables) -> Result<Self, EncodingError> {
        if let Some(window) = &config.window {
            window.apply(&mut tables)?;
        }
        Ok(Self::from(&tables))
    }
}
