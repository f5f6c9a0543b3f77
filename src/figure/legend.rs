use super::bitmap::Bitmap;
use super::colour::Colours;
use super::frame::words;
use super::geometry::Rect;
use super::order::sort_few;
use super::scale::within;
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::text;

/// A colour scale as a bar with numbers below and its title before or above.
pub(crate) struct Legend<'a> {
    pub colours: &'a Colours,
    pub title: &'a str,
    /// Place on the bar (0 to 1) and number.
    pub ticks: Vec<(f64, String)>,
}

impl Legend<'_> {
    /// The height that it takes, CSS px.
    pub fn height(style: &Style) -> f64 {
        style.text_px() * 2.6 + 14.0
    }

    /// Draws the legend with its right end at `right` and its top at `top`.
    pub fn draw(&self, scene: &mut Scene, style: &Style, right: f64, top: f64, width: f64) {
        let size = style.text_px();
        let (left, bar_top) = (style.snap(right - width), style.snap(top + size * 1.3));
        let bar = Rect {
            x: left,
            y: bar_top,
            width: style.snap(right) - left,
            height: style.snap(bar_top + 8.0) - bar_top,
        };
        scene.text(words(style, right, top + size * 0.5, self.title, Align::Right));
        scene.image(
            bar,
            Bitmap::from_fn(1, 128, |_, column| self.colours.at(column as f64 / 127.0)),
        );
        // The ends first: their numbers must stand.
        let mut taken: Vec<[f64; 2]> = Vec::new();
        let mut ticks: Vec<_> = self.ticks.iter().collect();
        sort_few(&mut ticks, |tick| -(tick.0 - 0.5).abs());
        for (part, label) in ticks {
            let half = text::width(label, style.small_px()) / 2.0;
            let x = bar.x + bar.width * part;
            let middle = within(x, bar.x + half, bar.right() - half);
            if taken
                .iter()
                .any(|[from, to]| middle + half + 6.0 > *from && middle - half - 6.0 < *to)
            {
                continue;
            }
            taken.push([middle - half, middle + half]);
            let tick = style.snap_hair(within(x, bar.x + 0.5, bar.right() - 0.5));
            let line = [[tick, bar.bottom()], [tick, bar.bottom() + 3.0]];
            scene.line(line, Stroke::new(style.ink().axis, style.hair()));
            let label = words(
                style,
                middle,
                bar.bottom() + 4.0 + size * 0.7,
                label.as_str(),
                Align::Centre,
            );
            scene.text(Text {
                size: style.small_px(),
                ..label
            });
        }
    }
}
