//! Legends of marks: each mark and what it means, side by side, in as many lines as they need.

use super::colour::Rgb;
use super::frame::words;
use super::scene::{Align, Scene, Stroke};
use super::style::Style;
use super::text;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Disc,
    /// A circle that the paper fills.
    Ring,
    Diamond,
    Square,
    Triangle,
    Cross,
}

impl Shape {
    /// Draws the mark, about `radius` CSS px to each side.
    pub fn draw(self, scene: &mut Scene, style: &Style, centre: [f64; 2], radius: f64, colour: Rgb) {
        let [x, y] = centre;
        let place = |[right, down]: [f64; 2]| [x + right * radius, y + down * radius];
        let mut corners = |corners: &[[f64; 2]]| {
            scene.area(corners.iter().copied().map(place).collect(), colour, 1.0);
        };
        match self {
            Self::Disc => scene.disc(centre, radius, colour),
            Self::Ring => {
                scene.disc(centre, radius, style.ink().paper);
                scene.ring(centre, radius, Stroke::new(colour, 1.5));
            }
            Self::Diamond => corners(&[[0.0, -1.25], [1.25, 0.0], [0.0, 1.25], [-1.25, 0.0]]),
            Self::Square => corners(&[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]),
            Self::Triangle => corners(&[[0.0, -1.2], [1.15, 0.85], [-1.15, 0.85]]),
            Self::Cross => {
                for ends in [[[-1.0, -1.0], [1.0, 1.0]], [[-1.0, 1.0], [1.0, -1.0]]] {
                    scene.line(ends.map(place), Stroke::new(colour, 1.75));
                }
            }
        }
    }
}

/// One mark and its meaning.
pub(crate) struct Entry {
    pub shape: Shape,
    pub colour: Rgb,
    pub text: String,
}

/// The height of one line of entries, CSS px.
pub(crate) fn line_height(style: &Style) -> f64 {
    style.text_px() * 1.5
}

/// The left end and the line of each entry when they fill lines of `width` CSS px.
fn places(entries: &[Entry], width: f64, size: f64) -> Vec<(f64, usize)> {
    let (mut x, mut line) = (0.0, 0);
    let mut places = Vec::new();
    for entry in entries {
        let needs = text::width(&entry.text, size) + size * 1.2;
        if x > 0.0 && x + needs > width {
            (x, line) = (0.0, line + 1);
        }
        places.push((x, line));
        x += needs + size * 1.2;
    }
    places
}

/// How many lines the entries take.
pub(crate) fn lines(entries: &[Entry], style: &Style) -> usize {
    let places = places(entries, style.width - 4.0, style.text_px());
    places.last().map_or(0, |(_, line)| line + 1)
}

/// Draws the entries from the figure's left edge, their first line at the top.
pub(crate) fn draw(scene: &mut Scene, style: &Style, entries: &[Entry]) {
    let size = style.text_px();
    for (entry, (x, line)) in entries.iter().zip(places(entries, style.width - 4.0, size)) {
        let y = size * 0.7 + line as f64 * line_height(style);
        let centre = [x + size * 0.5, y];
        entry.shape.draw(scene, style, centre, size * 0.33, entry.colour);
        scene.text(words(style, x + size * 1.2, y, entry.text.as_str(), Align::Left));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_fill_lines_and_never_pass_their_end() {
        let entries: Vec<Entry> = ["one", "two words", "three of them", "and a fourth one"]
            .map(|text| Entry {
                shape: Shape::Disc,
                colour: Rgb(0, 0, 0),
                text: text.into(),
            })
            .into();
        let ends = |width: f64| -> Vec<(f64, usize)> {
            let ends = places(&entries, width, 10.0).into_iter().zip(&entries);
            ends.map(|((x, line), entry)| (x + 12.0 + text::width(&entry.text, 10.0), line))
                .collect()
        };
        assert!(ends(1000.0).iter().all(|(_, line)| *line == 0));
        assert!(
            ends(160.0).iter().all(|(end, _)| *end <= 160.0),
            "{:?}",
            ends(160.0)
        );
        assert_eq!(
            ends(1.0).iter().map(|end| end.1).collect::<Vec<_>>(),
            [0, 1, 2, 3]
        );
    }
}
