//! Labels at the ends of curves.

use super::colour::Rgb;
use super::frame;
use super::geometry::Rect;
use super::order::sort_few;
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::text;

/// What stands at the end of a curve.
pub(crate) struct EndLabel {
    /// Where the curve ends, CSS px.
    pub at: [f64; 2],
    pub text: String,
    pub colour: Rgb,
    pub strong: bool,
}

/// The room that end labels need right of a plot, CSS px.
pub(crate) fn room<'a>(labels: impl IntoIterator<Item = &'a str>, style: &Style) -> f64 {
    let widths = labels
        .into_iter()
        .map(|label| text::width(label, style.text_px()) * 1.15);
    widths.fold(0.0, f64::max) + 20.0
}

/// Writes the labels right of their curves' ends, moved apart where they would overlap, each then tied
/// to its end by a thin line. A curve that ends alone inside the plot has its label where the fewest of
/// `curves` pass; one that ends so near the edge that its label would stand among the others' is labelled
/// with them.
pub(crate) fn end_labels(
    scene: &mut Scene,
    style: &Style,
    plot: Rect,
    mut labels: Vec<EndLabel>,
    curves: &[Vec<[f64; 2]>],
) {
    labels.retain(|label| label.at.iter().all(|at| at.is_finite()));
    let needs = |label: &EndLabel| text::width(&label.text, style.text_px()) * 1.06 + 16.0;
    // The column in which a label stands: right of its curve's end, or right of the plot.
    let column = |label: &EndLabel| match label.at[0] + needs(label) > plot.right() {
        true => plot.right(),
        false => label.at[0].round(),
    };
    sort_few(&mut labels, |label| (column(label), label.at[1]));
    for group in labels.chunk_by(|a, b| column(a) == column(b)) {
        match group {
            [label] if column(label) < plot.right() => label_inside(scene, style, plot, label, curves),
            _ => label_group(scene, style, plot, group, column(&group[0])),
        }
    }
}

/// The label of a curve that ends alone inside the plot.
fn label_inside(scene: &mut Scene, style: &Style, plot: Rect, label: &EndLabel, curves: &[Vec<[f64; 2]>]) {
    let [x, y] = label.at;
    let (width, line) = (
        text::width(&label.text, style.text_px()) * 1.06,
        style.text_px() * 1.25,
    );
    let places = [
        (10.0, 0.0),
        (6.0, -line),
        (6.0, line),
        (-width - 6.0, -line),
        (-width - 6.0, line),
    ];
    let boxes = places.map(|(right, down)| Rect {
        x: x + right,
        y: y + down - line / 2.0,
        width,
        height: line,
    });
    let inside = |place: &Rect| place.x >= plot.x && place.y >= plot.y && place.bottom() <= plot.bottom();
    let best = boxes
        .into_iter()
        .filter(inside)
        .min_by_key(|place| crossings(*place, curves));
    let place = best.unwrap_or(boxes[0]);
    let words = frame::words(
        style,
        place.x,
        place.y + line / 2.0,
        label.text.as_str(),
        Align::Left,
    );
    scene.text(Text {
        colour: label.colour,
        bold: label.strong,
        ..words
    });
}

/// How many steps of about 2 px along the curves lie in a box.
fn crossings(place: Rect, curves: &[Vec<[f64; 2]>]) -> usize {
    let inside =
        |x: f64, y: f64| x > place.x - 2.0 && x < place.right() + 2.0 && y > place.y && y < place.bottom();
    let segments = curves.iter().flat_map(|curve| curve.windows(2));
    segments
        .map(|pair| {
            let ([x, y], [to_x, to_y]) = (pair[0], pair[1]);
            let steps = ((to_x - x).hypot(to_y - y) / 2.0).ceil().clamp(1.0, 4000.0) as usize;
            (0..steps)
                .map(|step| step as f64 / steps as f64)
                .filter(|part| inside(x + (to_x - x) * part, y + (to_y - y) * part))
                .count()
        })
        .sum()
}

/// Labels of curves that share a column at `x`, from the top down.
fn label_group(scene: &mut Scene, style: &Style, plot: Rect, labels: &[EndLabel], x: f64) {
    let line = style.text_px() * 1.25;
    let fit = ((plot.height / line) as usize + 1).max(1);
    let every = labels.len().div_ceil(fit);
    let shown = labels
        .iter()
        .enumerate()
        .filter(|(index, label)| label.strong || index % every == 0);
    let labels: Vec<&EndLabel> = shown.map(|(_, label)| label).collect();
    let wanted: Vec<f64> = labels.iter().map(|label| label.at[1]).collect();
    let places = spread(&wanted, line, plot.y, plot.bottom());
    for (label, y) in labels.into_iter().zip(places) {
        let [end, at] = label.at;
        if (y - at).abs() > 1.0 || end + 4.0 < x {
            let tie = [[end + 4.0, at], [x + 12.0, y]];
            scene.line(tie, Stroke::new(label.colour, 1.0).alpha(0.45));
        }
        let words = frame::words(style, x + 14.0, y, label.text.as_str(), Align::Left);
        scene.text(Text {
            colour: label.colour,
            bold: label.strong,
            ..words
        });
    }
}

/// Heights for labels wanted at `wanted` (ascending), at least `line` apart and, if they fit, between
/// `top` and `bottom`; overlapping ones spread around their common middle.
pub(super) fn spread(wanted: &[f64], line: f64, top: f64, bottom: f64) -> Vec<f64> {
    // Groups of touching labels: (first height, how many).
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for &y in wanted {
        groups.push((y, 1));
        while let [.., (above, above_count), (below, below_count)] = groups[..] {
            let overlap = above + above_count as f64 * line - below;
            if overlap <= 0.0 {
                break;
            }
            let share = below_count as f64 / (above_count + below_count) as f64;
            let first = (above - overlap * share).max(top);
            groups.truncate(groups.len() - 2);
            groups.push((first, above_count + below_count));
        }
    }
    let mut free = bottom;
    for (first, count) in groups.iter_mut().rev() {
        let last = *first + (*count as f64 - 1.0) * line;
        *first -= (last - free).max(0.0);
        free = *first - line;
    }
    groups
        .iter()
        .flat_map(|&(first, count)| (0..count).map(move |index| first + index as f64 * line))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_are_counted_inside_the_box_only() {
        let place = Rect {
            x: 10.0,
            y: 10.0,
            width: 20.0,
            height: 10.0,
        };
        assert_eq!(crossings(place, &[vec![[0.0, 0.0], [40.0, 0.0]]]), 0);
        assert!(crossings(place, &[vec![[0.0, 15.0], [40.0, 15.0]]]) >= 10);
    }

    #[test]
    fn labels_do_not_overlap_and_stay_inside() {
        let places = spread(&[10.0, 12.0, 13.0, 60.0, 95.0, 99.0], 12.0, 0.0, 100.0);
        assert_eq!(places.len(), 6);
        assert!(
            places.windows(2).all(|pair| pair[1] - pair[0] >= 12.0 - 1e-9),
            "{places:?}"
        );
        assert!(places[0] >= 0.0 && places[5] <= 100.0, "{places:?}");
        assert_eq!(places[3], 60.0);
    }
}
