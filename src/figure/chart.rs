use super::error::FigureError;
use super::geometry::Plot;
use super::scene::Scene;
use super::style::Style;
use super::table::Table;
use super::words::Words;

/// What every figure can do. A figure is one file: its settings, and this.
///
/// `values` are the numbers that a model gave; they are empty where they are not there yet. All methods but
/// [`check`](Self::check) are called only after the settings and the count of the values were checked.
pub(crate) trait Chart {
    /// The length T that is shown, and the trained length L where it is marked.
    fn lengths(&self) -> (usize, Option<usize>);

    /// The shape of the values that it needs, written for readers, and their count; `None` where it takes
    /// no values.
    fn values_needed(&self) -> Option<(String, usize)> {
        None
    }

    /// Whether as many standard errors may follow the values.
    fn takes_errors(&self) -> bool {
        false
    }

    /// How many numbers each row of its table has, where there is a row a position.
    fn columns(&self) -> usize {
        1
    }

    /// Checks the settings beyond the lengths.
    ///
    /// # Errors
    /// A setting that makes no figure.
    fn check(&self) -> Result<(), FigureError> {
        Ok(())
    }

    /// Adds the figure's marks and the places of its plots to the scene.
    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]);

    /// One line that names what stands at a place of a plot; `None` where nothing does.
    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String>;

    /// One sentence that says what the figure shows with its present numbers.
    fn summary(&self, values: &[f32], words: &Words) -> String;

    /// The numbers of the figure, as few rows as say all.
    fn table(&self, values: &[f32], words: &Words) -> Table;
}

/// A place in a plot, in the units of its axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At<'a> {
    pub plot: &'a Plot,
    pub x: f64,
    pub y: f64,
}

impl At<'_> {
    /// The cell of `count` under the place, along x and along y.
    pub fn cell(&self, columns: usize, rows: usize) -> (usize, usize) {
        let cell = |at: f64, count: usize| (at.max(0.0) as usize).min(count.saturating_sub(1));
        (cell(self.x, columns), cell(self.y, rows))
    }

    /// The position or distance under the place, below `count`; on an axis of logarithms everything below 1
    /// is 0.
    pub fn position(&self, count: usize) -> usize {
        let at = match self.plot.x_log {
            true if self.x < 1.0 => 0,
            true => self.x as usize,
            false => self.x.round().max(0.0) as usize,
        };
        at.min(count.saturating_sub(1))
    }
}

/// Which of `count` curves is nearest to `y`, and its value.
pub(crate) fn nearest(count: usize, y: f64, value: impl Fn(usize) -> Option<f64>) -> Option<(usize, f64)> {
    (0..count)
        .filter_map(|index| Some((index, value(index)?)))
        .filter(|(_, value)| value.is_finite())
        .min_by(|a, b| (a.1 - y).abs().total_cmp(&(b.1 - y).abs()))
}
