use super::bitmap::{Bitmap, cells_for};
use super::chart::{At, Chart};
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::legend::Legend;
use super::order::sort_few;
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Text};
use super::settings::{at_most, usual_base};
use super::sinusoidal::check_sinusoidal;
use super::style::Style;
use super::table::Table;
use super::text;
use super::waves::wavelength;
use super::words::Words;
use crate::encoding::{Layout, Sinusoidal};
use serde::{Deserialize, Serialize};

/// The sinusoidal table beside a binary counter: rows of bits and rows of waves over the same positions, each
/// row slower than the one above it. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// The first 64 positions are shown.
    pub length: usize,
    /// At most 128.
    #[serde(default = "usual_d_model")]
    pub d_model: usize,
    #[serde(default)]
    pub layout: Layout,
    #[serde(default = "usual_base")]
    pub base: f64,
}

fn usual_d_model() -> usize {
    16
}

const POSITIONS_MAX: usize = 64;

impl Counter {
    fn encoding(&self) -> Sinusoidal {
        Sinusoidal {
            layout: self.layout,
            base: self.base,
        }
    }

    fn shown(&self) -> usize {
        self.length.min(POSITIONS_MAX)
    }

    /// How many bits the largest position shown has.
    fn bits(&self) -> usize {
        let last = self.shown() - 1;
        (usize::BITS - last.leading_zeros()).max(1) as usize
    }

    /// The dimensions and their frequencies, the fastest first; equal ones in the table's order.
    fn dimensions(&self) -> Vec<(usize, f64)> {
        let encoding = self.encoding();
        let frequency = |column| encoding.wave(column, self.d_model).map_or(0.0, |wave| wave.0);
        let mut dimensions: Vec<_> = (0..self.d_model)
            .map(|column| (column, frequency(column)))
            .collect();
        sort_few(&mut dimensions, |&(_, frequency)| -frequency);
        dimensions
    }
}

fn bit(position: usize, bit: usize) -> usize {
    (position >> bit) & 1
}

