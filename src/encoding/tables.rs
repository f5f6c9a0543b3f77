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

/// Turns pairs of dimensions of queries and keys; dimensions past `2 · pairs` stay as they are. A row may
/// also scale: cosine and sine are then those of the angle times a factor.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotation {
    pub pairing: Pairing,
    /// `[T][pairs]`
    pub cos: Table,
    /// `[T][pairs]`
    pub sin: Table,
    /// Where keys are turned or scaled otherwise than queries (xPos, log-n): their cosines and sines, each
    /// `[T][pairs]`; `cos` and `sin` are the queries' then.
    pub keys: Option<[Table; 2]>,
}

impl Rotation {
    /// The cosines and sines that turn keys.
    pub fn of_keys(&self) -> [&Table; 2] {
        match &self.keys {
            Some([cos, sin]) => [cos, sin],
            None => [&self.cos, &self.sin],
        }
    }
}

/// What becomes of keys that stand far before the query: they are hidden, or scored with other positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Far {
    /// A key at this distance or beyond is far; at least 1.
    pub from: usize,
    /// Of the far keys only the first so many tokens of the sequence are seen, the others are hidden: 0
    /// hides all (a window), `usize::MAX` none.
    pub keys: usize,
    /// A query counts as standing at this position at most: a far key `j` of the query `i` has the bias of
    /// the distance min(i, last) − j. It is no position before a far key that is seen.
    pub last: usize,
    /// Turns the queries and keys of far scores in place of [`Tables::rotation`]; `None` where nothing turns.
    pub rotation: Option<Rotation>,
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
    /// Where keys far before the query are not treated as the near ones are.
    pub far: Option<Far>,
}
