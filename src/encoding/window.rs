use super::{EncodingError, Far, Rotation, Table, Tables};
use serde::{Deserialize, Serialize};

/// Attention to the last tokens only, at inference, with any encoding; and to the first ones, the sinks
/// (Xiao et al. 2023, arXiv 2309.17453), whose positions are counted within what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// W: a query sees itself and the W − 1 tokens before it.
    pub keys: usize,
    /// How many tokens at the beginning of the sequence it sees beside them.
    #[serde(default)]
    pub sinks: usize,
}

impl Window {
    /// Hides what is outside the window. With sinks, a query far from them stands at the end of the kept
    /// tokens: it counts as at the position W + sinks − 1. What an encoding adds to the embeddings stays.
    ///
    /// # Errors
    /// A window of no token, or an encoding that treats far keys in its own way.
    pub fn apply(&self, tables: &mut Tables) -> Result<(), EncodingError> {
        if self.keys == 0 {
            return Err(EncodingError::Setting {
                encoding: "window",
                what: "the number of keys",
                value: 0.0,
                need: "at least 1",
            });
        }
        if tables.far.is_some() {
            return Err(EncodingError::TwoWindows);
        }
        let last = self.sinks.saturating_add(self.keys - 1);
        let kept = |table: &Table| {
            Table::from_fn(table.rows, table.columns, |row, column| {
                table.at(row.min(last), column)
            })
        };
        let rotation = tables
            .rotation
            .as_ref()
            .filter(|_| self.sinks > 0)
            .map(|near| Rotation {
                pairing: near.pairing,
                cos: kept(&near.cos),
                sin: kept(&near.sin),
                keys: Some(near.of_keys().map(Table::clone)),
            });
        tables.far = Some(Far {
            from: self.keys,
            keys: self.sinks,
            last,
            rotation,
        });
        Ok(())
    }
}
