//! Curves of what was measured: points with their errors, one curve a name. Curves of one encoding share its
//! colour and are told apart by dashes and marks, so also without colour.

use super::chart::At;
use super::curves::{self, EndLabel};
use super::geometry::Rect;
use super::key::{self, Entry, Shape};
use super::scale::Scale;
use super::scene::{Scene, Stroke};
use super::style::Style;
use super::text;
use super::words::Words;
use super::{Rgb, encoding_colour};

/// One curve.
pub(super) struct Curve {
    /// The name of a model or variant; its encoding gives the colour.
    pub name: String,
    /// What readers see.
    pub title: String,
    /// Which dashes and marks.
    pub style: usize,
    pub strong: bool,
    /// From left to right.
    pub points: Vec<Measured>,
}

/// One point; what it lacks is not a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Measured {
    pub x: f64,
    pub y: f64,
    pub error: f64,
    /// The same from a model of another seed.
    pub other: f64,
}

/// What is before the first `?` or `-` of a name: `rotary` of `rotary?scaling=yarn` and of `rotary-l64`.
pub(super) fn base_of(name: &str) -> &str {
    name.split(['?', '-']).next().unwrap_or(name)
}

/// The style of each of several curves: the one that is asked for, else as many as curves of the same
/// encoding came before.
pub(super) fn styles<'a>(curves: impl Iterator<Item = (&'a str, Option<usize>)>) -> Vec<usize> {
    let mut seen: Vec<&str> = Vec::new();
    curves
        .map(|(name, style)| {
            let base = base_of(name);
            let before = seen.iter().filter(|other| **other == base).count();
            seen.push(base);
            style.unwrap_or(before)
        })
        .collect()
}

const SHAPES: [Shape; 6] = [
    Shape::Disc,
    Shape::Ring,
    Shape::Diamond,
    Shape::Square,
    Shape::Triangle,
    Shape::Cross,
];

/// Lengths of dash and gap, CSS px.
const DASHES: [Option<(f64, f64)>; 6] = [
    None,
    Some((7.0, 3.0)),
    Some((2.0, 2.5)),
    Some((12.0, 3.0)),
    Some((4.0, 4.0)),
    Some((1.0, 4.0)),
];

impl Curve {
    pub fn colour(&self, style: &Style) -> Rgb {
        encoding_colour(&self.name, style.theme)
    }

    fn shape(&self) -> Shape {
        SHAPES[self.style % SHAPES.len()]
    }
}

/// How the curves are named: at their ends, or, where that would leave too little for the plot, by a key above.
pub(super) struct Names(Vec<Entry>);

impl Names {
    pub fn new(curves: &[Curve], style: &Style) -> Self {
        let room = curves::room(curves.iter().map(|curve| curve.title.as_str()), style);
        if room <= style.width * 0.36 {
            return Self(Vec::new());
        }
        Self::key(curves, style)
    }

    /// By a key above, for curves that end at one place.
    pub fn key(curves: &[Curve], style: &Style) -> Self {
        let entries = curves.iter().map(|curve| Entry {
            shape: curve.shape(),
            colour: curve.colour(style),
            text: curve.title.clone(),
        });
        Self(entries.collect())
    }

    /// The room that they take right of the plot and above the figure, CSS px.
    pub fn room(&self, curves: &[Curve], style: &Style) -> [f64; 2] {
        if self.0.is_empty() {
            return [
                curves::room(curves.iter().map(|curve| curve.title.as_str()), style),
                0.0,
            ];
        }
        let height = key::lines(&self.0, style) as f64 * key::line_height(style);
        [16.0, height.min(style.height / 3.0)]
    }

    /// Draws the curves, the strong ones last, and their names.
    pub fn draw(&self, scene: &mut Scene, style: &Style, plot: Rect, axes: [&Scale; 2], curves: &[Curve]) {
        key::draw(scene, style, &self.0);
        let mut ends = Vec::new();
        for strong in [false, true] {
            for curve in curves.iter().filter(|curve| curve.strong == strong) {
                let end = draw_curve(scene, style, axes, curve);
                ends.extend(end.map(|at| EndLabel {
                    at,
                    text: curve.title.clone(),
                    colour: curve.colour(style),
                    strong,
                }));
            }
        }
        if self.0.is_empty() {
            let lines: Vec<Vec<[f64; 2]>> = curves.iter().map(|curve| places(curve, axes, true)).collect();
            curves::end_labels(scene, style, plot, ends, &lines);
        }
    }
}

