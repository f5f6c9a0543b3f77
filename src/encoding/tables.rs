use serde::{Deserialize, Serialize};

/// The sizes that tables are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Tokens in the sequence, T.
    pub length: usize,
    /// Width of the residual stream.
    pub d_model: usize,
    /// Attention heads, H.
    pub heads: usize,
    /// Width of one head.
    pub d_head: usize,
}

/// A matrix of f64, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub rows: usize,
    pub columns: usize,
    /// `[rows][columns]`
    pub data: Vec<f64>,
}

impl Table {
    /// Fills a table by calling `value(row, column)`.
    pub fn from_fn(rows: usize, columns: usize, mut value: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                data.push(value(row, column));
            }
        }
        Self { rows, columns, data }
    }

    /// One row, `[columns]`.
    pub fn row(&self, row: usize) -> &[f64] {
        &self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// The value at a row and column.
    pub fn at(&self, row: usize, column: usize) -> f64 {
        self.data[row * self.columns + column]
    }

    /// The data rounded to f32, as the engines take it; `[rows][columns]`.
    pub fn to_f32(&self) -> Vec<f32> {
        self.data.iter().map(|&value| value as f32).collect()
    }
}

/// Which dimensions of a head turn together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pairing {
    /// (c, c + pairs): GPT-NeoX and the Hugging Face LLaMA.
    #[default]
    Halves,
    /// (2c, 2c + 1): RoFormer, GPT-J and Meta's LLaMA.
    Interleaved,
}

/// Turns pairs of dimensions of queries and keys; dimensions past `2 · pairs` stay as they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotation {
    pub pairing: Pairing,
    /// `[T][pairs]`
    pub cos: Table,
    /// `[T][pairs]`
    pub sin: Table,
}

/// What is added to the score of a query and a key; it depends on their distance and the head only.
#[derive(Clone, Debug, PartialEq)]
pub struct Bias {
    /// `[H][T]`: for a key `distance` tokens before the query.
    pub behind: Table,
    /// `[H][T]`: for a key `distance` tokens after the query; `None` where the encoding is causal.
    /// Column 0 repeats `behind`'s.
    pub ahead: Option<Table>,
}

/// All that an encoding is, for one [`Shape`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tables {
    /// `[T][d_model]`, added to the token embeddings (after their scaling).
    pub input: Option<Table>,
    /// Rotates queries and keys in every layer.
    pub rotation: Option<Rotation>,
    /// Added to the scores (after their scaling) in every layer.
    pub bias: Option<Bias>,
}
