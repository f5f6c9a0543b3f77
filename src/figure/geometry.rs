use super::scale::{Scale, invert};
use serde::{Deserialize, Serialize};

/// Where the plots of a drawn figure stand, so that a pointer can be read as data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Geometry {
    pub plots: Vec<Plot>,
}

/// What a plot's area shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlotKind {
    /// A matrix of cells.
    Cells,
    /// Curves over x.
    Curves,
    /// A row of segments.
    Strip,
    /// A clock face; its axes are from −1 to 1.
    Dial,
}

/// One plot: its rectangle in CSS px and its axes, left to right and **bottom to top** or, in a matrix
/// whose rows go down, top to bottom: `y_range` is `[at the bottom, at the top]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    pub kind: PlotKind,
    /// Which of several: the head, or the pair of dimensions.
    pub index: usize,
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub x_range: [f64; 2],
    pub y_range: [f64; 2],
    pub x_log: bool,
    pub y_log: bool,
}

impl Plot {
    pub(crate) fn new(kind: PlotKind, index: usize, rect: Rect, x: &Scale, y: &Scale) -> Self {
        Self {
            kind,
            index,
            x: rect.x,
            y: rect.y,
            width: rect.width,
            height: rect.height,
            x_range: x.domain(),
            y_range: y.domain(),
            x_log: x.is_log(),
            y_log: y.is_log(),
        }
    }

    /// The data at a place in CSS px; `None` outside the plot.
    pub fn data_at(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (right, down) = ((x - self.x) / self.width, (y - self.y) / self.height);
        let inside = (0.0..=1.0).contains(&right) && (0.0..=1.0).contains(&down);
        inside.then(|| {
            (
                invert(self.x_range, self.x_log, right),
                invert(self.y_range, self.y_log, 1.0 - down),
            )
        })
    }
}

/// A rectangle in CSS px.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Rect {
    pub fn right(&self) -> f64 {
        self.x + self.width
    }

    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }
}
