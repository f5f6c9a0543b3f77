use super::chart::{At, Chart};
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::frame;
use super::geometry::Rect;
use super::legend::Legend;
use super::order::quantiles;
use super::scene::Scene;
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{heat, size, text};
use serde::{Deserialize, Serialize};

/// The trained table, and nothing past it. Values: none, or `[trained_length][d_model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Learned {
    pub length: usize,
    pub trained_length: usize,
    pub d_model: usize,
}

impl Chart for Learned {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn values_needed(&self) -> Option<(String, usize)> {
        let (rows, columns) = (self.trained_length, self.d_model);
        let shape = format!("{rows} positions × {columns} dimensions");
        Some((shape, rows.saturating_mul(columns)))
    }

    fn columns(&self) -> usize {
        self.d_model
    }

    fn check(&self) -> Result<(), FigureError> {
        size("d_model", self.d_model)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        compose(
            scene,
            style,
            self.length,
            self.trained_length,
            self.d_model,
            values,
        )
    }

    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String> {
        let (position, column) = at.cell(self.length, self.d_model);
        let value = values.get(position * self.d_model + column);
        let says = match value {
            _ if position >= self.trained_length => {
                words.fill("read_undefined", &[("length", &self.trained_length)])
            }
            Some(&value) => text::number(f64::from(value), 3),
            None => words.say("read_not_loaded").into(),
        };
        Some(words.fill(
            "read_position_dimension",
            &[("position", &position), ("dimension", &column), ("value", &says)],
        ))
    }

    fn summary(&self, values: &[f32], words: &Words) -> String {
        let rows = text::count(self.trained_length);
        if values.is_empty() {
            return words.fill("sum_learned_waiting", &[("rows", &rows)]);
        }
        let largest = values.iter().fold(0.0f32, |most, value| most.max(value.abs()));
        words.fill(
            "sum_learned",
            &[
                ("rows", &rows),
                ("dimensions", &self.d_model),
                ("largest", &text::number(f64::from(largest), 3)),
                (
                    "missing",
                    &text::count(self.length.saturating_sub(self.trained_length)),
                ),
            ],
        )
    }

    fn table(&self, values: &[f32], words: &Words) -> Table {
        let mut table = dimensions_table(self.d_model, words);
        for position in 0..self.length {
            let row = values.get(position * self.d_model..(position + 1) * self.d_model);
            let cell = |column: usize| row.map_or(f32::NAN, |row| row[column]).into();
            table.row(std::iter::once(position.into()).chain((0..self.d_model).map(cell)));
        }
        table
    }
}

/// A table of positions with a column a dimension.
pub(super) fn dimensions_table(d_model: usize, words: &Words) -> Table {
    let dimensions = (0..d_model).map(|column| words.fill("col_dimension", &[("dimension", &column)]));
    Table::new(std::iter::once(words.say("col_position").to_string()).chain(dimensions))
}

/// The largest absolute value that is shown in full colour: the 99th percentile, so that one outlier
/// does not pale the rest.
fn reach(values: &[f32]) -> f64 {
    let sizes = values.iter().map(|value| f64::from(value.abs())).collect();
    let Some([reach]) = quantiles(sizes, [0.99]) else {
        return 1.0;
    };
    // One significant digit, upwards: a number to write on the legend.
    let ten = 10f64.powf(reach.log10().floor());
    if reach > 0.0 {
        (reach / ten * 2.0).ceil() / 2.0 * ten
    } else {
        1.0
    }
}

fn compose(scene: &mut Scene, style: &Style, length: usize, trained: usize, d_model: usize, values: &[f32]) {
    let colours = Colours::new(Ramp::Signed, style.theme);
    let ink = style.ink();
    let reach = reach(values);
    let legend = Legend {
        colours: &colours,
        title: style.words().say("value_added"),
        ticks: vec![
            (0.0, format!("≤ {}", text::number(-reach, 2))),
            (0.5, "0".into()),
            (1.0, format!("≥ {}", text::number(reach, 2))),
        ],
    };
    let legend = (!values.is_empty()).then_some(legend);
    let plot = heat::positions(
        scene,
        style,
        [length, d_model],
        Some(trained),
        legend,
        |from, to| {
            let value = |column: usize| {
                if values.is_empty() || from >= trained {
                    return f64::NAN;
                }
                let rows = from..to.min(trained);
                let count = rows.len() as f64;
                rows.map(|row| f64::from(values[row * d_model + column]))
                    .sum::<f64>()
                    / count
            };
            (0..d_model)
                .map(|column| heat::colour_of(&colours, value(column) / reach * 0.5 + 0.5, ink.masked))
                .collect()
        },
    );
    if values.is_empty() {
        let inside = Rect {
            width: plot.width * (trained as f64 / length as f64).min(1.0),
            ..plot
        };
        frame::note(
            scene,
            style,
            inside,
            style.words().say("learned_waiting"),
            style.ink().paper,
        );
    }
    if length > trained {
        let left = style.snap(plot.x + plot.width * trained as f64 / length as f64);
        let past = Rect {
            x: left,
            width: plot.right() - left,
            ..plot
        };
        frame::hatch(scene, style, past, ink.axis.mix(ink.masked, 0.45));
        let mut sentence = style
            .words()
            .fill("undefined_no_row", &[("length", &text::count(trained))]);
        if text::width(&sentence, style.text_px()) > past.width - 24.0 {
            sentence = style
                .words()
                .fill("undefined_past", &[("length", &text::count(trained))]);
        }
        if past.width > style.text_px() * 6.0 {
            frame::note(scene, style, past, &sentence, ink.masked);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::reach;

    #[test]
    fn the_reach_is_a_round_number_that_ignores_outliers() {
        let mut values: Vec<f32> = (0..1000).map(|i| (i as f32 / 1000.0 - 0.5) * 0.6).collect();
        values[0] = 1000.0;
        values[1] = f32::NAN;
        assert!((reach(&values) - 0.3).abs() < 1e-9);
        assert_eq!(reach(&[]), 1.0);
        assert_eq!(reach(&[0.0, 0.0]), 1.0);
    }
}
