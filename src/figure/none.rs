use super::bitmap::Bitmap;
use super::chart::{At, Chart};
use super::frame;
use super::heat::Square;
use super::scene::{Align, Scene, Text};
use super::style::Style;
use super::table::Table;
use super::text;
use super::words::Words;
use serde::{Deserialize, Serialize};

/// The causal mask alone. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CausalMask {
    pub length: usize,
    pub trained_length: usize,
}

impl Chart for CausalMask {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self.length, self.trained_length)
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let (key, query) = at.cell(self.length, self.length);
        let says = words.say(if key > query { "read_masked" } else { "read_seen" });
        Some(words.fill(
            "read_query_key",
            &[("query", &query), ("key", &key), ("says", &says)],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        words.fill("sum_none", &[("length", &text::count(self.length))])
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let mut table = Table::new(["col_query", "col_keys_seen"].map(|key| words.say(key)));
        (0..self.length).for_each(|query| table.row([query.into(), (query + 1).into()]));
        table
    }
}

/// The causal mask alone: which keys each query may look at.
fn compose(scene: &mut Scene, style: &Style, length: usize, trained: usize) {
    let square = Square::new(style, length, false);
    let ink = style.ink();
    let open = super::encoding_colour("none", style.theme).mix(ink.paper, 0.55);
    let cells = square.cells(style, length);
    let colour = |difference: isize| if difference >= 0 { open } else { ink.masked };
    scene.image(square.plot, Bitmap::by_difference(cells, colour));
    square.finish(scene, style, length, trained);
    let plot = square.plot;
    // Clear of the mark at L, on the side that has room.
    let at_trained = plot.width * trained as f64 / length as f64;
    let left = if at_trained < plot.width * 0.35 {
        at_trained
    } else {
        0.0
    };
    let room = (plot.width * 0.48 - left).min(plot.width - left) - 12.0;
    let lines = frame::wrap(style.words().say("mask_seen"), room, style.text_px());
    let mut y = plot.bottom() - lines.len() as f64 * style.text_px() * 1.4 - 4.0;
    for line in lines {
        let words = frame::words(style, plot.x + left + 12.0, y, line, Align::Left);
        scene.text(Text {
            colour: ink.strong,
            ..words
        });
        y += style.text_px() * 1.4;
    }
    let words = frame::words(
        style,
        plot.right() - 14.0,
        plot.y + plot.height * 0.2,
        style.words().say("mask_future"),
        Align::Right,
    );
    scene.text(words);
}
