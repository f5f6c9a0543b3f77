use super::chart::{At, Chart};
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind};
use super::measured::{self, Curve, Measured, Names, styles};
use super::order::sort_few;
use super::scale::{self, Scale};
use super::scene::Scene;
use super::style::Style;
use super::table::Table;
use super::text;
use super::words::Words;
use serde::{Deserialize, Serialize};

/// How well a model copies what stood `gap` tokens before: its loss on tokens that repeat a passage minus that
/// without the passage. No values: the numbers stand in `series`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyScore {
    pub trained_length: usize,
    /// The name of the series to draw strong.
    #[serde(default)]
    pub selected: String,
    pub series: Vec<CopySeries>,
}

/// The scores of one encoding, model or variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopySeries {
    /// Its name, as in the figure of perplexity.
    pub encoding: String,
    /// What readers see in place of the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Which dashes and marks, as in the figure of perplexity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<usize>,
    pub points: Vec<CopyPoint>,
}

/// The score at one gap.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyPoint {
    /// Tokens from a passage to its repetition, at least 1.
    pub gap: usize,
    /// Nats a token; below zero, the passage helps.
    #[serde(default)]
    pub score: Option<f64>,
    /// Of the score, in nats.
    #[serde(default)]
    pub standard_error: Option<f64>,
}

impl CopyScore {
    fn curves(&self, words: &Words) -> Vec<Curve> {
        let styles = styles(
            self.series
                .iter()
                .map(|series| (series.encoding.as_str(), series.style)),
        );
        let curve = |(series, style): (&CopySeries, usize)| {
            let points = series.points.iter().filter(|point| point.gap > 0);
            let mut points: Vec<Measured> = points
                .map(|point| Measured {
                    x: point.gap as f64,
                    y: point.score.unwrap_or(f64::NAN),
                    error: point.standard_error.unwrap_or(f64::NAN),
                    other: f64::NAN,
                })
                .collect();
            sort_few(&mut points, |point| point.x);
            Curve {
                name: series.encoding.clone(),
                title: series
                    .label
                    .clone()
                    .unwrap_or_else(|| words.encoding(&series.encoding)),
                style,
                strong: series.encoding == self.selected,
                points,
            }
        };
        self.series.iter().zip(styles).map(curve).collect()
    }
}

/// All points of all curves that have a value.
fn valued(curves: &[Curve]) -> impl Iterator<Item = &Measured> {
    curves
        .iter()
        .flat_map(|curve| &curve.points)
        .filter(|point| point.y.is_finite())
}

impl Chart for CopyScore {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.trained_length, Some(self.trained_length))
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self.trained_length, &self.curves(style.words()));
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        measured::readout(&self.curves(words), at, words, "read_copy_score")
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let curves = self.curves(words);
        let says = |curve: &Curve| {
            let points = || valued(std::slice::from_ref(curve));
            let (first, last) = (points().next()?, points().last()?);
            Some(words.fill(
                "sum_copy_series",
                &[
                    ("encoding", &curve.title),
                    ("first", &text::number(first.y, 3)),
                    ("near", &text::count(first.x as usize)),
                    ("last", &text::number(last.y, 3)),
                    ("far", &text::count(last.x as usize)),
                ],
            ))
        };
        let says: Vec<String> = curves.iter().filter_map(says).collect();
        let key = if says.is_empty() {
            "sum_copy_waiting"
        } else {
            "sum_copy"
        };
        words.fill(
            key,
            &[
                ("trained", &text::count(self.trained_length)),
                ("series", &says.join(words.say("list_separator"))),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let keys = ["col_encoding", "col_gap", "col_copy_score", "col_standard_error"];
        let mut table = Table::new(keys.map(|key| words.say(key)));
        for curve in self.curves(words) {
            for point in &curve.points {
                let title = curve.title.as_str();
                table.row([title.into(), point.x.into(), point.y.into(), point.error.into()]);
            }
        }
        table
    }
}

fn compose(scene: &mut Scene, style: &Style, trained: usize, curves: &[Curve]) {
    let (words, size) = (style.words(), style.text_px());
    let names = Names::new(curves, style);
    let [right, above] = names.room(curves, style);
    let gaps = || valued(curves).map(|point| point.x);
    let ends = [
        gaps().fold(trained as f64, f64::min),
        gaps().fold(trained as f64 * 1.2, f64::max),
    ];
    let low = valued(curves).map(|point| point.y).fold(0.0, f64::min);
    let high = valued(curves).map(|point| point.y).fold(0.0, f64::max);
    let pad = ((high - low) * 0.06).max(0.02);
    let range = [low - pad, high + pad];
    let plot = frame::inside(
        style,
        Margins {
            left: 44.0,
            right: right.max(24.0),
            top: above + size * 3.2,
            bottom: size * 2.6 + 14.0,
        },
    );
    let x = Scale::log(ends, [plot.x, plot.right()]);
    let y = Scale::linear(range, [plot.bottom(), plot.y]);
    frame::heading(scene, style, 0.0, above + size * 0.7, words.say("copy_score_up"));
    let most = ((plot.height / 34.0) as usize).clamp(2, 7);
    let y_ticks = frame::number_ticks(&scale::linear_ticks(range, most));
    frame::y_axis(scene, style, plot, &y, &Axis::new(y_ticks, "").with_grid());
    let most = frame::most_ticks(plot.width, 46.0);
    let x_ticks = frame::count_ticks(&scale::powers_of_two(ends[0], ends[1], most));
    frame::x_axis(scene, style, plot, &x, &Axis::new(x_ticks, words.say("gap_log")));
    frame::zero_line(scene, style, plot, &y);
    frame::mark_trained_x(scene, style, plot, &x, trained, false);
    if valued(curves).next().is_none() {
        frame::note(scene, style, plot, words.say("copy_waiting"), style.ink().paper);
    }
    names.draw(scene, style, plot, [&x, &y], curves);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
}
