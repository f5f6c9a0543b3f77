use super::bitmap::{Bitmap, span};
use super::chart::{At, Chart};
#[cfg(any(target_arch = "wasm32", test))]
use super::colour::Rgb;
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::frame;
use super::heat::{self, Square};
use super::legend::Legend;
use super::scene::Scene;
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{at_most, text};
use serde::{Deserialize, Serialize};

/// What each query gives to each key. Values: none, or a raster `[side][side]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attention {
    pub length: usize,
    pub trained_length: usize,
    pub layer: usize,
    pub head: usize,
    pub side: usize,
    pub encoding: String,
}

impl Attention {
    /// The first and last position of a cell of the raster.
    fn positions(&self, cell: usize) -> (usize, usize) {
        let first = |cell: usize| (cell * self.length).div_ceil(self.side);
        (first(cell), (first(cell + 1)).max(first(cell) + 1) - 1)
    }

    /// Those positions in words.
    pub(super) fn positions_text(&self, cell: usize) -> String {
        match self.positions(cell) {
            (from, to) if to > from => format!("{from}–{to}"),
            (from, _) => from.to_string(),
        }
    }
}

impl Chart for Attention {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn values_needed(&self) -> Option<(String, usize)> {
        let side = self.side;
        Some((format!("{side} queries × {side} keys"), side.saturating_mul(side)))
    }

    fn check(&self) -> Result<(), FigureError> {
        at_most("raster's side", self.side, 512, "from 1 to 512")
    }

    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        compose(scene, style, self.length, self.trained_length, self.side, values)
    }

    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String> {
        let share = self.side as f64 / self.length as f64;
        let at = At {
            x: at.x * share,
            y: at.y * share,
            ..*at
        };
        let (column, row) = at.cell(self.side, self.side);
        let says = match values.get(row * self.side + column) {
            _ if column > row => words.say("read_masked").into(),
            Some(&weight) => words.fill("read_weight", &[("weight", &text::number(f64::from(weight), 3))]),
            None => words.say("read_not_loaded").into(),
        };
        Some(words.fill(
            "read_attention",
            &[
                ("query", &self.positions_text(row)),
                ("key", &self.positions_text(column)),
                ("layer", &self.layer),
                ("head", &self.head),
                ("says", &says),
            ],
        ))
    }

    fn summary(&self, values: &[f32], words: &Words) -> String {
        let parts: [(&str, &dyn ToString); 4] = [
            ("encoding", &words.encoding(&self.encoding)),
            ("layer", &self.layer),
            ("head", &self.head),
            ("length", &text::count(self.length)),
        ];
        if values.is_empty() {
            return words.fill("sum_attention_waiting", &parts);
        }
        // The last row of cells: what the last queries look at most.
        let last = &values[(self.side - 1) * self.side..];
        let most = (0..self.side)
            .max_by(|&a, &b| last[a].total_cmp(&last[b]))
            .unwrap_or(0);
        let weight = text::number(f64::from(last[most]), 3);
        let more: [(&str, &dyn ToString); 2] = [("key", &self.positions_text(most)), ("weight", &weight)];
        words.fill("sum_attention", &[&parts[..], &more].concat())
    }

    fn table(&self, values: &[f32], words: &Words) -> Table {
        let mut table = Table::new(["col_query", "col_key", "col_weight"].map(|key| words.say(key)));
        for row in 0..self.side {
            for column in 0..=row {
                if let Some(&weight) = values.get(row * self.side + column) {
                    let cells = [
                        self.positions_text(row).into(),
                        self.positions_text(column).into(),
                        weight.into(),
                    ];
                    table.row(cells);
                }
            }
        }
        table
    }
}

/// The weight at the pale end of the scale; what is smaller is drawn like it. Attention is at most 1,
/// so the scale is the same for every head, length and encoding.
const FLOOR: f64 = 1e-4;

/// The place of an attention weight on the scale, 0 to 1.
fn part(weight: f64) -> f64 {
    if weight.is_nan() {
        return f64::NAN;
    }
    (weight.max(FLOOR) / FLOOR).ln() / (1.0 / FLOOR).ln()
}

fn compose(scene: &mut Scene, style: &Style, length: usize, trained: usize, side: usize, values: &[f32]) {
    let square = Square::new(style, length, true);
    let colours = Colours::new(Ramp::Sequential, style.theme);
    let drawn = square.cells(style, side);
    scene.image(square.plot, raster(drawn, side, values, &colours, style));
    square.finish(scene, style, length, trained);
    legend(
        scene,
        style,
        &colours,
        square.plot.right(),
        square.plot.width.min(260.0),
    );
    if values.is_empty() && !style.cells_elsewhere {
        frame::note(
            scene,
            style,
            square.plot,
            style.words().say("attention_waiting"),
            style.ink().paper,
        );
    }
}

