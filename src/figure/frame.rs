//! What all charts share: axes, the mark at L, legends, notes.

use super::colour::Rgb;
use super::geometry::Rect;
use super::scale::{Scale, positions, powers_of_two, within};
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::text;

/// One axis' ticks and what they count.
pub(crate) struct Axis {
    pub ticks: Vec<(f64, String)>,
    pub title: String,
    pub grid: bool,
}

impl Axis {
    pub fn new(ticks: Vec<(f64, String)>, title: impl Into<String>) -> Self {
        Self {
            ticks,
            title: title.into(),
            grid: false,
        }
    }

    pub fn with_grid(self) -> Self {
        Self { grid: true, ..self }
    }
}

/// Ticks at whole numbers, written as counts.
pub(crate) fn count_ticks(at: &[f64]) -> Vec<(f64, String)> {
    at.iter()
        .map(|&tick| (tick, text::count(tick as usize)))
        .collect()
}

/// Ticks written to three significant digits.
pub(crate) fn number_ticks(at: &[f64]) -> Vec<(f64, String)> {
    at.iter().map(|&tick| (tick, text::number(tick, 3))).collect()
}

/// Room around a plot, CSS px.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Margins {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
}

/// The plot's area inside the margins, on whole device pixels, and never empty.
pub(crate) fn inside(style: &Style, margins: Margins) -> Rect {
    let (left, top) = (style.snap(margins.left), style.snap(margins.top));
    let right = style.snap((style.width - margins.right).max(left + 8.0));
    let bottom = style.snap((style.height - margins.bottom).max(top + 8.0));
    Rect {
        x: left,
        y: top,
        width: right - left,
        height: bottom - top,
    }
}

/// The width that an axis' numbers need, CSS px.
pub(crate) fn labels_width(axis: &Axis, style: &Style) -> f64 {
    let widths = axis
        .ticks
        .iter()
        .map(|(_, label)| text::width(label, style.text_px()));
    widths.fold(0.0, f64::max)
}

/// How many numbers of about `label` CSS px fit along `px`.
pub(crate) fn most_ticks(px: f64, label: f64) -> usize {
    ((px / label).floor() as usize).clamp(2, 12)
}

pub(crate) fn words(style: &Style, x: f64, y: f64, words: impl Into<String>, align: Align) -> Text {
    Text {
        x,
        y,
        text: words.into(),
        size: style.text_px(),
        colour: style.ink().muted,
        align,
        bold: false,
    }
}

/// The x axis under a plot: line, ticks, numbers that do not touch, and the title at its right end,
/// a line below.
pub(crate) fn x_axis(scene: &mut Scene, style: &Style, plot: Rect, scale: &Scale, axis: &Axis) {
    let (ink, size) = (style.ink(), style.text_px());
    let base = style.snap_hair(plot.bottom());
    let mut free = f64::NEG_INFINITY;
    for (value, label) in axis.ticks.iter().filter(|(value, _)| scale.contains(*value)) {
        let x = style.snap_hair(scale.px(*value));
        if axis.grid {
            scene.line(
                [[x, plot.y], [x, plot.bottom()]],
                Stroke::new(ink.grid, style.hair()),
            );
        }
        scene.line([[x, base], [x, base + 4.0]], Stroke::new(ink.axis, style.hair()));
        let half = text::width(label, size) / 2.0;
        let middle = within(x, half, style.width - half);
        if middle - half < free {
            continue;
        }
        free = middle + half + size * 0.5;
        scene.text(words(
            style,
            middle,
            base + 5.0 + size * 0.75,
            label.as_str(),
            Align::Centre,
        ));
    }
    scene.line(
        [[plot.x, base], [plot.right(), base]],
        Stroke::new(ink.axis, style.hair()),
    );
    let title = words(
        style,
        plot.right(),
        base + 8.0 + size * 2.0,
        axis.title.as_str(),
        Align::Right,
    );
    scene.text(title);
}

/// The x axis of distances from 0 to `last`; on one of logarithms 0 stands at the left end.
pub(crate) fn distance_axis(scene: &mut Scene, style: &Style, plot: Rect, x: &Scale, last: usize) {
    let most = most_ticks(plot.width, 52.0);
    let words = style.words();
    let axis = if x.is_log() {
        let mut ticks = vec![(x.domain()[0], "0".to_string())];
        ticks.extend(count_ticks(&powers_of_two(1.0, last.max(1) as f64, most)));
        Axis::new(ticks, words.say("distance_log"))
    } else {
        Axis::new(count_ticks(&positions(last, most)), words.say("distance"))
    };
    x_axis(scene, style, plot, x, &axis);
}

