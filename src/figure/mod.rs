//! Charts: pure functions from numbers to a drawing, generic over the drawing backend of plotters.
//!
//! A [`Figure`] says what to draw, a [`Style`] how large and in which colours; [`draw`] does it on any
//! backend, [`svg`] makes a file. Each chart is one file that turns its numbers into marks in CSS px
//! (`scene`); `frame` holds what they share, `paint` hands the marks to plotters.

mod alibi;
mod alibi_slopes;
mod alibi_softmax;
mod attention;
mod attention_heads;
mod bias_curves;
mod bitmap;
mod chart;
mod colour;
mod context;
mod copy_score;
mod counter;
mod curves;
mod distance;
mod error;
mod frame;
mod geometry;
mod heat;
mod key;
mod learned;
mod legend;
mod measured;
mod none;
mod offsets;
mod order;
mod paint;
mod paired_loss;
mod panels;
mod paper;
mod perplexity;
mod position_loss;
mod position_rows;
mod rotary;
mod rotary_decay;
mod rotary_methods;
mod rotary_scores;
mod rotary_table;
mod scale;
mod scene;
mod series;
mod settings;
mod similarity;
mod sinusoidal;
mod slope_marks;
mod speed_bars;
mod style;
mod svg;
mod t5_bias;
mod t5_matrix;
mod t5_strip;
mod table;
mod text;
mod wavelengths;
mod waves;
mod window_layout;
mod windows;
mod words;
mod xpos_decay;

pub use alibi::AlibiMatrices;
pub use alibi_slopes::AlibiSlopes;
pub use alibi_softmax::AlibiSoftmax;
pub use attention::Attention;
#[cfg(target_arch = "wasm32")]
pub(crate) use attention::scale_tables;
pub use attention_heads::AttentionHeads;
pub use bias_curves::BiasCurves;
pub use bitmap::Bitmap;
pub use colour::{Rgb, encoding_colour};
pub use context::EffectiveContext;
pub use copy_score::{CopyPoint, CopyScore, CopySeries};
pub use counter::Counter;
pub use distance::Distance;
pub use error::FigureError;
pub use geometry::{Geometry, Plot, PlotKind};
pub use learned::Learned;
pub use none::CausalMask;
pub use offsets::Offsets;
pub use paired_loss::PairedLoss;
pub use paper::{Paper, Protocol};
pub use perplexity::Perplexity;
pub use position_loss::PositionLoss;
pub use position_rows::Measure;
pub use rotary::Rotary;
pub use rotary_decay::RotaryDecay;
pub use rotary_methods::RotaryMethods;
pub use rotary_scores::RotaryScores;
pub use rotary_table::RotaryTable;
pub use series::{Point, Series};
pub use settings::{FIGURES, Figure};
pub use similarity::Similarity;
pub use sinusoidal::Sinusoidal;
pub use speed_bars::{SpeedBar, SpeedBars, SpeedGroup};
pub use style::{SIDE_MAX_PX, Style, Theme};
#[cfg(not(target_arch = "wasm32"))]
pub use svg::svg;
pub use t5_bias::T5Buckets;
pub use t5_matrix::T5Matrix;
pub use table::{Cell, Table};
pub use wavelengths::Wavelengths;
pub use waves::Waves;
pub use windows::{WindowLayout, Windows};
pub use words::{DEFAULT_LOCALE, add_locale, locales};
pub use xpos_decay::XposDecay;

#[cfg(target_arch = "wasm32")]
pub(crate) use paint::{Units, paint};
#[cfg(target_arch = "wasm32")]
pub(crate) use svg::svg_with;

use plotters::coord::Shift;
use plotters::prelude::{DrawingArea, DrawingBackend};
use scene::Scene;
use settings::{at_most, size};

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
    figure.chart().compose(&mut scene, style, values);
    Ok(scene)
}

/// Pixels along a side of each of a figure's square heat maps; 0 where it has none.
#[cfg(target_arch = "wasm32")]
pub(crate) fn heat_px(figure: &Figure, style: Style) -> Result<usize, FigureError> {
    let style = Style {
        cells_elsewhere: true,
        ..style
    };
    let marks = compose(figure, &[], &style)?.marks;
    let images = marks.iter().filter_map(|mark| match mark {
        scene::Mark::Image { bitmap, .. } if bitmap.rgba.is_empty() => Some(bitmap.columns),
        _ => None,
    });
    Ok(images.max().unwrap_or(0))
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

/// One line that names what stands at a place of a drawn figure (CSS px), with the program's own numbers, in
/// the language of the locale; `None` where nothing does.
pub fn readout(
    figure: &Figure,
    values: &[f32],
    geometry: &Geometry,
    [x, y]: [f64; 2],
    locale: &str,
) -> Option<String> {
    figure.check(values).ok()?;
    let places = geometry.plots.iter();
    let (plot, (x, y)) = places
        .filter_map(|plot| Some((plot, plot.data_at(x, y)?)))
        .next()?;
    figure
        .chart()
        .readout(values, &chart::At { plot, x, y }, words::Words::of(locale))
}