/// A raster `[side][side]` of weights as `drawn` × `drawn` cells; without values the mask alone.
pub(super) fn raster(drawn: usize, side: usize, values: &[f32], colours: &Colours, style: &Style) -> Bitmap {
    let ink = style.ink();
    if style.cells_elsewhere {
        return Bitmap::elsewhere(drawn);
    }
    if values.is_empty() {
        return Bitmap::by_difference(drawn, |d| if d >= 0 { ink.masked } else { ink.paper });
    }
    Bitmap::from_fn(drawn, drawn, |row, column| {
        // Smaller than the raster: the largest weight of the cells that share a pixel stays seen.
        let (row, row_end) = span(row, drawn, side);
        let (column, column_end) = span(column, drawn, side);
        if column >= row_end {
            return ink.masked;
        }
        let cells = (row..row_end).flat_map(|r| &values[r * side + column..r * side + column_end]);
        let weight = cells.fold(
            f32::NEG_INFINITY,
            |most, &w| if w.is_nan() || w > most { w } else { most },
        );
        heat::colour_of(colours, part(f64::from(weight)), ink.undefined)
    })
}

/// The scale as tables, for an engine that paints the weights where they are, as `engine::cpu::paint` takes them:
/// 255 weights (their bits) at which the next colour begins, 256 colours `0xAABBGGRR`, that of masked cells, and
/// that of what is not a number.
#[cfg(any(target_arch = "wasm32", test))]
pub(crate) fn scale_tables(style: &Style) -> Vec<u32> {
    let (colours, ink) = (Colours::new(Ramp::Sequential, style.theme), style.ink());
    let place = |weight: f32| Colours::place(part(f64::from(weight)));
    let step = |index: usize| {
        // Near it by the inverse of the scale, then the very first weight that has the colour.
        let near = FLOOR * (1.0 / FLOOR).powf((index as f64 - 0.5) / 255.0);
        let mut weight = near as f32;
        while place(weight) >= index {
            weight = weight.next_down();
        }
        while place(weight) < index {
            weight = weight.next_up();
        }
        weight.to_bits()
    };
    let word = |Rgb(red, green, blue): Rgb| u32::from_le_bytes([red, green, blue, 255]);
    (1..256)
        .map(step)
        .chain(
            colours
                .all()
                .iter()
                .chain([&ink.masked, &ink.undefined])
                .map(|&colour| word(colour)),
        )
        .collect()
}

/// The scale of weights, with its right end at `right`.
pub(super) fn legend(scene: &mut Scene, style: &Style, colours: &Colours, right: f64, width: f64) {
    let ticks = [1e-4, 1e-3, 1e-2, 1e-1, 1.0].map(|weight| {
        let number = text::number(weight, 1);
        let label = if weight == FLOOR {
            format!("≤ {number}")
        } else {
            number
        };
        (part(weight), label)
    });
    let legend = Legend {
        colours,
        title: style.words().say("weight_log"),
        ticks: ticks.into(),
    };
    legend.draw(scene, style, right, 0.0, width);
}

#[cfg(test)]
mod tests {
    use super::{FLOOR, part, raster, scale_tables};
    use crate::engine::cpu::paint::{Canvas, SCALE_WORDS, paint};
    use crate::figure::colour::{Colours, Ramp};
    use crate::figure::{Style, Theme};

    /// What an engine paints by the tables is what is drawn here, to the last bit.
    #[test]
    fn the_tables_of_the_scale_paint_the_same_pictures() {
        for (theme, high_contrast) in [(Theme::Light, false), (Theme::Dark, false), (Theme::Light, true)] {
            let style = Style {
                theme,
                high_contrast,
                ..Style::default()
            };
            let scale = scale_tables(&style);
            assert_eq!(scale.len(), SCALE_WORDS);
            let side = 48;
            // Over the whole scale and past both its ends, and where one colour follows another.
            let mut weights: Vec<f32> = (0..side * side)
                .map(|i| (FLOOR * 0.3 * 40_000_f64.powf(i as f64 / (side * side) as f64)) as f32)
                .collect();
            for (i, &bits) in scale[..255].iter().enumerate() {
                let weight = f32::from_bits(bits);
                weights[side * 20 + 2 * i] = weight;
                weights[side * 20 + 2 * i + 1] = weight.next_down();
            }
            weights[40 * side + 3] = f32::NAN;
            weights[40 * side + 4] = 0.0;
            let colours = Colours::new(Ramp::Sequential, theme);
            for px in [side, 31, 7] {
                let drawn = raster(px, side, &weights, &colours, &style);
                let canvas = Canvas {
                    rasters: 1,
                    across: 1,
                    side,
                    px,
                };
                let painted = paint(&weights, canvas, &scale);
                let rows = painted.chunks(canvas.stride()).flat_map(|row| &row[..px]);
                let painted: Vec<u8> = rows.flat_map(|pixel| pixel.to_le_bytes()).collect();
                assert!(painted == drawn.rgba, "{theme:?}, {px} px");
            }
        }
    }

    #[test]
    fn the_scale_runs_over_four_powers_of_ten() {
        assert_eq!(part(1.0), 1.0);
        assert!((part(0.01) - 0.5).abs() < 1e-12);
        assert_eq!(part(1e-9), 0.0);
        assert_eq!(part(0.0), 0.0);
        assert!(part(f64::NAN).is_nan());
    }
}
