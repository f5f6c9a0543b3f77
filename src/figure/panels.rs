//! Small matrices of query (down) × key (across) side by side: their marks of L and their axes.

use super::frame;
use super::geometry::Rect;
use super::scale::Scale;
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::text;

/// L in one panel, as dashed lines on both axes.
pub(crate) fn mark_trained(
    scene: &mut Scene,
    style: &Style,
    panel: Rect,
    [x, y]: [&Scale; 2],
    trained: usize,
) {
    let ink = style.ink();
    let (at_x, at_y) = (
        style.snap_hair(x.px(trained as f64)),
        style.snap_hair(y.px(trained as f64)),
    );
    for ends in [
        [[at_x, panel.y], [at_x, panel.bottom()]],
        [[panel.x, at_y], [panel.right(), at_y]],
    ] {
        scene.line(ends, Stroke::new(ink.paper, 2.5).alpha(0.6));
        scene.line(ends, Stroke::new(ink.strong, 1.0).dashed(3.0, 2.5));
    }
}

/// What those lines mean, once for all panels; `y` is the middle of the line.
pub(crate) fn trained_key(scene: &mut Scene, style: &Style, [x, y]: [f64; 2], trained: usize) {
    let ink = style.ink();
    let stroke = Stroke::new(ink.strong, 1.25).dashed(4.0, 3.0);
    scene.line([[x, y], [x + 22.0, y]], stroke);
    let label = frame::trained_label(style, trained);
    let words = frame::words(style, x + 28.0, y, label, Align::Left);
    scene.text(Text {
        colour: ink.strong,
        bold: true,
        ..words
    });
}

/// The numbers of one panel: the others share them.
pub(crate) fn axes(
    scene: &mut Scene,
    style: &Style,
    panel: Rect,
    [x, y]: [&Scale; 2],
    length: usize,
    trained: Option<usize>,
) {
    let free = |tick: f64| tick == 0.0 || tick == length as f64 || panel.height > 60.0;
    axes_where(scene, style, panel, [x, y], length, trained, free);
}

/// As [`axes`], with those numbers of the y axis that are `free`.
pub(crate) fn axes_where(
    scene: &mut Scene,
    style: &Style,
    panel: Rect,
    [x, y]: [&Scale; 2],
    length: usize,
    trained: Option<usize>,
    free: impl Fn(f64) -> bool,
) {
    let size = style.text_px();
    let end = text::count(length);
    let room = panel.width > text::width(&end, size) + size;
    let mut ticks = vec![(0.0, "0".to_string())];
    if let Some(trained) = trained {
        ticks.push((trained as f64, "L".to_string()));
    }
    if room {
        ticks.push((length as f64, end));
    }
    let axis = frame::Axis::new(ticks, String::new());
    frame::x_axis(scene, style, panel, x, &axis);
    let down: Vec<_> = axis.ticks.into_iter().filter(|(at, _)| free(*at)).collect();
    frame::y_axis(scene, style, panel, y, &frame::Axis::new(down, String::new()));
}
