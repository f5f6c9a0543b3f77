//! Heat maps of position × dimension, and square ones of position × position: their frames.

use super::bitmap::{Bitmap, cells_for};
use super::colour::{Colours, Rgb};
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::legend::Legend;
use super::scale::{self, Scale};
use super::scene::{Scene, Stroke};
use super::style::Style;
use super::text;

/// Draws position (across) × dimension (down). `column(from, to)` gives the colours of one drawn
/// column, the positions `from … to − 1`: `[d_model]`.
pub(crate) fn positions(
    scene: &mut Scene,
    style: &Style,
    [length, d_model]: [usize; 2],
    trained: Option<usize>,
    legend: Option<Legend>,
    column: impl FnMut(usize, usize) -> Vec<Rgb>,
) -> Rect {
    let size = style.text_px();
    let legend_width = (style.width * 0.4).clamp(110.0, 240.0);
    let y_ticks = frame::count_ticks(&scale::positions(
        d_model,
        if style.height < 320.0 { 4 } else { 8 },
    ));
    let y_axis = Axis::new(y_ticks, style.words().say("dimension_down"));
    let plot = frame::inside(
        style,
        Margins {
            left: frame::labels_width(&y_axis, style) + 14.0,
            right: 12.0,
            top: Legend::height(style) + size * 1.3,
            bottom: size * 2.6 + 14.0,
        },
    );
    let x = Scale::linear([0.0, length as f64], [plot.x, plot.right()]);
    let y = Scale::linear([d_model as f64, 0.0], [plot.bottom(), plot.y]);
    scene.image(plot, positions_bitmap(style, plot, [length, d_model], column));
    let x_ticks = scale::positions(length, frame::most_ticks(plot.width, 64.0));
    // Above the mark of L, where both would stand at the left.
    let heading_width = text::width(&y_axis.title, size) + 8.0;
    let is_crowded = trained.is_some_and(|trained| x.px(trained as f64) < heading_width + size * 3.0);
    let up = if is_crowded { size * 1.9 } else { size * 0.55 };
    frame::heading(scene, style, 0.0, plot.y - 6.0 - up, &y_axis.title);
    frame::y_axis(scene, style, plot, &y, &y_axis);
    frame::x_axis(
        scene,
        style,
        plot,
        &x,
        &Axis::new(frame::count_ticks(&x_ticks), style.words().say("position")),
    );
    if let Some(legend) = legend {
        legend.draw(scene, style, plot.right(), 0.0, legend_width);
    }
    if let Some(trained) = trained {
        frame::mark_trained_x(scene, style, plot, &x, trained, true);
    }
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Cells, 0, plot, &x, &y));
    plot
}

/// The cells of position (across) × dimension (down) on the pixels of a plot; `column` as in [`positions`].
pub(super) fn positions_bitmap(
    style: &Style,
    plot: Rect,
    [length, d_model]: [usize; 2],
    mut column: impl FnMut(usize, usize) -> Vec<Rgb>,
) -> Bitmap {
    let columns = cells_for(length, plot.width * style.pixel_ratio);
    let by_column: Vec<Vec<Rgb>> = (0..columns)
        .map(|index| {
            let (from, to) = super::bitmap::span(index, columns, length);
            column(from, to)
        })
        .collect();
    let rows = cells_for(d_model, plot.height * style.pixel_ratio);
    Bitmap::from_fn(rows, columns, |row, column| {
        by_column[column][row * d_model / rows]
    })
}

/// The mean of the positions of one column as a colour, `undefined` where it is not a number.
pub(crate) fn colour_of(colours: &Colours, t: f64, undefined: Rgb) -> Rgb {
    if t.is_nan() { undefined } else { colours.at(t) }
}

/// The frame of one square matrix of position × position, usually query (down) × key (across), L marked on
/// both axes.
pub(crate) struct Square {
    pub plot: Rect,
    x: Scale,
    y: Scale,
}

impl Square {
    /// Lays the square out; with `legend` it leaves room for a legend above.
    pub fn new(style: &Style, length: usize, legend: bool) -> Self {
        Self::below(style, length, if legend { Legend::height(style) } else { 0.0 })
    }

    /// As [`new`](Self::new), below what takes `above` CSS px.
    pub fn below(style: &Style, length: usize, above: f64) -> Self {
        let size = style.text_px();
        let left = text::width(&text::count(length), size) + 14.0;
        let top = size * 3.3 + above;
        let outer = frame::inside(
            style,
            Margins {
                left,
                right: 10.0,
                top,
                bottom: size * 2.6 + 14.0,
            },
        );
        let side = style.snap(outer.width.min(outer.height));
        // Where the figure is wider than high, the square stands in the middle.
        let plot_x = style.snap(outer.x + (outer.width - side) / 2.0);
        let plot = Rect {
            x: plot_x,
            width: side,
            height: side,
            ..outer
        };
        Self {
            plot,
            x: Scale::linear([0.0, length as f64], [plot.x, plot.right()]),
            y: Scale::linear([length as f64, 0.0], [plot.bottom(), plot.y]),
        }
    }

    /// Cells a side for `cells` cells of data.
    pub fn cells(&self, style: &Style, cells: usize) -> usize {
        cells_for(cells, self.plot.width * style.pixel_ratio)
    }

    /// The place of a key and a query, CSS px; a cell reaches from its number to the next.
    pub fn px(&self, key: f64, query: f64) -> [f64; 2] {
        [self.x.px(key), self.y.px(query)]
    }

    /// Axes of query and key, and marks over the bitmap.
    pub fn finish(&self, scene: &mut Scene, style: &Style, length: usize, trained: usize) {
        let titles = ["key_position", "query_position_down"].map(|key| style.words().say(key));
        self.finish_titled(scene, style, length, trained, titles);
    }

    /// As [`finish`](Self::finish), with other titles of the axis across and the one down.
    pub fn finish_titled(
        &self,
        scene: &mut Scene,
        style: &Style,
        length: usize,
        trained: usize,
        [across, down]: [&str; 2],
    ) {
        let (plot, size) = (self.plot, style.text_px());
        let most = frame::most_ticks(plot.width, 56.0).min(8);
        let ticks = frame::count_ticks(&scale::positions(length, most));
        let axis = Axis::new(ticks, across);
        frame::x_axis(scene, style, plot, &self.x, &axis);
        frame::y_axis(scene, style, plot, &self.y, &axis);
        let title_x = plot.x - frame::labels_width(&axis, style) - 7.0;
        frame::heading(scene, style, title_x, plot.y - 8.0 - size * 1.7, down);
        let edge = style.snap_hair(plot.x);
        scene.line(
            [[edge, plot.y], [edge, plot.bottom()]],
            Stroke::new(style.ink().axis, style.hair()),
        );
        if trained < length {
            let y = style.snap_hair(self.y.px(trained as f64));
            frame::mark_line(scene, style, [plot.x, y], [plot.right(), y], true);
        }
        frame::mark_trained_x(scene, style, plot, &self.x, trained, true);
        scene
            .geometry
            .plots
            .push(Plot::new(PlotKind::Cells, 0, plot, &self.x, &self.y));
    }
}
