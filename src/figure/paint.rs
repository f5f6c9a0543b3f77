//! Draws a [`Scene`] with plotters, on whatever backend it has.

use super::bitmap::Bitmap;
use super::colour::Rgb;
use super::error::FigureError;
use super::geometry::Rect;
use super::scene::{Align, Mark, Scene, Stroke, Text};
use super::style::Style;
use plotters::coord::Shift;
use plotters::element::{Drawable, PointCollection};
use plotters::prelude::{Circle, DrawingArea, DrawingBackend, PathElement, Polygon, RGBAColor, Rectangle};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{FontFamily, FontStyle, ShapeStyle, TextStyle};
use plotters_backend::{BackendCoord, DrawingErrorKind};

/// How CSS px become the backend's whole units.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    /// Backend units a CSS px. Backends take whole numbers, so more units make finer curves.
    pub scale: f64,
    /// What the backend makes of a font size is divided by this (plotters-svg: 1.24).
    pub text: f64,
    /// Moves text down by this share of its size, where a backend's middle is not the others'.
    pub text_shift: f64,
}

impl Units {
    pub fn of(style: &Style) -> Self {
        Self {
            scale: style.pixel_ratio,
            text: 1.0,
            text_shift: 0.0,
        }
    }

    fn at(&self, [x, y]: [f64; 2]) -> (i32, i32) {
        ((x * self.scale).round() as i32, (y * self.scale).round() as i32)
    }

    fn length(&self, px: f64) -> u32 {
        (px * self.scale).round().max(1.0) as u32
    }

    /// A rectangle as its corners in backend units.
    pub fn corners(&self, rect: Rect) -> [(i32, i32); 2] {
        [self.at([rect.x, rect.y]), self.at([rect.right(), rect.bottom()])]
    }
}

type Area<DB> = DrawingArea<DB, Shift>;

/// Draws all marks; bitmaps are handed to `place` with their corners in backend units.
pub(crate) fn paint<DB: DrawingBackend>(
    area: &Area<DB>,
    scene: &Scene,
    style: &Style,
    units: Units,
    mut place: impl FnMut(&Area<DB>, &Bitmap, [(i32, i32); 2]) -> Result<(), FigureError>,
) -> Result<(), FigureError> {
    for mark in &scene.marks {
        match mark {
            Mark::Image { rect, bitmap } => place(area, bitmap, units.corners(*rect))?,
            Mark::Text(text) => draw_text(area, text, style, units)?,
            _ => draw_shape(area, mark, units)?,
        }
    }
    Ok(())
}

fn draw_shape<DB: DrawingBackend>(area: &Area<DB>, mark: &Mark, units: Units) -> Result<(), FigureError> {
    let all = |points: &[[f64; 2]]| -> Vec<(i32, i32)> { points.iter().map(|&p| units.at(p)).collect() };
    let line = |stroke: &Stroke| ShapeStyle {
        color: rgba(stroke.colour, stroke.alpha),
        filled: false,
        stroke_width: units.length(stroke.width),
    };
    let fill = |colour, alpha| ShapeStyle {
        color: rgba(colour, alpha),
        filled: true,
        stroke_width: 0,
    };
    match mark {
        Mark::Line { points, stroke } => area.draw(&PathElement::new(all(points), line(stroke))),
        Mark::Area {
            points,
            colour,
            alpha,
        } => area.draw(&Polygon::new(all(points), fill(*colour, *alpha))),
        Mark::Rect { rect, colour } => area.draw(&Rectangle::new(units.corners(*rect), fill(*colour, 1.0))),
        Mark::Disc {
            centre,
            radius,
            colour,
        } => area.draw(&Circle::new(
            units.at(*centre),
            units.length(*radius),
            fill(*colour, 1.0),
        )),
        Mark::Ring {
            centre,
            radius,
            stroke,
        } => area.draw(&Circle::new(
            units.at(*centre),
            units.length(*radius),
            line(stroke),
        )),
        Mark::Text(_) | Mark::Image { .. } => Ok(()),
    }
    .map_err(|error| FigureError::Backend(error.to_string()))
}

fn draw_text<DB: DrawingBackend>(
    area: &Area<DB>,
    text: &Text,
    style: &Style,
    units: Units,
) -> Result<(), FigureError> {
    let across = match text.align {
        Align::Left => HPos::Left,
        Align::Centre => HPos::Center,
        Align::Right => HPos::Right,
    };
    let weight = if text.bold {
        FontStyle::Bold
    } else {
        FontStyle::Normal
    };
    let font = (
        FontFamily::Name(&style.font),
        text.size * units.scale * units.text,
        weight,
    );
    let colour = rgba(text.colour, 1.0);
    let words = TextStyle::from(font)
        .color(&colour)
        .pos(Pos::new(across, VPos::Center));
    let at = units.at([text.x, text.y + text.size * units.text_shift]);
    area.draw(&plotters::element::Text::new(text.text.as_str(), at, words))
        .map_err(|error| FigureError::Backend(error.to_string()))
}

/// Enlarges a bitmap to whole backend units without smoothing and blits it: for backends that can
/// place no image of another size.
pub(crate) fn blit<DB: DrawingBackend>(
    area: &Area<DB>,
    bitmap: &Bitmap,
    [(left, top), (right, bottom)]: [(i32, i32); 2],
) -> Result<(), FigureError> {
    let (width, height) = ((right - left).max(0) as usize, (bottom - top).max(0) as usize);
    let mut rgb = Vec::with_capacity(width * height * 3);
    for y in 0..height {
        for x in 0..width {
            let colour = bitmap.at(y * bitmap.rows / height, x * bitmap.columns / width);
            rgb.extend_from_slice(&[colour.0, colour.1, colour.2]);
        }
    }
    let image = Blit {
        at: (left, top),
        size: (width as u32, height as u32),
        rgb,
    };
    area.draw(&image)
        .map_err(|error| FigureError::Backend(error.to_string()))
}

/// An image of the backend's own pixels (plotters has one, but only together with its bitmap backend).
struct Blit {
    at: (i32, i32),
    size: (u32, u32),
    /// `[height][width][red, green, blue]`
    rgb: Vec<u8>,
}

impl<'a> PointCollection<'a, (i32, i32)> for &'a Blit {
    type Point = &'a (i32, i32);
    type IntoIter = std::iter::Once<&'a (i32, i32)>;

    fn point_iter(self) -> Self::IntoIter {
        std::iter::once(&self.at)
    }
}

impl<DB: DrawingBackend> Drawable<DB> for Blit {
    fn draw<I: Iterator<Item = BackendCoord>>(
        &self,
        points: I,
        backend: &mut DB,
        _: (u32, u32),
    ) -> Result<(), DrawingErrorKind<DB::ErrorType>> {
        points
            .into_iter()
            .try_for_each(|at| backend.blit_bitmap(at, self.size, &self.rgb))
    }
}

fn rgba(Rgb(red, green, blue): Rgb, alpha: f64) -> RGBAColor {
    RGBAColor(red, green, blue, alpha)
}
