use super::bitmap::Bitmap;
use super::error::FigureError;
use super::frame;
use super::heat::Square;
use super::scene::{Align, Scene, Text};
use super::style::Style;

/// The causal mask alone: which keys each query may look at.
pub(crate) fn compose(
    scene: &mut Scene,
    style: &Style,
    length: usize,
    trained: usize,
) -> Result<(), FigureError> {
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
    let lines = frame::wrap("seen: every key up to the query, no bias", room, style.text_px());
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
        "masked: the future",
        Align::Right,
    );
    scene.text(words);
    Ok(())
}