/// The y axis: numbers at the left, light lines across, no line of its own; its title stands above.
pub(crate) fn y_axis(scene: &mut Scene, style: &Style, plot: Rect, scale: &Scale, axis: &Axis) {
    let ink = style.ink();
    for (value, label) in axis.ticks.iter().filter(|(value, _)| scale.contains(*value)) {
        let y = style.snap_hair(scale.px(*value));
        if axis.grid {
            scene.line(
                [[plot.x, y], [plot.right(), y]],
                Stroke::new(ink.grid, style.hair()),
            );
        }
        scene.text(words(style, plot.x - 7.0, y, label.as_str(), Align::Right));
    }
}

/// Zero as a strong line across the plot, where the y axis holds it.
pub(crate) fn zero_line(scene: &mut Scene, style: &Style, plot: Rect, y: &Scale) {
    if y.contains(0.0) {
        let at = style.snap_hair(y.px(0.0));
        let stroke = Stroke::new(style.ink().strong, 1.25);
        scene.line([[plot.x, at], [plot.right(), at]], stroke);
    }
}

/// The title of a y axis (or any heading), left over the plot at height `y`.
pub(crate) fn heading(scene: &mut Scene, style: &Style, x: f64, y: f64, title: &str) {
    scene.text(words(style, x + 1.0, y, title, Align::Left));
}

/// The mark of a length: a dashed line on a light casing, so that it shows on any ground.
pub(crate) fn mark_line(scene: &mut Scene, style: &Style, from: [f64; 2], to: [f64; 2], casing: bool) {
    let ink = style.ink();
    if casing {
        scene.line([from, to], Stroke::new(ink.paper, 3.0).alpha(0.75));
    }
    scene.line([from, to], Stroke::new(ink.strong, 1.25).dashed(4.0, 3.0));
}

/// L on an x axis: the line and, above the plot, its label.
pub(crate) fn mark_trained_x(
    scene: &mut Scene,
    style: &Style,
    plot: Rect,
    scale: &Scale,
    trained: usize,
    casing: bool,
) {
    if !scale.contains(trained as f64) {
        return;
    }
    let x = style.snap_hair(scale.px(trained as f64));
    mark_line(scene, style, [x, plot.y - 4.0], [x, plot.bottom()], casing);
    let label = trained_label(style, trained);
    let half = text::width(&label, style.text_px()) / 2.0 + 2.0;
    let middle = within(x, half, style.width - half);
    let label = words(
        style,
        middle,
        plot.y - 6.0 - style.text_px() * 0.55,
        label,
        Align::Centre,
    );
    scene.text(Text {
        colour: style.ink().strong,
        bold: true,
        ..label
    });
}

/// Several trained lengths, ascending, on an x axis: a line each; after the first label numbers are enough.
pub(crate) fn mark_trained_all(scene: &mut Scene, style: &Style, plot: Rect, scale: &Scale, all: &[usize]) {
    let (Some((first, others)), size) = (all.split_first(), style.text_px()) else {
        return;
    };
    mark_trained_x(scene, style, plot, scale, *first, false);
    let mut free = scale.px(*first as f64) + text::width(&trained_label(style, *first), size) / 2.0 + 2.0;
    for &length in others.iter().filter(|length| scale.contains(**length as f64)) {
        let x = style.snap_hair(scale.px(length as f64));
        mark_line(scene, style, [x, plot.y - 4.0], [x, plot.bottom()], false);
        let label = text::count(length);
        let half = text::width(&label, size) / 2.0 + 2.0;
        let middle = within(x, half, style.width - half);
        if middle - half < free {
            continue;
        }
        free = middle + half;
        let label = words(style, middle, plot.y - 6.0 - size * 0.55, label, Align::Centre);
        scene.text(Text {
            colour: style.ink().strong,
            bold: true,
            ..label
        });
    }
}

/// How L is written everywhere.
pub(crate) fn trained_label(style: &Style, trained: usize) -> String {
    style
        .words()
        .fill("trained_label", &[("length", &text::count(trained))])
}

