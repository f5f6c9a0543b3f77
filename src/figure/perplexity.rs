use super::chart::{At, Chart};
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::measured::{self, Curve, Names};
use super::order::sort_few;
use super::scale::{self, Scale, within};
use super::scene::{Align, Scene, Stroke, Text};
use super::series::{self, Point, Series, series_table};
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{encoding_colour, text};
use serde::{Deserialize, Serialize};

/// Perplexity against length. No values: the numbers stand in `series`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Perplexity {
    /// L, of the series that have none of their own.
    pub trained_length: usize,
    /// The current length.
    pub length: usize,
    /// The name of the encoding to draw strong.
    pub selected: String,
    pub series: Vec<Series>,
    /// Names of encodings that have no value past the trained length.
    #[serde(default)]
    pub undefined: Vec<String>,
    /// Draws each value divided by the series' own at the trained length.
    #[serde(default)]
    pub ratio: bool,
}

impl Perplexity {
    fn trained(&self, series: &Series) -> usize {
        series.trained_length.unwrap_or(self.trained_length)
    }

    /// The trained lengths of the series, each once and ascending; the figure's where there are no series.
    fn all_trained(&self) -> Vec<usize> {
        let mut all: Vec<usize> = self.series.iter().map(|series| self.trained(series)).collect();
        if all.is_empty() {
            all.push(self.trained_length);
        }
        sort_few(&mut all, |length| *length as f64);
        all.dedup();
        all
    }

    /// The series as they are drawn: as they are, or as ratios to their own value at L. A series that has
    /// no value at L has no ratios.
    pub(super) fn shown(&self) -> Vec<Series> {
        if !self.ratio {
            return self.series.clone();
        }
        let ratios = |series: &Series| {
            let at_trained = series
                .points
                .iter()
                .find(|point| point.length == self.trained(series));
            let unit = at_trained.and_then(Point::value)?;
            let points = series.points.iter().map(|point| Point {
                length: point.length,
                perplexity: point.perplexity.map(|value| value / unit),
                standard_error: point.standard_error.map(|error| error / unit),
                other_seed: point.other_seed.map(|value| value / unit),
            });
            Some(Series {
                points: points.collect(),
                ..series.clone()
            })
        };
        self.series.iter().filter_map(ratios).collect()
    }
}

impl Chart for Perplexity {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(
            scene,
            style,
            self,
            notes(style, &self.undefined, self.trained_length),
        )
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let key = if self.ratio {
            "read_ratio"
        } else {
            "read_perplexity"
        };
        let curves = series::curves(&self.shown(), words, "", true);
        measured::readout(&curves, at, words, key)
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let mut sentences = Vec::new();
        for series in &self.series {
            let trained = self.trained(series);
            let at = series
                .points
                .iter()
                .find(|point| point.length == trained)
                .and_then(Point::value);
            let defined = series.points.iter().filter(|point| point.value().is_some());
            let last = defined.max_by_key(|point| point.length);
            let Some((length, value)) = last.and_then(|point| Some((point.length, point.value()?))) else {
                continue;
            };
            let at = at.filter(|_| length > trained);
            let key = if at.is_some() {
                "sum_perplexity_series"
            } else {
                "sum_perplexity_point"
            };
            sentences.push(words.fill(
                key,
                &[
                    ("encoding", &series.title(words)),
                    ("at", &text::number(at.unwrap_or(f64::NAN), 3)),
                    ("value", &text::number(value, 3)),
                    ("length", &text::count(length)),
                ],
            ));
        }
        let all: Vec<String> = self.all_trained().into_iter().map(text::count).collect();
        let trained = all.join(", ");
        if sentences.is_empty() {
            return words.fill("sum_perplexity_waiting", &[("trained", &trained)]);
        }
        let sentences = sentences.join(words.say("list_separator"));
        words.fill("sum_perplexity", &[("trained", &trained), ("series", &sentences)])
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        series_table(&self.shown(), words, self.ratio)
    }
}

/// The y range: all points, but no more than thirty times the best one; a wilder one is drawn at the
/// upper edge with an arrow.
fn y_range(series: &[Series]) -> [f64; 2] {
    let values = || {
        series
            .iter()
            .flat_map(|series| &series.points)
            .filter_map(Point::value)
    };
    let low = values().fold(f64::INFINITY, f64::min);
    let high = values().fold(0.0, f64::max);
    if high == 0.0 {
        return [10.0, 100.0];
    }
    let high = high.min(low * 30.0).max(low * 1.5);
    [low / 1.08, high * 1.08]
}

