//! Charts: pure functions from numbers to a drawing, generic over the drawing backend of plotters.
//!
//! A [`Figure`] says what to draw, a [`Style`] how large and in which colours; [`draw`] does it on any
//! backend, [`svg`] makes a file. Each chart is one file that turns its numbers into marks in CSS px
//! (`scene`); `frame` holds what they share, `paint` hands the marks to plotters.

mod alibi;
mod attention;
mod bitmap;
mod colour;
mod curves;
mod distance;
mod error;
mod frame;
mod geometry;
mod heat;
mod learned;
mod none;
mod paint;
mod perplexity;
mod position_loss;
mod readout;
mod rotary;
mod scale;
mod scene;
mod sinusoidal;
mod style;
#[cfg(not(target_arch = "wasm32"))]
mod svg;
mod t5_bias;
mod text;

pub use bitmap::Bitmap;
pub use colour::{Rgb, encoding_colour};
pub use error::FigureError;
pub use geometry::{Geometry, Plot, PlotKind};
pub use perplexity::{Point, Series};
pub use readout::readout;
pub use style::{SIDE_MAX_PX, Style, Theme};
#[cfg(not(target_arch = "wasm32"))]
pub use svg::svg;

#[cfg(target_arch = "wasm32")]
pub(crate) use paint::{Units, paint};

use crate::encoding::{Layout, Pairing};
use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend};
use scene::Scene;
use serde::{Deserialize, Serialize};

/// One picture and its settings; in JSON `{"figure": "alibi", "heads": 8, "length": 64, …}`.
/// The numbers that a model gave stand apart, as `values`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "figure", rename_all = "snake_case")]
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

    fn check(&self, values: &[f32]) -> Result<(), FigureError> {
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

fn size(what: &'static str, value: usize) -> Result<(), FigureError> {
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

/// The marks of a figure and the places of its plots.
pub(crate) fn compose(figure: &Figure, values: &[f32], style: &Style) -> Result<Scene, FigureError> {
    for (what, value, most) in [
        ("width in CSS px", style.width, SIDE_MAX_PX),
        ("height in CSS px", style.height, SIDE_MAX_PX),
        ("pixel ratio", style.pixel_ratio, 16.0),
    ] {
        // Written so that NaN is refused too.
        if !(value > 0.0 && value <= most) {
            let need = "above 0, and at most 8192 CSS px a side and 16 device pixels a CSS px";
            return Err(FigureError::Setting {
                what,
                value: value.to_string(),
                need,
            });
        }
    }
    figure.check(values)?;
    let mut scene = Scene::default();
    if style.background {
        let paper = geometry::Rect {
            x: 0.0,
            y: 0.0,
            width: style.width,
            height: style.height,
        };
        scene.rect(paper, style.ink().paper);
    }
    match figure {
        Figure::Sinusoidal {
            length,
            d_model,
            layout,
            base,
            trained_length,
        } => sinusoidal::compose(
            &mut scene,
            style,
            *length,
            *d_model,
            *layout,
            *base,
            *trained_length,
        ),
        Figure::Rotary {
            d_head,
            base,
            pairing,
            query,
            key,
            trained_length,
        } => {
            let rotary = rotary::encoding(*base, *pairing);
            rotary::compose(
                &mut scene,
                style,
                &rotary,
                *d_head,
                [*query, *key],
                *trained_length,
            )
        }
        Figure::T5Bias {
            heads,
            buckets,
            max_distance,
            bidirectional,
            length,
            trained_length,
        } => {
            let bias = t5_bias::encoding(*buckets, *max_distance, *bidirectional);
            t5_bias::compose(&mut scene, style, &bias, *heads, *length, *trained_length, values)
        }
        Figure::Alibi {
            heads,
            length,
            slopes,
            trained_length,
        } => alibi::compose(
            &mut scene,
            style,
            *heads,
            *length,
            slopes.clone(),
            *trained_length,
        ),
        Figure::Learned {
            length,
            trained_length,
            d_model,
        } => learned::compose(&mut scene, style, *length, *trained_length, *d_model, values),
        Figure::None {
            length,
            trained_length,
        } => none::compose(&mut scene, style, *length, *trained_length),
        Figure::Attention {
            length,
            trained_length,
            side,
            ..
        } => attention::compose(&mut scene, style, *length, *trained_length, *side, values),
        Figure::Distance { .. } => distance::compose(&mut scene, style, figure, values),
        Figure::Perplexity { .. } => perplexity::compose(&mut scene, style, figure),
        Figure::PositionLoss {
            length,
            trained_length,
            encoding,
        } => position_loss::compose(&mut scene, style, *length, *trained_length, encoding, values),
    }?;
    Ok(scene)
}

/// Draws a figure on an area of `width × pixel_ratio` by `height × pixel_ratio` pixels.
///
/// # Errors
/// Settings or values that make no figure, or a backend that refuses.
pub fn draw<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    figure: &Figure,
    values: &[f32],
    style: &Style,
) -> Result<Geometry, FigureError> {
    let scene = compose(figure, values, style)?;
    paint::paint(area, &scene, style, paint::Units::of(style), paint::blit)?;
    Ok(scene.geometry)
}
