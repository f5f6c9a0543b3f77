//! Labels at the ends of curves.

use super::colour::Rgb;
use super::frame;
use super::geometry::Rect;
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::text;
use std::cmp::Ordering;

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
        .map(|label| text::width(label, style.text_px()) * 1.06);
    widths.fold(0.0, f64::max) + 20.0
}

/// Writes the labels right of their curves' ends, moved apart where they would overlap, each then tied
/// to its end by a thin line. Curves that end inside the plot have theirs there.
pub(crate) fn end_labels(scene: &mut Scene, style: &Style, plot: Rect, mut labels: Vec<EndLabel>) {
    labels.retain(|label| label.at.iter().all(|at| at.is_finite()));
    labels.sort_by(|a, b| {
        (a.at[0].round(), a.at[1])
            .partial_cmp(&(b.at[0].round(), b.at[1]))
            .unwrap_or(Ordering::Equal)
    });
    for group in labels.chunk_by(|a, b| a.at[0].round() == b.at[0].round()) {
        label_group(scene, style, plot, group);
    }
}

/// Labels of curves that end at the same x, from the top down.
fn label_group(scene: &mut Scene, style: &Style, plot: Rect, labels: &[EndLabel]) {
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
        let start = end + 14.0;
        let words = frame::words(style, start, y, label.text.as_str(), Align::Left);
        let words = Text {
            colour: label.colour,
            bold: label.strong,
            ..words
        };
        if start < plot.right() {
            // Inside the plot other curves may pass: paper behind the words.
            let width = text::width(&label.text, style.text_px()) * 1.06 + 4.0;
            let back = Rect {
                x: start - 2.0,
                y: y - line / 2.0,
                width,
                height: line,
            };
            scene.rect(back, style.ink().paper);
        }
        if (y - at).abs() > 1.0 {
            let tie = [[end + 4.0, at], [start - 2.0, y]];
            scene.line(tie, Stroke::new(label.colour, 1.0).alpha(0.45));
        }
        scene.text(words);
    }
}

/// Heights for labels wanted at `wanted` (ascending), at least `line` apart and, if they fit, between
/// `top` and `bottom`; overlapping ones spread around their common middle.
fn spread(wanted: &[f64], line: f64, top: f64, bottom: f64) -> Vec<f64> {
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
