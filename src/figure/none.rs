use super::bitmap::Bitmap;
use super::error::FigureError;
use super::frame;
use super::geometry::Rect;
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
    let lower = Rect {
        x: plot.x,
        y: plot.y + plot.height * 0.58,
        width: plot.width * 0.6,
        height: plot.height * 0.3,
    };
    for (index, line) in frame::wrap(
        "seen: all keys up to the query, no bias",
        lower.width,
        style.text_px(),
    )
    .into_iter()
    .enumerate()
    {
        let y = lower.y + (index as f64 + 0.5) * style.text_px() * 1.4;
        let words = frame::words(style, plot.x + 14.0, y, line, Align::Left);
        scene.text(Text {
            colour: ink.strong,
            ..words
        });
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
