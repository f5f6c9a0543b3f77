//! The marks of [`AlibiSlopes`](super::AlibiSlopes): one a head and set of slopes, and the distances beside.

use super::Rgb;
use super::frame::{self, Axis};
use super::geometry::Rect;
use super::key::Shape;
use super::order::sort_few;
use super::scale::{Scale, within};
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::text;
use std::f64::consts::LN_2;

/// The slopes of one origin, `[heads]`, and the key of its name.
pub(super) struct Set<'a> {
    pub name: &'static str,
    pub slopes: &'a [f64],
    pub shape: Shape,
    pub colour: Rgb,
}

/// Slopes further apart than this share of the paper's are different ones.
const SAME: f64 = 1e-3;

pub(super) fn differ(slope: f64, paper: f64) -> bool {
    (slope - paper).abs() > SAME * paper
}

/// The distances at the right edge, and among them L as the line where a weight halves after L tokens; the
/// height of that line, CSS px.
pub(super) fn half_ticks(
    scene: &mut Scene,
    style: &Style,
    plot: Rect,
    y: &Scale,
    axis: &Axis,
    trained: usize,
    trained_label: &str,
) -> Option<f64> {
    let slope = LN_2 / trained as f64;
    let mark = y.contains(slope).then(|| style.snap_hair(y.px(slope)));
    for (tick, label) in &axis.ticks {
        let at = style.snap_hair(y.px(*tick));
        if mark.is_none_or(|mark| (mark - at).abs() > style.text_px() * 1.2) {
            let label = frame::words(style, plot.right() + 7.0, at, label.as_str(), Align::Left);
            scene.text(label);
        }
    }
    if let Some(at) = mark {
        frame::mark_line(scene, style, [plot.x, at], [plot.right() + 4.0, at], false);
        let label = frame::words(style, plot.right() + 7.0, at, trained_label, Align::Left);
        scene.text(Text {
            colour: style.ink().strong,
            bold: true,
            ..label
        });
    }
    mark
}

/// The marks of all heads; those that differ from the paper's are tied to it and written.
pub(super) fn draw_sets(
    scene: &mut Scene,
    style: &Style,
    plot: Rect,
    [x, y]: [&Scale; 2],
    sets: &[Set],
    below: usize,
    mark: Option<f64>,
) {
    let heads = sets[0].slopes.len();
    let step = plot.width / heads as f64;
    let radius = within(step * 0.3 / sets.len() as f64, 1.8, 4.5);
    let apart = (step * 0.6 / sets.len() as f64).min(11.0);
    // Slopes of zero and below lie under every logarithm.
    let place = |set: usize, head: usize| {
        let slope = sets[set].slopes[head];
        let up = if slope > 0.0 {
            y.px_clamped(slope)
        } else {
            plot.bottom()
        };
        let right = (set as f64 - (sets.len() as f64 - 1.0) / 2.0) * apart;
        [x.px(head as f64) + right, up]
    };
    // Boxes that words must leave free.
    let mark = mark.map(|y| Rect {
        y: y - 1.5,
        height: 3.0,
        ..plot
    });
    let mut taken: Vec<Rect> = mark.into_iter().collect();
    let mut written: Vec<(usize, usize)> = Vec::new();
    for head in 0..heads {
        let paper = place(0, head);
        let stem = [[paper[0], plot.bottom()], paper];
        scene.line(stem, Stroke::new(sets[0].colour, 1.25).alpha(0.45));
        for (index, set) in sets.iter().enumerate() {
            let (at, slope) = (place(index, head), set.slopes[head]);
            if index > 0 && differ(slope, sets[0].slopes[head]) {
                scene.line([paper, at], Stroke::new(set.colour, 1.0));
                written.push((index, head));
            }
            let shape = if index == 0 && head >= below {
                Shape::Ring
            } else {
                set.shape
            };
            match (slope > 0.0 && y.contains(slope), slope > y.domain()[0]) {
                (true, _) => shape.draw(scene, style, at, radius, set.colour),
                (_, is_above) => arrow(scene, at, is_above, set.colour),
            }
            let half = radius + 1.0;
            taken.push(Rect {
                x: at[0] - half,
                y: at[1] - half,
                width: half * 2.0,
                height: half * 2.0,
            });
        }
    }
    let size = style.small_px();
    // The first set's words first: they are the reader's own.
    sort_few(&mut written, |(index, _)| *index);
    for (index, head) in written {
        let label = text::slope(sets[index].slopes[head]);
        let ([at, up], width) = (place(index, head), text::width(&label, size));
        let (beside, over) = (radius + 4.0, radius + size * 0.8 + 3.0);
        let is_above = sets[index].slopes[head] > sets[0].slopes[head];
        let over = if is_above { -over } else { over };
        let places = [
            [at - width / 2.0, up + over],
            [at + beside, up],
            [at - width / 2.0, up - over],
            [at - beside - width, up],
        ];
        let boxes = places.map(|[left, middle]| Rect {
            x: left,
            y: middle - size * 0.6,
            width,
            height: size * 1.2,
        });
        let is_free = |place: &&Rect| {
            let inside = place.x >= plot.x
                && place.right() <= plot.right()
                && place.y >= plot.y
                && place.bottom() <= plot.bottom();
            inside && taken.iter().all(|other| !touch(place, other))
        };
        if let Some(place) = boxes.iter().find(is_free) {
            let words = frame::words(style, place.x, place.y + size * 0.6, label, Align::Left);
            let colour = sets[index].colour;
            scene.text(Text {
                size,
                colour,
                ..words
            });
            taken.push(*place);
        }
    }
}

/// A slope beyond the axis.
fn arrow(scene: &mut Scene, [x, y]: [f64; 2], is_above: bool, colour: Rgb) {
    let down = if is_above { 7.0 } else { -7.0 };
    let points = vec![[x - 4.0, y + down], [x + 4.0, y + down], [x, y]];
    scene.area(points, colour, 1.0);
}

fn touch(a: &Rect, b: &Rect) -> bool {
    a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom()
}
