use super::bitmap::Bitmap;
use super::chart::{At, Chart};
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::frame;
use super::geometry::Rect;
use super::heat::{self, Square};
use super::legend::Legend;
use super::order::quantiles;
use super::position_rows::{Measure, Rows, Source, undefined_part};
use super::scene::Scene;
use super::settings::usual_base;
use super::style::Style;
use super::table::{Cell, Table};
use super::text;
use super::words::Words;
use crate::encoding::Layout;
use serde::{Deserialize, Serialize};

/// How alike the rows of every two positions are. Values: none, or for "learned" the table
/// `[trained_length][d_model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Similarity {
    /// "learned" or "sinusoidal".
    pub encoding: String,
    pub length: usize,
    pub trained_length: usize,
    pub d_model: usize,
    #[serde(default)]
    pub layout: Layout,
    #[serde(default = "usual_base")]
    pub base: f64,
    #[serde(default)]
    pub measure: Measure,
}

/// Up to so many positions the table is a matrix.
const MATRIX_MAX: usize = 64;

impl Similarity {
    fn source(&self) -> Source<'_> {
        Source {
            encoding: &self.encoding,
            length: self.length,
            trained_length: self.trained_length,
            d_model: self.d_model,
            layout: self.layout,
            base: self.base,
        }
    }

    /// All pairs, `[count][count]`, with the `count` of positions that have a row.
    fn matrix(&self, rows: &Rows) -> Vec<f64> {
        let count = self.source().defined();
        let mut matrix = vec![0.0; count * count];
        // A cosine is a dot product over two lengths, which are computed once a row.
        let (measure, lengths) = match self.measure {
            Measure::Cosine => (Measure::Dot, lengths(rows, count)),
            other => (other, vec![1.0; count]),
        };
        for a in 0..count {
            for b in 0..=a {
                let value = measure.of(rows.row(a), rows.row(b)) / (lengths[a] * lengths[b]);
                (matrix[a * count + b], matrix[b * count + a]) = (value, value);
            }
        }
        matrix
    }
}

fn lengths(rows: &Rows, count: usize) -> Vec<f64> {
    let square = |position| Measure::Dot.of(rows.row(position), rows.row(position));
    (0..count).map(|position| square(position).sqrt()).collect()
}

impl Chart for Similarity {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn values_needed(&self) -> Option<(String, usize)> {
        self.source().values_needed()
    }

    fn check(&self) -> Result<(), FigureError> {
        self.source().check()
    }

    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        compose(scene, style, self, values);
    }

    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String> {
        let source = self.source();
        let (second, first) = at.cell(source.positions(), source.positions());
        let says = match source.rows(values) {
            _ if first.max(second) >= source.defined() => {
                words.fill("read_undefined", &[("length", &self.trained_length)])
            }
            Some(rows) => {
                let value = self.measure.of(rows.row(first), rows.row(second));
                words.say(self.measure.key()).to_string() + " " + &text::number(value, 3)
            }
            None => words.say("read_not_loaded").into(),
        };
        Some(words.fill(
            "read_two_positions",
            &[("first", &first), ("second", &second), ("says", &says)],
        ))
    }

    fn summary(&self, values: &[f32], words: &Words) -> String {
        let source = self.source();
        let count = source.defined();
        let encoding = words.encoding(&self.encoding);
        let Some(rows) = source.rows(values) else {
            return words.fill("sum_rows_waiting", &[("encoding", &encoding)]);
        };
        // The means over neighbours and over positions half the picture apart.
        let matrix = self.matrix(&rows);
        let mean = |offset: usize| {
            let pairs = count.saturating_sub(offset);
            let values = (0..pairs).map(|a| matrix[a * count + a + offset]);
            text::number(values.sum::<f64>() / pairs as f64, 3)
        };
        let half = (count / 2).max(1);
        words.fill(
            "sum_similarity",
            &[
                ("measure", &words.say(self.measure.key())),
                ("encoding", &encoding),
                ("count", &text::count(count)),
                ("near", &mean(1.min(count - 1))),
                ("half", &text::count(half)),
                ("far", &mean(half.min(count - 1))),
            ],
        ) + &source.left_out(words)
    }

    /// Up to 64 positions a matrix, one row a position with a column for each position; else one row for
    /// each two positions that have a value, the first not after the second.
    fn table(&self, values: &[f32], words: &Words) -> Table {
        let source = self.source();
        let (shown, count) = (source.positions(), source.defined());
        let matrix = source.rows(values).map(|rows| self.matrix(&rows));
        let cell = |a: usize, b: usize| match &matrix {
            // As it was computed, in 32 bits.
            Some(matrix) if a.max(b) < count => Cell::from(matrix[a * count + b] as f32),
            _ => Cell::Number(f64::NAN),
        };
        if shown <= MATRIX_MAX {
            let other = |position| words.fill("col_other_position", &[("position", &position)]);
            let first = std::iter::once(words.say("col_position").to_string());
            let mut table = Table::new(first.chain((0..shown).map(other)));
            for a in 0..shown {
                table.row(std::iter::once(a.into()).chain((0..shown).map(|b| cell(a, b))));
            }
            return table;
        }
        let columns = ["col_first_position", "col_second_position", self.measure.key()];
        let mut table = Table::new(columns.map(|key| words.say(key)));
        if matrix.is_some() {
            for a in 0..count {
                for b in a..count {
                    table.row([a.into(), b.into(), cell(a, b)]);
                }
            }
        }
        table
    }
}

