use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind};
use super::order::quantiles;
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::{encoding_colour, text};

/// Means over groups of neighbouring positions: `(middle, mean)`; a group that has an undefined loss is
/// undefined.
fn groups(values: &[f32], width: usize) -> Vec<(f64, f64)> {
    values
        .chunks(width.max(1))
        .enumerate()
        .map(|(index, chunk)| {
            let middle = (index * width.max(1)) as f64 + (chunk.len() as f64 - 1.0) / 2.0;
            (
                middle,
                chunk.iter().map(|value| f64::from(*value)).sum::<f64>() / chunk.len() as f64,
            )
        })
        .collect()
}

/// Loss by position: every position pale, means of neighbours strong, since single positions see
/// different text and are noisy.
pub(crate) fn compose(
    scene: &mut Scene,
    style: &Style,
    length: usize,
    trained: usize,
    encoding: &str,
    values: &[f32],
) -> Result<(), FigureError> {
    let size = style.text_px();
    let plot = frame::inside(
        style,
        Margins {
            left: 40.0,
            right: 14.0,
            top: size * 3.2,
            bottom: size * 2.6 + 14.0,
        },
    );
    let last = (length - 1).max(1) as f64;
    let x = Scale::linear([0.0, last], [plot.x, plot.right()]);
    // As many points as the eye can follow.
    let thin = length.div_ceil((plot.width * 0.6).max(1.0) as usize).max(1);
    let fine = groups(values, thin);
    let losses = fine.iter().map(|point| point.1).collect();
    // A single outlier may leave the plot.
    let [low, high] = quantiles(losses, [0.01, 0.99]).unwrap_or([2.0, 6.0]);
    let pad = ((high - low) * 0.05).max(0.05);
    let y = Scale::linear([(low - pad).max(0.0), high + pad], [plot.bottom(), plot.y]);
    let y_ticks = scale::linear_ticks(y.domain(), ((plot.height / 34.0) as usize).clamp(2, 7));
    frame::heading(scene, style, 0.0, size * 0.7, "↑ loss (nats a token)");
    frame::y_axis(
        scene,
        style,
        plot,
        &y,
        &Axis::new(frame::number_ticks(&y_ticks), "").with_grid(),
    );
    let most = frame::most_ticks(plot.width, 64.0);
    let x_ticks = frame::count_ticks(&scale::positions(last as usize + 1, most));
    frame::x_axis(
        scene,
        style,
        plot,
        &x,
        &Axis::new(x_ticks, "position in the window (tokens) →"),
    );
    frame::mark_trained_x(scene, style, plot, &x, trained, false);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
    if values.is_empty() {
        frame::note(
            scene,
            style,
            plot,
            "The curve appears when the model has been evaluated.",
            style.ink().paper,
        );
        return Ok(());
    }
    let strong = encoding_colour(encoding, style.theme);
    let line = |points: Vec<(f64, f64)>| -> Vec<[f64; 2]> {
        let px = |value: f64| {
            if value.is_nan() {
                f64::NAN
            } else {
                y.px_clamped(value)
            }
        };
        points
            .into_iter()
            .map(|(position, loss)| [x.px(position), px(loss)])
            .collect()
    };
    scene.line(line(fine), Stroke::new(strong, 1.0).alpha(0.35));
    let width = (length / 32).max(1).next_multiple_of(thin);
    if width > thin {
        scene.line(line(groups(values, width)), Stroke::new(strong, 2.25));
        let thick = format!("thick: means of {} positions", text::count(width));
        let note = if thin > 1 {
            format!("thin: means of {}, {thick}", text::count(thin))
        } else {
            thick
        };
        let words = frame::words(style, style.width - 2.0, size * 0.7, note, Align::Right);
        scene.text(Text {
            colour: strong,
            ..words
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn groups_are_means_at_their_middles() {
        assert_eq!(
            groups(&[1.0, 3.0, 5.0, 7.0, 9.0], 2),
            [(0.5, 2.0), (2.5, 6.0), (4.0, 9.0)]
        );
        assert!(groups(&[f32::NAN, 1.0], 2)[0].1.is_nan());
    }
}
