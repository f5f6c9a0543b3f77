use super::error::FigureError;
use super::perplexity::Series;
use crate::encoding::{Layout, Pairing};
use serde::{Deserialize, Serialize};

/// One picture and its settings; in JSON `{"figure": "alibi", "heads": 8, "length": 64, …}`.
/// The numbers that a model gave stand apart, as `values`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", rename_all = "snake_case")]
pub enum Figure {
    /// A heat map of position × dimension. No values.
    Sinusoidal {
        length: usize,
        d_model: usize,
        #[serde(default)]
        layout: Layout,
        #[serde(default = "usual_base")]
        base: f64,
        #[serde(default)]
        trained_length: Option<usize>,
    },
    /// One dial for each pair of dimensions, with the hands of a query at position `query` and a key at
    /// position `key`, and the angle between them. No values.
    Rotary {
        d_head: usize,
        #[serde(default = "usual_base")]
        base: f64,
        #[serde(default)]
        pairing: Pairing,
        query: usize,
        key: usize,
        trained_length: usize,
    },
    /// The bucket of each distance. Values: none, or the learned biases `[buckets][heads]`.
    T5Bias {
        heads: usize,
        buckets: usize,
        max_distance: usize,
        #[serde(default)]
        bidirectional: bool,
        length: usize,
        trained_length: usize,
    },
    /// A bias matrix for each head. No values.
    Alibi {
        heads: usize,
        length: usize,
        /// In place of the paper's, one a head.
        #[serde(default)]
        slopes: Option<Vec<f64>>,
        trained_length: usize,
    },
    /// The trained table, and nothing past it. Values: none, or `[trained_length][d_model]`.
    Learned {
        length: usize,
        trained_length: usize,
        d_model: usize,
    },
    /// The causal mask alone. No values.
    None { length: usize, trained_length: usize },
    /// What each query gives to each key. Values: none, or a raster `[side][side]`.
    Attention {
        length: usize,
        trained_length: usize,
        layer: usize,
        head: usize,
        side: usize,
        encoding: String,
    },
    /// Mean attention by distance. Values: none, or a profile `[layers][heads][length]`.
    Distance {
        length: usize,
        trained_length: usize,
        layers: usize,
        heads: usize,
        layer: usize,
        head: usize,
        #[serde(default)]
        logarithmic: bool,
        encoding: String,
    },
    /// Perplexity against length. No values: the numbers stand in `series`.
    Perplexity {
        trained_length: usize,
        /// The current length.
        length: usize,
        /// The name of the encoding to draw strong.
        selected: String,
        series: Vec<Series>,
        /// Names of encodings that have no value past the trained length.
        #[serde(default)]
        undefined: Vec<String>,
    },
    /// Mean loss by position in the window. Values: none, or nats `[length]`.
    PositionLoss {
        length: usize,
        trained_length: usize,
        encoding: String,
    },
}

crate::json::tagged!(Figure, "figure");

fn usual_base() -> f64 {
    10_000.0
}

impl Figure {
    /// The name in JSON and in the command.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sinusoidal { .. } => "sinusoidal",
            Self::Rotary { .. } => "rotary",
            Self::T5Bias { .. } => "t5_bias",
            Self::Alibi { .. } => "alibi",
            Self::Learned { .. } => "learned",
            Self::None { .. } => "none",
            Self::Attention { .. } => "attention",
            Self::Distance { .. } => "distance",
            Self::Perplexity { .. } => "perplexity",
            Self::PositionLoss { .. } => "position_loss",
        }
    }

    /// The shape of the values that it needs, written for readers, and their count; `None` where it
    /// takes no values.
    fn values_needed(&self) -> Option<(String, usize)> {
        match *self {
            Self::T5Bias { heads, buckets, .. } => Some((
                format!("{buckets} buckets × {heads} heads"),
                buckets.saturating_mul(heads),
            )),
            Self::Learned {
                trained_length,
                d_model,
                ..
            } => Some((
                format!("{trained_length} positions × {d_model} dimensions"),
                trained_length.saturating_mul(d_model),
            )),
            Self::Attention { side, .. } => {
                Some((format!("{side} queries × {side} keys"), side.saturating_mul(side)))
            }
            Self::Distance {
                layers,
                heads,
                length,
                ..
            } => Some((
                format!("{layers} layers × {heads} heads × {length} distances"),
                layers.saturating_mul(heads).saturating_mul(length),
            )),
            Self::PositionLoss { length, .. } => Some((format!("{length} positions"), length)),
            _ => Option::None,
        }
    }

    pub(super) fn check(&self, values: &[f32]) -> Result<(), FigureError> {
        let wrong = |need: String| {
            Err(FigureError::Values {
                figure: self.name(),
                found: values.len(),
                need,
            })
        };
        match self.values_needed() {
            _ if values.is_empty() => {}
            Some((shape, count)) if values.len() != count => {
                return wrong(format!("none, or {count} ({shape})"));
            }
            Option::None => return wrong("none".into()),
            Some(_) => {}
        }
        let (length, trained) = self.lengths();
        size("length", length)?;
        size("trained length", trained.unwrap_or(1))
    }

    fn lengths(&self) -> (usize, Option<usize>) {
        match *self {
            Self::Sinusoidal {
                length,
                trained_length,
                ..
            } => (length, trained_length),
            Self::Rotary { trained_length, .. } => (1, Some(trained_length)),
            Self::T5Bias {
                length,
                trained_length,
                ..
            }
            | Self::Alibi {
                length,
                trained_length,
                ..
            }
            | Self::Learned {
                length,
                trained_length,
                ..
            }
            | Self::None {
                length,
                trained_length,
            }
            | Self::Attention {
                length,
                trained_length,
                ..
            }
            | Self::Distance {
                length,
                trained_length,
                ..
            }
            | Self::Perplexity {
                length,
                trained_length,
                ..
            }
            | Self::PositionLoss {
                length,
                trained_length,
                ..
            } => (length, Some(trained_length)),
        }
    }
}

/// Sizes that a picture can show.
const SIZE_MAX: usize = 1 << 20;

pub(super) fn size(what: &'static str, value: usize) -> Result<(), FigureError> {
    if value == 0 || value > SIZE_MAX {
        let need = "from 1 to 1048576";
        return Err(FigureError::Setting {
            what,
            value: value.to_string(),
            need,
        });
    }
    Ok(())
}
