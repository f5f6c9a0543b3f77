use super::chart::{At, Chart};
use super::error::FigureError;
use super::position_loss::Losses;
use super::scene::Scene;
use super::settings::size;
use super::style::Style;
use super::table::Table;
use super::text;
use super::words::Words;
use serde::{Deserialize, Serialize};

/// The loss of each token in windows of T minus the loss of the same token in windows of L, by its position in
/// the window of T: what a token gains by the context that the shorter window cuts off. Values: none, or nats
/// `[ceil(length / cell)]`, or these and their standard errors, `[2][ceil(length / cell)]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PairedLoss {
    pub length: usize,
    pub trained_length: usize,
    pub encoding: String,
    /// Each value is the mean of so many neighbouring positions.
    #[serde(default = "one")]
    pub cell: usize,
}

fn one() -> usize {
    1
}

impl PairedLoss {
    fn cells(&self) -> usize {
        self.length.div_ceil(self.cell.max(1))
    }

    /// The differences, and their standard errors where these are known.
    fn parts<'a>(&self, values: &'a [f32]) -> (&'a [f32], &'a [f32]) {
        values.split_at(self.cells().min(values.len()))
    }

    /// The first and the last position of a cell.
    fn ends(&self, cell: usize) -> [usize; 2] {
        let from = cell * self.cell;
        [from, (from + self.cell).min(self.length) - 1]
    }

    /// Means over the cells that have a value: of all; and past L, of those whose tokens stand in the first
    /// tenth of a window of L, and of the others.
    fn means(&self, values: &[f32]) -> [f64; 3] {
        let mut sums = [[0.0; 2]; 3];
        for (cell, &value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
            let [from, to] = self.ends(cell);
            let middle = (from + to) / 2;
            let starved = middle % self.trained_length < self.trained_length.div_ceil(10);
            let groups = [
                true,
                middle >= self.trained_length && starved,
                middle >= self.trained_length && !starved,
            ];
            for (sum, _) in sums.iter_mut().zip(groups).filter(|(_, belongs)| *belongs) {
                sum[0] += f64::from(value) * (to - from + 1) as f64;
                sum[1] += (to - from + 1) as f64;
            }
        }
        sums.map(|[sum, count]| sum / count)
    }
}

impl Chart for PairedLoss {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn values_needed(&self) -> Option<(String, usize)> {
        let cells = self.cells();
        Some((format!("{cells} cells of {} positions", self.cell), cells))
    }

    fn takes_errors(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), FigureError> {
        size("number of positions in a cell", self.cell)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        let losses = Losses {
            length: self.length,
            trained: self.trained_length,
            encoding: &self.encoding,
            cell: self.cell,
            differences: true,
            errors: self.parts(values).1,
        };
        losses.compose(scene, style, self.parts(values).0);
    }

    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String> {
        let (values, errors) = self.parts(values);
        let cell = at.position(self.length) / self.cell;
        let mut value = text::number(f64::from(*values.get(cell)?), 3);
        if let Some(error) = errors.get(cell).filter(|error| error.is_finite()) {
            value += &format!(" ± {}", text::number(f64::from(*error), 2));
        }
        let [from, to] = self.ends(cell);
        let position = match from == to {
            true => text::count(from),
            false => format!("{}–{}", text::count(from), text::count(to)),
        };
        Some(words.fill(
            "read_paired_loss",
            &[
                ("position", &position),
                ("context", &text::count(from + 1)),
                ("short", &text::count(from % self.trained_length + 1)),
                ("value", &value),
            ],
        ))
    }

    fn summary(&self, values: &[f32], words: &Words) -> String {
        let (values, _) = self.parts(values);
        let [all, early, late] = self.means(values);
        let key = match (values.is_empty(), early.is_finite() && late.is_finite()) {
            (true, _) => "sum_paired_waiting",
            (_, true) => "sum_paired",
            _ => "sum_paired_short",
        };
        words.fill(
            key,
            &[
                ("encoding", &words.encoding(&self.encoding)),
                ("length", &text::count(self.length)),
                ("trained", &text::count(self.trained_length)),
                ("tenth", &text::count(self.trained_length.div_ceil(10))),
                ("all", &text::number(all, 3)),
                ("early", &text::number(early, 3)),
                ("late", &text::number(late, 3)),
            ],
        )
    }

    fn table(&self, values: &[f32], words: &Words) -> Table {
        let (values, errors) = self.parts(values);
        let keys = [
            "col_first_position",
            "col_context_long",
            "col_context_short",
            "col_difference_loss",
            "col_standard_error",
        ];
        let shown = keys.len() - usize::from(errors.is_empty());
        let mut table = Table::new(keys[..shown].iter().map(|key| words.say(key)));
        for (cell, &value) in values.iter().enumerate() {
            let [from, _] = self.ends(cell);
            let places = [from, from + 1, from % self.trained_length + 1].map(Into::into);
            let numbers = [value].into_iter().chain(errors.get(cell).copied());
            table.row(places.into_iter().chain(numbers.map(Into::into)));
        }
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_that_begin_a_short_window_are_told_from_the_others() {
        let figure = PairedLoss {
            length: 30,
            trained_length: 10,
            encoding: "alibi".into(),
            cell: 1,
        };
        // 0 within L; past it −3 where a window of L begins, else −1.
        let loss = |position: usize| match (position < 10, position % 10) {
            (true, _) => 0.0,
            (_, 0) => -3.0,
            _ => -1.0,
        };
        let values: Vec<f32> = (0..30).map(loss).collect();
        assert_eq!(figure.means(&values), [-24.0 / 30.0, -3.0, -1.0]);
        let pooled = PairedLoss { cell: 16, ..figure };
        assert_eq!([pooled.ends(0), pooled.ends(1)], [[0, 15], [16, 29]]);
        // 16 positions of the first cell and 14 of the second.
        assert_eq!(pooled.means(&[1.0, 4.0])[0], (16.0 + 56.0) / 30.0);
    }
}
