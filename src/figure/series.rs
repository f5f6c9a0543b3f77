//! Perplexity measured at several lengths: the points, their marks, their words.

use super::chart::At;
use super::order::sort_few;
use super::scale::Scale;
use super::scene::{Scene, Stroke};
use super::table::Table;
use super::text;
use super::words::Words;
use serde::{Deserialize, Serialize};

/// One row a length and encoding.
pub(super) fn series_table(series: &[Series], words: &Words, ratio: bool) -> Table {
    let value = if ratio { "col_ratio" } else { "col_perplexity" };
    let keys = ["col_encoding", "col_length", value, "col_standard_error"];
    let mut table = Table::new(keys.map(|key| words.say(key)));
    for series in series {
        for point in &series.points {
            let title = match &series.note {
                Some(note) => format!("{} ({note})", words.encoding(&series.encoding)),
                None => words.encoding(&series.encoding),
            };
            let number = |value: Option<f64>| value.unwrap_or(f64::NAN).into();
            table.row([
                title.into(),
                point.length.into(),
                number(point.perplexity),
                number(point.standard_error),
            ]);
        }
    }
    table
}

/// The measured point near a place.
pub(super) fn nearest_point(series: &[Series], at: &At, words: &Words, key: &str) -> Option<String> {
    let plot = at.plot;
    let spans = [plot.x_range, plot.y_range].map(|[low, high]| (high / low).ln().abs().max(1e-9));
    let away = |length: usize, value: f64| {
        let across = (length as f64 / at.x).ln() / spans[0] * plot.width;
        let up = (value / at.y).ln() / spans[1] * plot.height;
        across.hypot(up)
    };
    let (series, point, value, distance) = series
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| (series, point)))
        .filter_map(|(series, point)| {
            let value = point.value()?;
            Some((series, point, value, away(point.length, value)))
        })
        .min_by(|a, b| a.3.total_cmp(&b.3))?;
    if distance > 40.0 {
        return None;
    }
    let error = point.standard_error.filter(|error| error.is_finite());
    let error = error.map_or(String::new(), |error| format!(" ± {}", text::number(error, 2)));
    let note = series
        .note
        .as_ref()
        .map_or(String::new(), |note| format!(" ({note})"));
    Some(words.fill(
        key,
        &[
            ("encoding", &(words.encoding(&series.encoding) + &note)),
            ("length", &text::count(point.length)),
            ("value", &(text::number(value, 4) + &error)),
        ],
    ))
}

/// The measured points of one encoding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name as in `encoding::NAMES`.
    pub encoding: String,
    /// What must be said with it, such as "last row repeated".
    #[serde(default)]
    pub note: Option<String>,
    /// In any order; they appear as they are measured.
    pub points: Vec<Point>,
}

/// Perplexity at one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub length: usize,
    /// `None` or not finite: it has no value.
    #[serde(default)]
    pub perplexity: Option<f64>,
    /// Of the perplexity, in its unit.
    #[serde(default)]
    pub standard_error: Option<f64>,
}

impl Point {
    pub(crate) fn value(&self) -> Option<f64> {
        self.perplexity.filter(|value| value.is_finite() && *value > 0.0)
    }
}

/// Draws one encoding's points; the place of its last one.
pub(super) fn draw_series(
    scene: &mut Scene,
    series: &Series,
    [x, y]: [&Scale; 2],
    colour: super::Rgb,
    strong: bool,
) -> Option<[f64; 2]> {
    let mut points: Vec<&Point> = series.points.iter().filter(|point| point.length > 0).collect();
    sort_few(&mut points, |point| point.length);
    let place = |point: &Point| {
        let up = point.value().map_or(f64::NAN, |value| y.px_clamped(value));
        [x.px(point.length as f64), up]
    };
    let width = if strong { 2.75 } else { 1.5 };
    scene.line(
        points.iter().map(|point| place(point)),
        Stroke::new(colour, width),
    );
    for point in &points {
        let Some(value) = point.value() else { continue };
        let at = place(point);
        if let Some(error) = point
            .standard_error
            .filter(|error| error.is_finite() && *error > 0.0)
        {
            let (low, high) = (
                y.px_clamped((value - error).max(value * 0.01)),
                y.px_clamped(value + error),
            );
            let stroke = Stroke::new(colour, 1.0);
            scene.line([[at[0], low], [at[0], high]], stroke);
            for end in [low, high] {
                scene.line([[at[0] - 2.5, end], [at[0] + 2.5, end]], stroke);
            }
        }
        if y.contains(value) {
            scene.disc(at, if strong { 3.5 } else { 2.5 }, colour);
        } else {
            // Above the range: an arrow at the edge.
            scene.area(
                vec![
                    [at[0] - 4.0, at[1] + 7.0],
                    [at[0] + 4.0, at[1] + 7.0],
                    [at[0], at[1]],
                ],
                colour,
                1.0,
            );
        }
    }
    let end = points.iter().rev().find(|point| point.value().is_some())?;
    Some(place(end))
}