/// The size in full colour, rounded up to half a digit for the legend, and whether some values are larger: the
/// 99th percentile, so that a few long rows do not pale the rest.
fn reach(matrix: &[f64]) -> (f64, bool) {
    // A sample is enough, and sorting all would cost more than the picture. Odd steps meet every column.
    let step = (matrix.len() / 8192) | 1;
    let sizes = matrix.iter().step_by(step).map(|value| value.abs()).collect();
    let Some([size]) = quantiles(sizes, [0.99]).filter(|[size]| *size > 0.0) else {
        return (1.0, false);
    };
    let ten = 10f64.powf(size.log10().floor());
    let reach = (size / ten * 2.0 - 1e-9).ceil() / 2.0 * ten;
    (reach, matrix.iter().any(|value| value.abs() > reach))
}

fn compose(scene: &mut Scene, style: &Style, figure: &Similarity, values: &[f32]) {
    let source = figure.source();
    let (shown, count) = (source.positions(), source.defined());
    let (ink, words) = (style.ink(), style.words());
    let matrix = source.rows(values).map(|rows| figure.matrix(&rows));
    let ramp = match figure.measure {
        Measure::Distance => Ramp::Sequential,
        Measure::Cosine | Measure::Dot => Ramp::Signed,
    };
    let (reach, clips) = match (figure.measure, &matrix) {
        (Measure::Cosine, _) | (_, None) => (1.0, false),
        (_, Some(matrix)) => reach(matrix),
    };
    let colours = Colours::new(ramp, style.theme);
    let part = |value: f64| match ramp {
        Ramp::Sequential => value / reach,
        Ramp::Signed => value / reach * 0.5 + 0.5,
    };
    let square = Square::new(style, shown, true);
    let drawn = square.cells(style, shown);
    let position = |cell: usize| cell * shown / drawn;
    let bitmap = Bitmap::from_fn(drawn, drawn, |row, column| {
        let (row, column) = (position(row), position(column));
        if row.max(column) >= count {
            return ink.undefined;
        }
        let value = matrix.as_ref().map(|matrix| matrix[row * count + column]);
        value.map_or(ink.masked, |value| {
            heat::colour_of(&colours, part(value), ink.undefined)
        })
    });
    let plot = square.plot;
    scene.image(plot, bitmap);
    let titles = ["position", "position_down"].map(|key| words.say(key));
    square.finish_titled(scene, style, shown, figure.trained_length, titles);
    if matrix.is_some() {
        let title = words.say(figure.measure.key());
        let ticks = match ramp {
            Ramp::Sequential => vec![0.0, reach / 2.0, reach],
            Ramp::Signed => vec![-reach, 0.0, reach],
        };
        let sign = |value: f64| match clips && value.abs() == reach {
            true if value < 0.0 => "≤ ",
            true => "≥ ",
            false => "",
        };
        let tick = |value: f64| (part(value), sign(value).to_string() + &text::number(value, 3));
        let legend = Legend {
            colours: &colours,
            title,
            ticks: ticks.into_iter().map(tick).collect(),
        };
        let width = (style.width * 0.4).clamp(110.0, 240.0);
        legend.draw(scene, style, plot.right(), 0.0, width);
    }
    let defined = plot.width * count as f64 / shown as f64;
    if matrix.is_none() {
        let inside = Rect {
            width: defined,
            height: defined,
            ..plot
        };
        frame::note(scene, style, inside, words.say("learned_waiting"), ink.paper);
    }
    if count < shown {
        let below = Rect {
            y: plot.y + defined,
            height: plot.height - defined,
            ..plot
        };
        undefined_part(scene, style, below, figure.trained_length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::geometry::{Plot, PlotKind};
    use crate::figure::scale::Scale;

    fn figure(measure: Measure, length: usize) -> Similarity {
        Similarity {
            encoding: "sinusoidal".into(),
            length,
            trained_length: 128,
            d_model: 16,
            layout: Layout::Interleaved,
            base: 10_000.0,
            measure,
        }
    }

    /// The dot product of two sinusoidal rows is a sum of cosines of their distance.
    fn dot(distance: usize) -> f64 {
        let frequency = |pair: i32| 10_000f64.powf(-2.0 * f64::from(pair) / 16.0);
        (0..8).map(|pair| (distance as f64 * frequency(pair)).cos()).sum()
    }

    #[test]
    fn the_matrix_of_a_sinusoidal_table_is_a_sum_of_cosines() {
        for (measure, wanted) in [
            (Measure::Dot, dot(28)),
            (Measure::Cosine, dot(28) / 8.0),
            (Measure::Distance, (2.0 * (8.0 - dot(28))).sqrt()),
        ] {
            let figure = figure(measure, 64);
            let matrix = figure.matrix(&figure.source().rows(&[]).unwrap());
            for [a, b] in [[12, 40], [40, 12], [0, 28]] {
                let found = matrix[a * 64 + b];
                assert!((found - wanted).abs() < 1e-5, "{measure:?} {found} {wanted}");
            }
        }
    }

    #[test]
    fn the_readout_is_the_formula_or_says_that_there_is_no_row() {
        let rect = Rect {
            width: 256.0,
            height: 256.0,
            ..Rect::default()
        };
        let axis = Scale::linear([0.0, 256.0], [0.0, 256.0]);
        let plot = Plot::new(PlotKind::Cells, 0, rect, &axis, &axis);
        let read = |figure: &Similarity, values: &[f32], x| {
            let at = At {
                plot: &plot,
                x,
                y: 12.5,
            };
            figure.readout(values, &at, Words::of("en")).unwrap()
        };
        let cosine = text::number(dot(28) / 8.0, 3);
        assert_eq!(
            read(&figure(Measure::Cosine, 256), &[], 40.5),
            format!("positions 12 and 40: cosine similarity {cosine}")
        );
        let learned = Similarity {
            encoding: "learned".into(),
            ..figure(Measure::Cosine, 256)
        };
        let said = read(&learned, &[1.0; 128 * 16], 128.5);
        assert_eq!(said, "positions 12 and 128: undefined, no row past 128");
        assert!(read(&learned, &[], 127.5).ends_with("not loaded yet"));
    }

    #[test]
    fn the_table_is_a_matrix_or_all_pairs() {
        let words = Words::of("en");
        let matrix = figure(Measure::Dot, 64).table(&[], words);
        assert_eq!((matrix.columns.len(), matrix.rows.len()), (65, 64));
        let Cell::Single(value) = matrix.rows[3][1 + 10] else {
            panic!("a number")
        };
        assert!((f64::from(value) - dot(7)).abs() < 1e-5);
        let pairs = figure(Measure::Dot, 65).table(&[], words);
        assert_eq!((pairs.columns.len(), pairs.rows.len()), (3, 65 * 66 / 2));
    }

    #[test]
    fn the_reach_is_round_and_leaves_out_the_few_largest() {
        assert_eq!(reach(&[-48.0; 3]), (50.0, false));
        assert_eq!(reach(&[0.4, f64::NAN]), (0.4, false));
        assert_eq!(reach(&[]), (1.0, false));
        let mut values = vec![1.9; 1000];
        values[7] = -30.0;
        assert_eq!(reach(&values), (2.0, true));
    }
}
