use super::chart::{At, Chart};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::position_rows::{Measure, Offset, ROUNDING, Rows, Source, undefined_part};
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke, Text};
use super::settings::usual_base;
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{encoding_colour, text};
use crate::encoding::Layout;
use serde::{Deserialize, Serialize};

/// How the rows of positions p and p + k compare, by the offset k: the two criteria of a good encoding,
/// measured. All positions differ, and the same offset gives the same distance wherever it stands. Values:
/// none, or for "learned" the table `[trained_length][d_model]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Offsets {
    /// "learned" or "sinusoidal".
    pub encoding: String,
    pub length: usize,
    pub trained_length: usize,
    pub d_model: usize,
    #[serde(default)]
    pub layout: Layout,
    #[serde(default = "usual_base")]
    pub base: f64,
    #[serde(default = "usual_measure")]
    pub measure: Measure,
}

fn usual_measure() -> Measure {
    Measure::Distance
}

/// The two criteria, measured.
struct Criteria {
    /// The distance of the closest two rows, and their positions.
    closest: (f64, [usize; 2]),
    /// The largest difference between two pairs of one offset.
    spread: f64,
    /// The same as a share of the largest mean.
    share: f64,
}

/// `None` where no two rows can be compared.
fn criteria(offsets: &[Offset], distances: &[Offset]) -> Option<Criteria> {
    let closest = distances
        .iter()
        .enumerate()
        .skip(1)
        .map(|(k, offset)| (offset.least, [offset.least_at, offset.least_at + k]))
        .filter(|(distance, _)| distance.is_finite())
        .min_by(|a, b| a.0.total_cmp(&b.0))?;
    let largest = |of: &dyn Fn(&Offset) -> f64| offsets.iter().map(of).fold(0.0, f64::max);
    let spread = largest(&|offset| offset.most - offset.least);
    let mean = largest(&|offset| offset.mean.abs());
    Some(Criteria {
        closest,
        spread,
        share: if mean > 0.0 { spread / mean } else { 0.0 },
    })
}

impl Criteria {
    /// A sentence for each.
    fn sentences(&self, measure: Measure, words: &Words) -> [String; 2] {
        let (distance, [first, second]) = self.closest;
        let closest: [(&str, &dyn ToString); 3] = [
            ("first", &first),
            ("second", &second),
            ("distance", &text::number(distance, 3)),
        ];
        let spread: [(&str, &dyn ToString); 3] = [
            ("measure", &words.say(measure.key())),
            ("spread", &text::number(self.spread, 2)),
            ("share", &text::number(self.share * 100.0, 2)),
        ];
        let key = match self.share < ROUNDING {
            true => "offsets_same",
            false => "offsets_spread",
        };
        [words.fill("offsets_closest", &closest), words.fill(key, &spread)]
    }
}

impl Offsets {
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

    fn offsets(&self, rows: &Rows, measure: Measure) -> Vec<Offset> {
        let count = self.source().defined();
        (0..count).map(|k| rows.offset(measure, k)).collect()
    }

    fn criteria(&self, rows: &Rows, offsets: &[Offset]) -> Option<Criteria> {
        match self.measure {
            Measure::Distance => criteria(offsets, offsets),
            _ => criteria(offsets, &self.offsets(rows, Measure::Distance)),
        }
    }

    /// The sentences of the criteria, or one that says why there are none.
    fn sentences(&self, rows: &Rows, offsets: &[Offset], words: &Words) -> Vec<String> {
        match self.criteria(rows, offsets) {
            Some(criteria) => criteria.sentences(self.measure, words).into(),
            None => vec![words.say("offsets_single").into()],
        }
    }
}

impl Chart for Offsets {
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
        let k = at.position(source.positions());
        let says = match source.rows(values) {
            _ if k >= source.defined() => words.fill("read_undefined", &[("length", &self.trained_length)]),
            Some(rows) => {
                let offset = rows.offset(self.measure, k);
                let parts: [(&str, &dyn ToString); 5] = [
                    ("measure", &words.say(self.measure.key())),
                    ("mean", &text::number(offset.mean, 3)),
                    ("least", &text::number(offset.least, 3)),
                    ("most", &text::number(offset.most, 3)),
                    ("pairs", &offset.pairs),
                ];
                words.fill("read_offset_values", &parts)
            }
            None => words.say("read_not_loaded").into(),
        };
        Some(words.fill("read_offset", &[("offset", &k), ("says", &says)]))
    }

    fn summary(&self, values: &[f32], words: &Words) -> String {
        let source = self.source();
        let encoding = words.encoding(&self.encoding);
        let Some(rows) = source.rows(values) else {
            return words.fill("sum_rows_waiting", &[("encoding", &encoding)]);
        };
        let sentences = self.sentences(&rows, &self.offsets(&rows, self.measure), words);
        let parts: [(&str, &dyn ToString); 3] = [
            ("encoding", &encoding),
            ("count", &text::count(source.defined())),
            ("criteria", &sentences.join(words.say("list_separator"))),
        ];
        words.fill("sum_offsets", &parts) + &source.left_out(words)
    }

    fn table(&self, values: &[f32], words: &Words) -> Table {
        let keys = [
            "col_offset",
            "col_mean",
            "col_smallest",
            "col_largest",
            "col_pairs",
        ];
        let mut table = Table::new(keys.map(|key| words.say(key)));
        if let Some(rows) = self.source().rows(values) {
            for (k, offset) in self.offsets(&rows, self.measure).into_iter().enumerate() {
                table.row([
                    k.into(),
                    (offset.mean as f32).into(),
                    (offset.least as f32).into(),
                    (offset.most as f32).into(),
                    offset.pairs.into(),
                ]);
            }
        }
        table
    }
}

