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
mod legend;
mod none;
mod order;
mod paint;
mod perplexity;
mod position_loss;
mod readout;
mod rotary;
mod scale;
mod scene;
mod settings;
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
pub use settings::Figure;
pub use style::{SIDE_MAX_PX, Style, Theme};
#[cfg(not(target_arch = "wasm32"))]
pub use svg::svg;

#[cfg(target_arch = "wasm32")]
pub(crate) use paint::{Units, paint};

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend};
use scene::Scene;
use settings::size;

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
