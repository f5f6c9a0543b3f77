//! What both peers are made from: weights as `[in][out]`, with the scales that cost nothing when they are
//! multiplied in once, and positions as full tables.

use anyhow::{Result, ensure};
use longview::encoding::Positional;
use longview::model::{Activation, Checkpoint};

/// What a key after its query gets.
const MASKED: f32 = -1e9;

/// A matrix `[rows][columns]`, or a vector of one row.
pub struct Matrix {
    pub rows: usize,
    pub columns: usize,
    pub data: Vec<f32>,
}

impl Matrix {
    fn new(shape: &[usize], data: Vec<f32>) -> Self {
        let columns = shape.last().copied().unwrap_or(1);
        Self {
            rows: data.len() / columns,
            columns,
            data,
        }
    }

    /// The rows become columns.
    pub fn transposed(&self) -> Self {
        let data =
            (0..self.rows * self.columns).map(|i| self.data[i % self.rows * self.columns + i / self.rows]);
        Self {
            rows: self.columns,
            columns: self.rows,
            data: data.collect(),
        }
    }
}

/// A tensor of the checkpoint; a linear layer's weight is turned to `[in][out]`.
pub fn tensor(checkpoint: &Checkpoint, name: &str) -> Matrix {
    let config = &checkpoint.config;
    let tensor = &checkpoint.weights[name];
    let mut data = tensor.data.clone();
    if name.contains("attention.qkv") {
        let queries = data.len() / 3;
        data[..queries]
            .iter_mut()
            .for_each(|value| *value *= config.score_scale);
    }
    let matrix = Matrix::new(&tensor.shape, data);
    let is_linear = name.starts_with("layers.") && tensor.shape.len() == 2;
    if is_linear { matrix.transposed() } else { matrix }
}

/// The embedding with its scale.
pub fn embedding(checkpoint: &Checkpoint) -> Matrix {
    let mut matrix = tensor(checkpoint, "token_embedding.weight");
    let scale = checkpoint.config.embedding_scale;
    matrix.data.iter_mut().for_each(|value| *value *= scale);
    matrix
}

/// The causal mask with the bias in it, `[heads or 1][T][T]`, and cosines and sines, each `[T][pairs]`.
pub struct Positions {
    pub heads: usize,
    pub bias: Vec<f32>,
    pub turns: Option<[Matrix; 2]>,
}

impl Positions {
    pub fn new(checkpoint: &Checkpoint, length: usize) -> Result<Self> {
        let config = &checkpoint.config;
        let shape = config.shape(length);
        let tables = config.encoding.tables(&shape, &checkpoint.weights)?;
        ensure!(
            tables.input.is_none() && tables.far.is_none(),
            "an encoding that the bench does not know"
        );
        let heads = if tables.bias.is_some() { config.heads } else { 1 };
        let mut bias = vec![MASKED; heads * length * length];
        for (row, values) in bias.chunks_exact_mut(length).enumerate() {
            let (head, query) = (row / length, row % length);
            for (key, value) in values[..=query].iter_mut().enumerate() {
                *value = tables
                    .bias
                    .as_ref()
                    .map_or(0.0, |bias| bias.behind.at(head, query - key) as f32);
            }
        }
        let turns = tables.rotation.map(|rotation| {
            [rotation.cos, rotation.sin]
                .map(|table| Matrix::new(&[table.rows, table.columns], table.to_f32()))
        });
        Ok(Self { heads, bias, turns })
    }
}

/// # Errors
/// A model of another build than the three that are measured.
pub fn check(checkpoint: &Checkpoint) -> Result<()> {
    let config = &checkpoint.config;
    ensure!(
        config.tied_output && config.activation == Activation::GeluTanh && !config.smeared_keys,
        "the peers know tied outputs and GELU by tanh only"
    );
    Ok(())
}
