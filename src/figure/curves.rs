//! Labels at the ends of curves.

use super::colour::Rgb;
use super::frame;
use super::geometry::Rect;
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
        .map(|label| text::width(label, style.text_px()) * 1.06);
    widths.fold(0.0, f64::max) + 20.0
}

/// Writes the labels right of the plot, moved apart where they would overlap, each tied to its curve's
/// end by a thin line.
pub(crate) fn end_labels(scene: &mut Scene, style: &Style, plot: Rect, mut labels: Vec<EndLabel>) {
    labels.retain(|label| label.at.iter().all(|at| at.is_finite()));
    labels.sort_by(|a, b| a.at[1].total_cmp(&b.at[1]));
    let line = style.text_px() * 1.25;
    let fit = ((plot.height / line) as usize + 1).max(1);
    if labels.len() > fit {
        let every = labels.len().div_ceil(fit);
        let mut index = 0;
        labels.retain(|label| {
            index += 1;
            label.strong || (index - 1) % every == 0
        });
    }
    let wanted: Vec<f64> = labels.iter().map(|label| label.at[1]).collect();
    let places = spread(&wanted, line, plot.y, plot.bottom());
    for (label, y) in labels.iter().zip(places) {
        let start = plot.right() + 14.0;
        if label.at[0] < plot.right() - 1.0 || (y - label.at[1]).abs() > 1.0 {
            let way = [
                [label.at[0] + 4.0, label.at[1]],
                [plot.right() + 4.0, label.at[1]],
                [start - 2.0, y],
            ];
            let stroke = Stroke::new(label.colour, 1.0).alpha(0.45);
            scene.line(
                if label.at[0] < plot.right() - 8.0 {
                    way.to_vec()
                } else {
                    way[1..].to_vec()
                },
                stroke,
            );
        }
        let words = frame::words(style, start, y, label.text.as_str(), Align::Left);
        scene.text(Text {
            colour: label.colour,
            bold: label.strong,
            ..words
        });
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