/// Diagonal lines over a rectangle: what was never trained.
pub(crate) fn hatch(scene: &mut Scene, style: &Style, rect: Rect, colour: Rgb) {
    let step = 7.0;
    let mut offset = -rect.height;
    while offset < rect.width {
        // A line going up to the right from the bottom edge, clipped to the rectangle.
        let (mut from, mut to) = (
            [rect.x + offset, rect.bottom()],
            [rect.x + offset + rect.height, rect.y],
        );
        if from[0] < rect.x {
            from = [rect.x, rect.bottom() - (rect.x - from[0])];
        }
        if to[0] > rect.right() {
            to = [rect.right(), rect.y + (to[0] - rect.right())];
        }
        scene.line([from, to], Stroke::new(colour, style.hair()));
        offset += step;
    }
}

/// A sentence in the middle of an empty plot, on ground of its own, so that marks do not cross it.
pub(crate) fn note(scene: &mut Scene, style: &Style, plot: Rect, sentence: &str, ground: Rgb) {
    let size = style.text_px();
    let lines = wrap(sentence, plot.width - 24.0, size);
    let width = lines
        .iter()
        .map(|line| text::width(line, size))
        .fold(0.0, f64::max)
        + 20.0;
    let height = lines.len() as f64 * size * 1.4 + 8.0;
    let middle = [plot.x + plot.width / 2.0, plot.y + plot.height / 2.0];
    let back = Rect {
        x: middle[0] - width / 2.0,
        y: middle[1] - height / 2.0,
        width,
        height,
    };
    scene.rect(back, ground);
    let mut y = middle[1] - (lines.len() as f64 - 1.0) * size * 0.7;
    for line in lines {
        scene.text(words(style, middle[0], y, line, Align::Centre));
        y += size * 1.4;
    }
}

/// Breaks a sentence into lines that fit: at spaces, and between Chinese characters.
pub(crate) fn wrap(sentence: &str, width: f64, size: f64) -> Vec<String> {
    let is_square = |c: char| ('\u{2e80}'..='\u{9fff}').contains(&c);
    // Pieces that stay whole; a piece keeps the space before it.
    let mut pieces: Vec<String> = Vec::new();
    let mut last = ' ';
    for c in sentence.chars() {
        let breaks = c == ' '
            || (is_square(c) && !"，。；：、）」".contains(c))
            || (is_square(last) && c.is_alphanumeric());
        match pieces.last_mut() {
            Some(piece) if !breaks => piece.push(c),
            _ => pieces.push(c.to_string()),
        }
        last = c;
    }
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if text::width(line, size) + text::width(&piece, size) <= width => {
                line.push_str(&piece)
            }
            _ => lines.push(piece.trim_start().into()),
        }
    }
    lines
}

/// Columns and side of the largest square panels when `count` of them fill an area; `gap` is the room
/// between panels, across and down (CSS px), of which each panel has one down at its top.
pub(crate) fn grid(count: usize, width: f64, height: f64, gap: [f64; 2]) -> (usize, f64) {
    let side = |columns: usize| {
        let rows = count.div_ceil(columns);
        let across = (width + gap[0]) / columns as f64 - gap[0];
        let down = height / rows as f64 - gap[1];
        across.min(down)
    };
    let mut best = (1, side(1));
    for columns in 2..=count {
        // Equal sides: the fuller grid.
        if side(columns) > best.1 + 0.01 {
            best = (columns, side(columns));
        }
    }
    (best.0, best.1.max(4.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_fits_its_area_and_prefers_large_panels() {
        for count in [1, 3, 4, 8, 12, 16, 64] {
            for (width, height) in [(1100.0, 400.0), (320.0, 600.0), (300.0, 300.0)] {
                let (columns, side) = grid(count, width, height, [10.0, 20.0]);
                let rows = count.div_ceil(columns);
                assert!(
                    columns as f64 * (side + 10.0) - 10.0 <= width + 0.1,
                    "{count} {width}"
                );
                assert!(
                    rows as f64 * (side + 20.0) <= height + 0.1 || side == 4.0,
                    "{count} {height}"
                );
            }
        }
        assert_eq!(grid(8, 1000.0, 300.0, [10.0, 20.0]).0, 4);
        assert_eq!(grid(8, 300.0, 600.0, [10.0, 20.0]).0, 2);
    }

    #[test]
    fn lines_wrap_at_words() {
        assert_eq!(wrap("one two three", 55.0, 12.0), ["one two", "three"]);
        assert_eq!(wrap("前後左右，上下", 50.0, 12.0), ["前後左", "右，上下"]);
    }
}
