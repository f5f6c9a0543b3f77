use super::chart::{At, Chart};
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::frame::{self, Axis};
use super::geometry::{Plot, PlotKind, Rect};
use super::legend::Legend;
use super::rotary::{check_rotary, encoding, pair_of};
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Text};
use super::settings::usual_base;
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{heat, text};
use crate::encoding::Pairing;
use serde::{Deserialize, Serialize};

/// The cosines and sines that turn queries and keys, as two heat maps of position × dimension: each
/// dimension's row has its pair's angle. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RotaryTable {
    pub d_head: usize,
    #[serde(default = "usual_base")]
    pub base: f64,
    #[serde(default)]
    pub pairing: Pairing,
    pub length: usize,
    pub trained_length: usize,
}

/// A function of the angle and its name.
type Function = (fn(f64) -> f64, &'static str);

/// What the two heat maps show, in their order.
const FUNCTIONS: [Function; 2] = [(f64::cos, "cos"), (f64::sin, "sin")];

impl RotaryTable {
    /// Radians a token, `[d_head / 2]`.
    fn frequencies(&self) -> Vec<f64> {
        encoding(self.base, self.pairing).inv_freq(self.d_head)
    }
}

impl Chart for RotaryTable {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn columns(&self) -> usize {
        self.d_head
    }

    fn check(&self) -> Result<(), FigureError> {
        check_rotary(self.d_head, self.base)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let (position, dimension) = at.cell(self.length, self.d_head);
        let pair = pair_of(dimension, self.d_head, self.pairing);
        let angle = position as f64 * self.frequencies().get(pair)?;
        let (function, name) = FUNCTIONS.get(at.plot.index)?;
        Some(words.fill(
            "read_rotary_table",
            &[
                ("position", &position),
                ("dimension", &dimension),
                ("pair", &pair),
                ("function", name),
                ("value", &text::fixed(function(angle), 2)),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let pairing = match self.pairing {
            Pairing::Halves => "pairing_halves",
            Pairing::Interleaved => "pairing_interleaved",
        };
        words.fill(
            "sum_rotary_table",
            &[
                ("length", &text::count(self.length)),
                ("dimensions", &self.d_head),
                ("pairs", &(self.d_head / 2)),
                ("pairing", &words.say(pairing)),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let frequencies = self.frequencies();
        let column = |function: &str| {
            let fill = |pair| words.fill("col_function_pair", &[("function", &function), ("pair", &pair)]);
            (0..frequencies.len()).map(fill).collect::<Vec<_>>()
        };
        let position = words.say("col_position").to_string();
        let columns = FUNCTIONS.iter().flat_map(|(_, name)| column(name));
        let mut table = Table::new(std::iter::once(position).chain(columns));
        for position in 0..self.length {
            let cells = FUNCTIONS.iter().flat_map(|(function, _)| {
                let value = |frequency| function(position as f64 * frequency).into();
                frequencies.iter().map(value)
            });
            table.row(std::iter::once(position.into()).chain(cells));
        }
        table
    }
}

/// Where the two heat maps stand: side by side where there is room, else the sines below the cosines.
fn layout(style: &Style, left: f64, top: f64, bottom: f64) -> [Rect; 2] {
    let (right, size) = (12.0, style.text_px());
    let side_by_side = style.width >= 560.0 && style.width > style.height * 1.2;
    let gap = if side_by_side { 36.0 } else { size * 1.6 + 6.0 };
    let (across, down) = if side_by_side { (2.0, 1.0) } else { (1.0, 2.0) };
    let width = (style.width - left - right - gap * (across - 1.0)) / across;
    let height = (style.height - top - bottom - gap * (down - 1.0)) / down;
    let (width, height) = (width.max(8.0), height.max(8.0));
    [0.0, 1.0].map(|index| {
        let x = style.snap(left + index * (across - 1.0) * (width + gap));
        let y = style.snap(top + index * (down - 1.0) * (height + gap));
        Rect {
            x,
            y,
            width: style.snap(width),
            height: style.snap(height),
        }
    })
}

/// Where positions are narrower than pixels, a column shows the mean of its positions, as in `Sinusoidal`.
fn compose(scene: &mut Scene, style: &Style, figure: &RotaryTable) {
    let (size, words) = (style.text_px(), style.words());
    let (length, d_head, trained) = (figure.length, figure.d_head, figure.trained_length);
    let colours = Colours::new(Ramp::Signed, style.theme);
    let most_rows = if style.height < 400.0 { 4 } else { 8 };
    let y_ticks = frame::count_ticks(&scale::positions(d_head, most_rows));
    let y_axis = Axis::new(y_ticks, words.say("dimension_down"));
    let left = frame::labels_width(&y_axis, style) + 14.0;
    let top = Legend::height(style) + size * 2.9;
    let plots = layout(style, left, top, size * 2.6 + 14.0);
    let stacked = plots[0].x == plots[1].x;

    for (index, (plot, (_, name))) in plots.into_iter().zip(FUNCTIONS).enumerate() {
        let x = Scale::linear([0.0, length as f64], [plot.x, plot.right()]);
        let y = Scale::linear([d_head as f64, 0.0], [plot.bottom(), plot.y]);
        let mut turns = Turns::new(&figure.frequencies());
        let bitmap = heat::positions_bitmap(style, plot, [length, d_head], |from, to| {
            let means = turns.mean(to - from);
            let value = |dimension| means[pair_of(dimension, d_head, figure.pairing)][index];
            (0..d_head)
                .map(|dimension| colours.at(value(dimension) * 0.5 + 0.5))
                .collect()
        });
        scene.image(plot, bitmap);
        let is_first_column = stacked || index == 0;
        if is_first_column {
            frame::y_axis(scene, style, plot, &y, &y_axis);
        }
        if !stacked || index == 1 {
            let ticks = scale::positions(length, frame::most_ticks(plot.width, 64.0));
            let axis = Axis::new(frame::count_ticks(&ticks), words.say("position"));
            frame::x_axis(scene, style, plot, &x, &axis);
        }
        // The label of L stands over the upper heat map only; between the two there is no room.
        if stacked && index == 1 {
            if x.contains(trained as f64) {
                let at = style.snap_hair(x.px(trained as f64));
                frame::mark_line(scene, style, [at, plot.y], [at, plot.bottom()], true);
            }
        } else {
            frame::mark_trained_x(scene, style, plot, &x, trained, true);
        }
        let title_y = plot.y - size * if stacked && index == 1 { 0.9 } else { 2.3 };
        if index == 0 {
            frame::heading(scene, style, 0.0, title_y, &y_axis.title);
        }
        let title = frame::words(style, plot.right(), title_y, format!("{name}(m·θ)"), Align::Right);
        scene.text(Text {
            colour: style.ink().strong,
            bold: true,
            ..title
        });
        scene
            .geometry
            .plots
            .push(Plot::new(PlotKind::Cells, index, plot, &x, &y));
    }
    let legend = Legend {
        colours: &colours,
        title: words.say("table_value"),
        ticks: vec![(0.0, "−1".into()), (0.5, "0".into()), (1.0, "1".into())],
    };
    let width = (style.width * 0.4).clamp(110.0, 240.0);
    legend.draw(scene, style, plots[1].right(), 0.0, width);
}

/// All pairs, turned from position to position by multiplying with one step: a cosine for every cell would
/// cost more than the picture's frame.
struct Turns {
    /// `[cos, sin]` of each pair at the present position.
    now: Vec<[f64; 2]>,
    step: Vec<[f64; 2]>,
}

impl Turns {
    fn new(frequencies: &[f64]) -> Self {
        let step = frequencies.iter().map(|frequency| {
            let (sin, cos) = frequency.sin_cos();
            [cos, sin]
        });
        Self {
            now: vec![[1.0, 0.0]; frequencies.len()],
            step: step.collect(),
        }
    }

    /// The means `[cos, sin]` of the next `count` positions, one a pair.
    fn mean(&mut self, count: usize) -> Vec<[f64; 2]> {
        let mut sums = vec![[0.0; 2]; self.now.len()];
        for _ in 0..count {
            for ((sum, now), step) in sums.iter_mut().zip(&mut self.now).zip(&self.step) {
                let [cos, sin] = *now;
                *sum = [sum[0] + cos, sum[1] + sin];
                *now = [cos * step[0] - sin * step[1], cos * step[1] + sin * step[0]];
            }
        }
        let count = count.max(1) as f64;
        sums.into_iter()
            .map(|[cos, sin]| [cos / count, sin / count])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Cell, Figure, compose, readout};

    fn figure(pairing: Pairing) -> RotaryTable {
        RotaryTable {
            d_head: 24,
            base: 10_000.0,
            pairing,
            length: 100,
            trained_length: 64,
        }
    }

    #[test]
    fn the_means_are_of_cosines_and_sines() {
        let frequencies = figure(Pairing::Halves).frequencies();
        let mut turns = Turns::new(&frequencies);
        for (from, to) in [(0, 1), (1, 4), (4, 4000), (4000, 4001)] {
            let means = turns.mean(to - from);
            for (mean, frequency) in means.iter().zip(&frequencies) {
                for (value, (function, _)) in mean.iter().zip(FUNCTIONS) {
                    let sum: f64 = (from..to).map(|at| function(at as f64 * frequency)).sum();
                    assert!((value - sum / (to - from) as f64).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn both_pairings_name_the_pair_of_a_dimension() {
        let style = Style::default();
        let said = |pairing, plot: usize| {
            let figure = Figure::RotaryTable(figure(pairing));
            let geometry = compose(&figure, &[], &style).unwrap().geometry;
            let plot = &geometry.plots[plot];
            // Position 12, dimension 3.
            let place = [plot.x + plot.width * 0.125, plot.y + plot.height * 3.5 / 24.0];
            readout(&figure, &[], &geometry, place, "en").unwrap()
        };
        let value = |pair: f64| 12.0 * 10_000f64.powf(-pair / 12.0);
        let written = |value: f64| format!("{value:.2}").replace('-', "−");
        assert_eq!(
            said(Pairing::Interleaved, 0),
            format!(
                "position 12, dimension 3 (pair 1): cos {}",
                written(value(1.0).cos())
            )
        );
        assert_eq!(
            said(Pairing::Halves, 1),
            format!(
                "position 12, dimension 3 (pair 3): sin {}",
                written(value(3.0).sin())
            )
        );
    }

    #[test]
    fn the_table_has_both_functions_of_every_pair() {
        let table = figure(Pairing::Halves).table(&[], Words::of("en"));
        assert_eq!((table.columns.len(), table.rows.len()), (25, 100));
        let Cell::Number(sine) = table.rows[50][12 + 1 + 2] else {
            panic!("{:?}", table.rows[50])
        };
        assert!((sine - (50.0 * 10_000f64.powf(-2.0 / 12.0)).sin()).abs() < 1e-12);
    }
}