/// The range of the y axis: all values, and zero.
fn range(offsets: &[Offset]) -> [f64; 2] {
    let ends = offsets.iter().flat_map(|offset| [offset.least, offset.most]);
    let (low, high) = ends
        .filter(|end| end.is_finite())
        .fold((0.0f64, 0.0f64), |(low, high), end| (low.min(end), high.max(end)));
    let pad = if high > low { (high - low) * 0.05 } else { 1.0 };
    [if low < 0.0 { low - pad } else { 0.0 }, high + pad]
}

fn compose(scene: &mut Scene, style: &Style, figure: &Offsets, values: &[f32]) {
    let source = figure.source();
    let (shown, count) = (source.positions(), source.defined());
    let (ink, words, size) = (style.ink(), style.words(), style.text_px());
    let strong = encoding_colour(&figure.encoding, style.theme);
    let rows = source.rows(values);
    let offsets = rows
        .as_ref()
        .map_or(Vec::new(), |rows| figure.offsets(rows, figure.measure));

    // Above the plot: the axis' title, what line and band are, and the two criteria.
    let room = (style.width - 4.0).max(40.0);
    let title = words.fill("offsets_up", &[("measure", &words.say(figure.measure.key()))]);
    let key = words.say("offsets_key");
    let mut lines: Vec<(String, _)> = vec![(title, ink.muted)];
    let beside = text::width(&lines[0].0, size) + text::width(key, size) + 24.0 <= room;
    if rows.is_some() {
        if !beside {
            lines.push((key.into(), strong));
        }
        let sentences = rows
            .as_ref()
            .map_or(Vec::new(), |rows| figure.sentences(rows, &offsets, words));
        for sentence in sentences {
            let wrapped = frame::wrap(&sentence, room, size);
            lines.extend(wrapped.into_iter().map(|line| (line, ink.strong)));
        }
    }
    let leading = size * 1.35;
    let y_range = range(&offsets);
    let most_y = (((style.height - leading * lines.len() as f64) / 50.0) as usize).clamp(2, 7);
    let y_ticks = frame::number_ticks(&scale::linear_ticks(y_range, most_y));
    let y_axis = Axis::new(y_ticks, "").with_grid();
    let plot = frame::inside(
        style,
        Margins {
            left: frame::labels_width(&y_axis, style) + 12.0,
            right: 14.0,
            top: leading * lines.len() as f64 + size * 1.9,
            bottom: size * 2.6 + 14.0,
        },
    );
    for (index, (line, colour)) in lines.into_iter().enumerate() {
        let y = size * 0.7 + leading * index as f64;
        let line = frame::words(style, 1.0, y, line, Align::Left);
        scene.text(Text { colour, ..line });
    }
    if rows.is_some() && beside {
        let key = frame::words(style, style.width - 2.0, size * 0.7, key, Align::Right);
        scene.text(Text {
            colour: strong,
            ..key
        });
    }

    let last = (shown - 1).max(1) as f64;
    let x = Scale::linear([0.0, last], [plot.x, plot.right()]);
    let y = Scale::linear(y_range, [plot.bottom(), plot.y]);
    frame::y_axis(scene, style, plot, &y, &y_axis);
    let past = (count < shown).then(|| {
        let left = style.snap(x.px_clamped(count as f64));
        Rect {
            x: left,
            width: plot.right() - left,
            ..plot
        }
    });
    if let Some(past) = past {
        scene.rect(past, ink.undefined);
    }
    let most_x = frame::most_ticks(plot.width, 64.0);
    let x_ticks = frame::count_ticks(&scale::positions(last as usize + 1, most_x));
    frame::x_axis(scene, style, plot, &x, &Axis::new(x_ticks, words.say("offset")));
    frame::mark_trained_x(scene, style, plot, &x, figure.trained_length, false);
    draw_curves(scene, &offsets, [&x, &y], strong);
    if rows.is_none() {
        let inside = Rect {
            width: past.map_or(plot.width, |past| past.x - plot.x),
            ..plot
        };
        frame::note(scene, style, inside, words.say("learned_waiting"), ink.paper);
    }
    if let Some(past) = past {
        undefined_part(scene, style, past, figure.trained_length);
    }
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
}