impl Chart for Counter {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, None)
    }

    fn check(&self) -> Result<(), FigureError> {
        at_most("d_model", self.d_model, 128, "from 1 to 128")?;
        check_sinusoidal(self.d_model, self.layout, self.base)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        if at.plot.index == 0 {
            let (position, row) = at.cell(self.shown(), self.bits());
            let parts: [(&str, &dyn ToString); 3] = [
                ("position", &position),
                ("bit", &row),
                ("value", &bit(position, row)),
            ];
            return Some(words.fill("read_bit", &parts));
        }
        let (position, row) = at.cell(self.shown(), self.d_model);
        let (column, _) = *self.dimensions().get(row)?;
        let value = self.encoding().value(position, column, self.d_model);
        Some(words.fill(
            "read_position_dimension",
            &[
                ("position", &position),
                ("dimension", &column),
                ("value", &text::fixed(value, 3)),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let dimensions = self.dimensions();
        // A column of zeros never turns.
        let slowest = dimensions.iter().rev().find(|(_, frequency)| *frequency > 0.0);
        let said = words.fill(
            "sum_counter",
            &[
                ("shown", &self.shown()),
                ("bits", &self.bits()),
                ("longest", &text::count(1 << self.bits())),
                ("dimensions", &self.d_model),
                ("fastest", &wavelength(dimensions[0].1)),
                ("slowest", &wavelength(slowest.map_or(0.0, |wave| wave.1))),
            ],
        );
        if self.shown() == self.length {
            return said;
        }
        let parts: [(&str, &dyn ToString); 2] =
            [("shown", &self.shown()), ("length", &text::count(self.length))];
        said + &words.fill("sum_positions_cut", &parts)
    }

    /// One row a position: its bits, the lowest first, then its dimensions in the table's order.
    fn table(&self, _: &[f32], words: &Words) -> Table {
        let bits = 0..self.bits();
        let mut columns = vec![words.say("col_position").to_string()];
        columns.extend(bits.clone().map(|bit| words.fill("col_bit", &[("bit", &bit)])));
        let dimensions = 0..self.d_model;
        columns.extend(
            dimensions
                .clone()
                .map(|dimension| words.fill("col_dimension", &[("dimension", &dimension)])),
        );
        let mut table = Table::new(columns);
        let encoding = self.encoding();
        for position in 0..self.shown() {
            let bits = bits.clone().map(|row| bit(position, row).into());
            let dimensions = dimensions
                .clone()
                .map(|column| encoding.value(position, column, self.d_model).into());
            table.row(std::iter::once(position.into()).chain(bits).chain(dimensions));
        }
        table
    }
}

/// One of the two heat maps: what stands left and right of each row, and its values, −1 to 1.
struct Panel<'a> {
    title: &'a str,
    names: Vec<String>,
    periods: Vec<String>,
    value: &'a dyn Fn(usize, usize) -> f64,
}

fn compose(scene: &mut Scene, style: &Style, figure: &Counter) {
    let (words, size) = (style.words(), style.text_px());
    let (shown, bits) = (figure.shown(), figure.bits());
    let colours = Colours::new(Ramp::Signed, style.theme);
    let encoding = figure.encoding();
    let dimensions = figure.dimensions();
    let bit_value = |position: usize, row: usize| bit(position, row) as f64;
    let wave_value =
        |position: usize, row: usize| encoding.value(position, dimensions[row].0, figure.d_model);
    let panels = [
        Panel {
            title: words.say("counter_bits"),
            names: (0..bits).map(|row| row.to_string()).collect(),
            periods: (0..bits).map(|row| text::count(2 << row)).collect(),
            value: &bit_value,
        },
        Panel {
            title: words.say("counter_dimensions"),
            names: dimensions.iter().map(|(column, _)| column.to_string()).collect(),
            periods: dimensions
                .iter()
                .map(|(_, frequency)| wavelength(*frequency))
                .collect(),
            value: &wave_value,
        },
    ];

    let widest = |[bits, waves]: [&Vec<String>; 2]| {
        let labels = bits.iter().chain(waves);
        labels
            .map(|label| text::width(label, style.small_px()))
            .fold(0.0, f64::max)
    };
    let [left, right] = [
        widest(panels.each_ref().map(|panel| &panel.names)),
        widest(panels.each_ref().map(|panel| &panel.periods)),
    ];
    let title_height = size * 2.2;
    let area = frame::inside(
        style,
        Margins {
            left: left + 9.0,
            right: right + 9.0,
            top: Legend::height(style) + title_height,
            bottom: size * 2.6 + 14.0,
        },
    );
    // Rows of the same height, but never less than a quarter for the bits.
    let share = (bits as f64 / (bits + figure.d_model) as f64).clamp(0.25, 0.6);
    let rows_height = (area.height - title_height).max(8.0);
    let upper = Rect {
        height: style.snap((rows_height * share).max(2.0)),
        ..area
    };
    let lower_y = style.snap(upper.bottom() + title_height);
    let lower = Rect {
        y: lower_y,
        height: style.snap((area.bottom() - lower_y).max(2.0)),
        ..area
    };
    let x = Scale::linear([0.0, shown as f64], [area.x, area.right()]);
    for (index, (panel, rect)) in panels.iter().zip([upper, lower]).enumerate() {
        draw_panel(scene, style, rect, panel, [shown, index], &x, &colours);
    }
    // Above the numbers at the right, if the title of the bits leaves room.
    let period = words.say("counter_period");
    if text::width(panels[0].title, size) + text::width(period, size) + 12.0 <= style.width {
        let y = area.y - size * 1.15;
        let period = frame::words(style, style.width - 2.0, y, period, Align::Right);
        scene.text(period);
    }
    let most = frame::most_ticks(area.width, 48.0);
    let ticks = scale::positions(shown - 1, most);
    // A number stands under the middle of its column.
    let ticks = frame::count_ticks(&ticks)
        .into_iter()
        .map(|(at, label)| (at + 0.5, label));
    let axis = Axis::new(ticks.collect(), words.say("position"));
    frame::x_axis(scene, style, lower, &x, &axis);
    let legend = Legend {
        colours: &colours,
        title: words.say("counter_legend"),
        ticks: vec![(0.0, "−1".into()), (0.5, "0".into()), (1.0, "1".into())],
    };
    let width = (style.width * 0.4).clamp(110.0, 240.0);
    legend.draw(scene, style, style.width - 2.0, 0.0, width);
}

fn draw_panel(
    scene: &mut Scene,
    style: &Style,
    rect: Rect,
    panel: &Panel,
    [shown, index]: [usize; 2],
    x: &Scale,
    colours: &Colours,
) {
    let size = style.text_px();
    let count = panel.names.len();
    let y = Scale::linear([count as f64, 0.0], [rect.bottom(), rect.y]);
    let rows = cells_for(count, rect.height * style.pixel_ratio);
    let columns = cells_for(shown, rect.width * style.pixel_ratio);
    let bitmap = Bitmap::from_fn(rows, columns, |row, column| {
        let value = (panel.value)(column * shown / columns, row * count / rows);
        colours.at(value * 0.5 + 0.5)
    });
    scene.image(rect, bitmap);
    frame::heading(scene, style, 0.0, rect.y - size * 1.15, panel.title);
    // As many rows have their numbers as are told apart.
    let every = (style.small_px() * 1.15 * count as f64 / rect.height)
        .ceil()
        .max(1.0) as usize;
    for row in (0..count).step_by(every) {
        let middle = y.px(row as f64 + 0.5);
        for (at, label, align) in [
            (rect.x - 5.0, &panel.names[row], Align::Right),
            (style.width - 2.0, &panel.periods[row], Align::Right),
        ] {
            let label = frame::words(style, at, middle, label.as_str(), align);
            scene.text(Text {
                size: style.small_px(),
                ..label
            });
        }
    }
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Cells, index, rect, x, &y));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::table::Cell;

    fn figure(length: usize, layout: Layout) -> Counter {
        Counter {
            length,
            d_model: 8,
            layout,
            base: 10_000.0,
        }
    }

    #[test]
    fn the_bits_of_the_table_make_the_position() {
        let figure = figure(50, Layout::Interleaved);
        let table = figure.table(&[], Words::of("en"));
        assert_eq!((table.rows.len(), figure.bits()), (50, 6));
        for (position, row) in table.rows.iter().enumerate() {
            let numbers: Vec<f64> = row
                .iter()
                .map(|cell| match cell {
                    Cell::Number(value) => *value,
                    _ => f64::NAN,
                })
                .collect();
            let binary: f64 = (0..6).map(|bit| numbers[1 + bit] * f64::from(1 << bit)).sum();
            assert_eq!(binary, position as f64);
            // The third pair turns in 2π · 10000^(4/8) tokens.
            let cosine = (position as f64 / 100.0).cos();
            assert!((numbers[7 + 5] - cosine).abs() < 1e-12);
        }
        let bits = |length| self::figure(length, Layout::Halves).bits();
        assert_eq!([1, 2, 3, 64, 4096].map(bits), [1, 1, 2, 6, 6]);
    }

    #[test]
    fn the_fastest_dimension_is_on_top_in_every_layout() {
        for layout in [Layout::Interleaved, Layout::Halves, Layout::Fairseq] {
            let rows = figure(64, layout).dimensions();
            assert!(rows.windows(2).all(|pair| pair[0].1 >= pair[1].1), "{rows:?}");
            assert_eq!(rows[0], (0, 1.0));
        }
        let order = |layout| figure(64, layout).dimensions()[1].0;
        assert_eq!([order(Layout::Interleaved), order(Layout::Halves)], [1, 4]);
    }

    #[test]
    fn both_panels_read_out_their_own_rows() {
        let figure = figure(64, Layout::Halves);
        let rect = Rect {
            x: 0.0,
            y: 0.0,
            width: 64.0,
            height: 8.0,
        };
        let axis = Scale::linear([0.0, 64.0], [0.0, 64.0]);
        let read = |index, y| {
            let plot = Plot::new(PlotKind::Cells, index, rect, &axis, &axis);
            let at = At {
                plot: &plot,
                x: 13.5,
                y,
            };
            figure.readout(&[], &at, Words::of("en")).unwrap()
        };
        assert_eq!(read(0, 2.5), "position 13: bit 2 is 1");
        assert_eq!(read(0, 1.5), "position 13: bit 1 is 0");
        // The second row is dimension 4, the first cosine.
        let wanted = format!("position 13, dimension 4: {}", text::fixed(13f64.cos(), 3));
        assert_eq!(read(1, 1.5), wanted);
    }
}