/// The numbers under an axis of lengths: powers of two, or, where there are too few between its ends, the
/// lengths that were measured.
fn length_ticks(curves: &[Curve], [first, last]: [f64; 2], most: usize) -> Vec<f64> {
    let powers = scale::powers_of_two(first, last, most);
    if powers.len() > 1 {
        return powers;
    }
    let mut lengths: Vec<f64> = curves
        .iter()
        .flat_map(|curve| &curve.points)
        .map(|point| point.x)
        .collect();
    sort_few(&mut lengths, |length| *length);
    lengths.dedup();
    lengths
}

/// Draws the series, and below the axis the notes: `(encoding, line)`.
pub(super) fn compose(scene: &mut Scene, style: &Style, figure: &Perplexity, notes: Vec<(String, String)>) {
    let Perplexity {
        trained_length,
        length,
        ratio,
        ..
    } = figure;
    let (series, words) = (&figure.shown(), style.words());
    let size = style.text_px();
    let curves = series::curves(series, words, &figure.selected, style.width >= 480.0);
    let names = Names::new(&curves, style);
    let [right, above] = names.room(&curves, style);
    let lengths = || curves.iter().flat_map(|curve| &curve.points).map(|point| point.x);
    let first = lengths()
        .fold((*trained_length).min(*length) as f64, f64::min)
        .max(1.0);
    let last = lengths().fold((*trained_length).max(*length) as f64, f64::max);
    let margins = Margins {
        left: 36.0,
        right: right.max(24.0),
        top: above + size * 3.2,
        bottom: size * 2.6 + 14.0 + notes.len() as f64 * size * 1.5,
    };
    let plot = frame::inside(style, margins);
    let x = Scale::log([first, last], [plot.x, plot.right()]);
    let y = Scale::log(y_range(series), [plot.bottom(), plot.y]);

    let y_ticks = scale::log_ticks(y.domain(), ((plot.height / 26.0) as usize).clamp(3, 8));
    frame::heading(
        scene,
        style,
        0.0,
        above + size * 0.7,
        words.say(if *ratio { "ratio_log" } else { "perplexity_log" }),
    );
    frame::y_axis(
        scene,
        style,
        plot,
        &y,
        &Axis::new(frame::number_ticks(&y_ticks), "").with_grid(),
    );
    let x_ticks = length_ticks(&curves, x.domain(), frame::most_ticks(plot.width, 46.0));
    let x_axis = Axis::new(frame::count_ticks(&x_ticks), words.say("length_log"));
    frame::x_axis(scene, style, plot, &x, &x_axis);
    mark_length(scene, style, plot, &x, *length, *trained_length);
    let trained = figure.all_trained();
    frame::mark_trained_all(scene, style, plot, &x, &trained);
    let is_empty = |curve: &Curve| curve.points.iter().all(|point| point.y.is_nan());
    if curves.iter().all(is_empty) {
        let has_points = figure.series.iter().any(|series| !series.points.is_empty());
        let key = if *ratio && has_points {
            "ratio_waiting"
        } else {
            "perplexity_waiting"
        };
        let sentence = words.fill(key, &[("length", &text::count(*trained_length))]);
        frame::note(scene, style, plot, &sentence, style.ink().paper);
    }
    names.draw(scene, style, plot, [&x, &y], &curves);
    if trained.len() > 1 {
        for (series, curve) in series.iter().zip(&curves) {
            mark_own_length(scene, style, [&x, &y], curve, figure.trained(series));
        }
    }

    let mut note_y = plot.bottom() + size * 2.6 + 14.0 + size * 0.6;
    for (name, line) in notes {
        let words = frame::words(style, style.width - 2.0, note_y, line, Align::Right);
        scene.text(Text {
            colour: encoding_colour(&name, style.theme),
            ..words
        });
        note_y += size * 1.5;
    }
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
}