/// The places of the points; of those that have a value, or of all, the others not finite.
fn places(curve: &Curve, [x, y]: [&Scale; 2], valued: bool) -> Vec<[f64; 2]> {
    let points = curve.points.iter().filter(|point| !valued || point.y.is_finite());
    let up = |value: f64| match value.is_finite() {
        true => y.px_clamped(value),
        false => f64::NAN,
    };
    points.map(|point| [x.px(point.x), up(point.y)]).collect()
}

/// Draws one curve; the place of its last point.
fn draw_curve(scene: &mut Scene, style: &Style, axes: [&Scale; 2], curve: &Curve) -> Option<[f64; 2]> {
    let (colour, y) = (curve.colour(style), axes[1]);
    let places = places(curve, axes, false);
    let of = || curve.points.iter().zip(&places);
    // The other seed, where both have a value.
    let both = || of().filter(|(point, at)| point.other.is_finite() && at[1].is_finite());
    let mut band: Vec<[f64; 2]> = both().map(|(_, at)| *at).collect();
    band.extend(both().rev().map(|(point, at)| [at[0], y.px_clamped(point.other)]));
    scene.area(band, colour, 0.16);

    let (width, radius) = if curve.strong { (2.75, 3.5) } else { (1.5, 2.5) };
    let mut stroke = Stroke::new(colour, width);
    stroke.dash = DASHES[curve.style % DASHES.len()];
    scene.line(places.iter().copied(), stroke);
    for (point, &at) in of().filter(|(_, at)| at[1].is_finite()) {
        if point.error > 0.0 && point.error.is_finite() {
            let ends = [point.y - point.error, point.y + point.error].map(|value| y.px_clamped(value));
            let stroke = Stroke::new(colour, 1.0);
            scene.line(ends.map(|end| [at[0], end]), stroke);
            for end in ends {
                scene.line([[at[0] - 2.5, end], [at[0] + 2.5, end]], stroke);
            }
        }
        if y.contains(point.y) {
            curve.shape().draw(scene, style, at, radius, colour);
        } else {
            // Outside the range: an arrow at the edge.
            let back = if point.y > y.domain()[0] { 7.0 } else { -7.0 };
            let corners = [[-4.0, back], [4.0, back], [0.0, 0.0]];
            let corners = corners.map(|[right, down]| [at[0] + right, at[1] + down]);
            scene.area(corners.to_vec(), colour, 1.0);
        }
    }
    places.into_iter().rev().find(|at| at[1].is_finite())
}

/// The measured point near a place.
pub(super) fn nearest<'a>(curves: &'a [Curve], at: &At) -> Option<(&'a Curve, Measured)> {
    let plot = at.plot;
    let along = |value: f64, from: f64, [low, high]: [f64; 2], log: bool| match log {
        true => (value / from).ln() / (high / low).ln(),
        false => (value - from) / (high - low),
    };
    let mut best: Option<(&Curve, Measured)> = None;
    let mut least = 40.0;
    for curve in curves {
        for point in curve.points.iter().filter(|point| point.y.is_finite()) {
            let across = along(point.x, at.x, plot.x_range, plot.x_log) * plot.width;
            let up = along(point.y, at.y, plot.y_range, plot.y_log) * plot.height;
            let distance = across.hypot(up);
            if distance <= least {
                (best, least) = (Some((curve, *point)), distance);
            }
        }
    }
    best
}

/// One line about a point; the sentence has `{encoding}`, `{length}` and `{value}`.
pub(super) fn readout(curves: &[Curve], at: &At, words: &Words, key: &str) -> Option<String> {
    let (curve, point) = nearest(curves, at)?;
    let mut value = text::number(point.y, 4);
    if point.error.is_finite() {
        value += &format!(" ± {}", text::number(point.error, 2));
    }
    Some(words.fill(
        key,
        &[
            ("encoding", &curve.title),
            ("length", &text::count(point.x as usize)),
            ("value", &value),
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_of_one_encoding_have_styles_of_their_own_and_its_colour() {
        let names = ["rotary", "alibi-h8", "rotary?scaling=yarn", "rotary-l64", "alibi"];
        let given = [None, None, None, Some(5), None];
        assert_eq!(styles(names.into_iter().zip(given)), [0, 0, 1, 5, 1]);
        for theme in [super::super::Theme::Light, super::super::Theme::Dark] {
            assert_eq!(
                encoding_colour("rotary?scaling=yarn", theme),
                encoding_colour("rotary", theme)
            );
            assert_eq!(
                encoding_colour("alibi-h8", theme),
                encoding_colour("alibi", theme)
            );
        }
        let distinct = |index: usize| {
            (0..index).all(|other| SHAPES[other] != SHAPES[index] && DASHES[other] != DASHES[index])
        };
        assert!((0..6).all(distinct));
    }
}