/// The band from the smallest to the largest, with thin edges, and the mean.
fn draw_curves(scene: &mut Scene, offsets: &[Offset], [x, y]: [&Scale; 2], colour: super::Rgb) {
    let line = |value: fn(&Offset) -> f64| -> Vec<[f64; 2]> {
        let px = |value: f64| match value.is_finite() {
            true => y.px_clamped(value),
            false => f64::NAN,
        };
        let points = offsets.iter().enumerate();
        points
            .map(|(k, offset)| [x.px(k as f64), px(value(offset))])
            .collect()
    };
    let (least, most) = (line(|offset| offset.least), line(|offset| offset.most));
    let band = least.iter().chain(most.iter().rev()).copied().collect();
    scene.area(band, colour, 0.2);
    for edge in [least, most] {
        scene.line(edge, Stroke::new(colour, 1.0).alpha(0.5));
    }
    scene.line(line(|offset| offset.mean), Stroke::new(colour, 2.25));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::table::Cell;

    fn figure(encoding: &str, measure: Measure, d_model: usize) -> Offsets {
        Offsets {
            encoding: encoding.into(),
            length: 60,
            trained_length: 3,
            d_model,
            layout: Layout::Interleaved,
            base: 10_000.0,
            measure,
        }
    }

    fn measured(figure: &Offsets, values: &[f32]) -> (Vec<Offset>, Criteria) {
        let rows = figure.source().rows(values).unwrap();
        let offsets = figure.offsets(&rows, figure.measure);
        let criteria = figure.criteria(&rows, &offsets).unwrap();
        (offsets, criteria)
    }

    #[test]
    fn the_same_offset_of_a_sinusoidal_table_is_the_same_distance() {
        let (offsets, even) = measured(&figure("sinusoidal", Measure::Distance, 16), &[]);
        let dot: f64 = (0..8)
            .map(|pair| (7.0 * 10_000f64.powf(-f64::from(pair) / 8.0)).cos())
            .sum();
        assert!((offsets[7].mean - (2.0 * (8.0 - dot)).sqrt()).abs() < 1e-5);
        assert_eq!(offsets[7].pairs, 53);
        assert!(even.share < ROUNDING, "{}", even.share);
        // The sine without its cosine tells the position itself.
        let alone = Offsets {
            base: 10.0,
            ..figure("sinusoidal", Measure::Distance, 3)
        };
        let (_, odd) = measured(&alone, &[]);
        assert!(odd.share > 0.1, "{}", odd.share);
        assert_eq!(even.closest.1, [0, 1]);
        let said = even.sentences(Measure::Distance, Words::of("en"));
        assert!(said[1].contains("rounding"), "{said:?}");
    }

    #[test]
    fn the_criteria_of_a_table_are_found_by_hand() {
        // Rows (0, 0), (3, 4), (3, 5): distances 5 and 1 at offset 1, √34 at offset 2.
        let table = [0.0, 0.0, 3.0, 4.0, 3.0, 5.0];
        let distance = figure("learned", Measure::Distance, 2);
        let (offsets, found) = measured(&distance, &table);
        assert_eq!((offsets.len(), offsets[1].mean), (3, 3.0));
        assert_eq!(found.closest, (1.0, [1, 2]));
        assert_eq!(found.spread, 4.0);
        assert!((found.share - 4.0 / 34f64.sqrt()).abs() < 1e-6);
        let said = found.sentences(Measure::Distance, Words::of("en"));
        assert!(said[1].contains('4') && said[1].contains("69 %"), "{said:?}");
        let row = &distance.table(&table, Words::of("en")).rows[1];
        assert_eq!(row[1..4], [3.0, 1.0, 5.0].map(Cell::Single));
        assert_eq!(row[4], Cell::Number(2.0));
        // Dot products: 0, 25 and 34 at offset 0; 0 and 29 at offset 1. The closest rows stay the same.
        let (offsets, found) = measured(&figure("learned", Measure::Dot, 2), &table);
        assert_eq!((offsets[0].least, offsets[0].most), (0.0, 34.0));
        assert_eq!((found.closest.0, found.spread), (1.0, 34.0));
    }
}