/// The point of a curve at its own L, where the curves have several: a ring around it.
fn mark_own_length(scene: &mut Scene, style: &Style, [x, y]: [&Scale; 2], curve: &Curve, trained: usize) {
    let at = curve.points.iter().find(|point| point.x == trained as f64);
    if let Some(point) = at.filter(|point| point.y.is_finite()) {
        let at = [style.snap_hair(x.px(point.x)), y.px_clamped(point.y)];
        scene.ring(at, 7.5, Stroke::new(style.ink().paper, 4.0));
        scene.ring(at, 7.5, Stroke::new(curve.colour(style), 2.0));
    }
}

/// The current length: a pale band with its number.
fn mark_length(scene: &mut Scene, style: &Style, plot: Rect, x: &Scale, length: usize, trained: usize) {
    if !x.contains(length as f64) || length == trained {
        return;
    }
    let (ink, size) = (style.ink(), style.text_px());
    let at = style.snap_hair(x.px(length as f64));
    scene.line(
        [[at, plot.y - 4.0], [at, plot.bottom()]],
        Stroke::new(ink.axis, 1.25),
    );
    let label = style
        .words()
        .fill("length_label", &[("length", &text::count(length))]);
    let half = text::width(&label, size) / 2.0 + 2.0;
    let mut middle = within(at, half, style.width - half);
    // Beside the mark of L, not on it.
    let clear = half + text::width(&frame::trained_label(style, trained), size) * 0.55 + 8.0;
    let trained_at = x.px(trained as f64);
    if (middle - trained_at).abs() < clear {
        middle = trained_at + if length > trained { clear } else { -clear };
    }
    let words = frame::words(style, middle, plot.y - 6.0 - size * 0.55, label, Align::Centre);
    scene.text(Text {
        colour: ink.strong,
        ..words
    });
}

/// `(encoding, line)` below the axis.
fn notes(style: &Style, undefined: &[String], trained: usize) -> Vec<(String, String)> {
    undefined
        .iter()
        .map(|name| {
            let words = style.words();
            let key = if name == "learned" {
                "note_no_row"
            } else {
                "note_undefined"
            };
            let title = words.encoding(name);
            let line = words.fill(key, &[("encoding", &title), ("length", &text::count(trained))]);
            let fits = text::width(&line, style.text_px()) < style.width;
            (
                name.clone(),
                if fits {
                    line
                } else {
                    words.fill("note_short", &[("encoding", &title)])
                },
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_is_compared_with_its_value_at_its_own_trained_length() {
        let own = |name: &str, trained_length, values: [f64; 3]| Series {
            encoding: name.into(),
            trained_length,
            points: [64, 128, 256]
                .into_iter()
                .zip(values)
                .map(|(length, value)| Point {
                    length,
                    perplexity: Some(value),
                    ..Point::default()
                })
                .collect(),
            ..Series::default()
        };
        let figure = Perplexity {
            trained_length: 128,
            length: 128,
            selected: "alibi".into(),
            series: vec![
                own("alibi-l256", Some(256), [40.0, 30.0, 20.0]),
                own("alibi", None, [30.0, 20.0, 10.0]),
                own("alibi-l64", Some(64), [20.0, 30.0, 40.0]),
            ],
            undefined: vec![],
            ratio: true,
        };
        let last = |series: &Series| series.points[2].perplexity;
        let ratios: Vec<_> = figure.shown().iter().map(last).collect();
        assert_eq!(ratios, [Some(1.0), Some(0.5), Some(2.0)]);
        assert_eq!(figure.all_trained(), [64, 128, 256]);
        let sentence = figure.summary(&[], Words::of("en"));
        assert!(sentence.contains("L = 64, 128, 256"), "{sentence}");
        assert!(sentence.contains("20 at L and 40 at 256"), "{sentence}");
        // What ends at its own L has no value past it.
        assert!(sentence.contains("20 at 256"), "{sentence}");
    }

    fn series(values: &[f64]) -> Vec<Series> {
        let point = |&value: &f64| Point {
            length: 16,
            perplexity: Some(value),
            ..Point::default()
        };
        vec![Series {
            encoding: "alibi".into(),
            points: values.iter().map(point).collect(),
            ..Series::default()
        }]
    }

    #[test]
    fn the_range_holds_all_usual_points_and_clips_wild_ones() {
        let [low, high] = y_range(&series(&[23.0, 99.0]));
        assert!(low < 23.0 && high > 99.0);
        assert!(y_range(&series(&[23.0, 1e9]))[1] < 1000.0);
        assert_eq!(y_range(&series(&[f64::NAN, f64::INFINITY])), [10.0, 100.0]);
    }
}
