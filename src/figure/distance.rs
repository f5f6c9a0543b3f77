use super::curves::{self, EndLabel};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind};
use super::scale::{self, Scale};
use super::scene::{Scene, Stroke};
use super::style::Style;
use super::t5_bias::ZERO;
use super::{Figure, encoding_colour, size, text};

/// One curve a head of the chosen layer, the chosen one strong. Attention falls over powers of ten, so
/// y is logarithmic; where many distances share a pixel, the curve shows their mean.
pub(crate) fn compose(
    scene: &mut Scene,
    style: &Style,
    figure: &Figure,
    values: &[f32],
) -> Result<(), FigureError> {
    let Figure::Distance {
        length,
        trained_length,
        layers,
        heads,
        layer,
        head,
        logarithmic,
        encoding,
    } = figure
    else {
        return Ok(());
    };
    let (length, heads) = (*length, *heads);
    size("number of heads", heads)?;
    for (what, value, count) in [("layer", *layer, *layers), ("head", *head, heads)] {
        if value >= count {
            let need = "below the number of layers or heads";
            return Err(FigureError::Setting {
                what,
                value: value.to_string(),
                need,
            });
        }
    }
    let text_px = style.text_px();
    let labels: Vec<String> = (0..heads).map(|head| format!("head {head}")).collect();
    let margins = Margins {
        left: text::width("0.0001", text_px) + 12.0,
        right: curves::room(labels.iter().map(String::as_str), style),
        top: text_px * 3.2,
        bottom: text_px * 2.6 + 14.0,
    };
    let plot = frame::inside(style, margins);
    let across = [plot.x, plot.right()];
    let last = (length - 1).max(1) as f64;
    let x = if *logarithmic {
        Scale::log([ZERO, last], across)
    } else {
        Scale::linear([0.0, last], across)
    };
    let profile = |head: usize| &values[(layer * heads + head) * length..][..length];

    let curves: Vec<Vec<(f64, f64)>> = if values.is_empty() {
        Vec::new()
    } else {
        (0..heads).map(|head| pooled(profile(head), &x)).collect()
    };
    let shown = curves
        .iter()
        .flatten()
        .map(|&(_, weight)| weight)
        .filter(|weight| *weight > 0.0);
    let (low, high) = shown.fold((1.0f64, 1e-3f64), |(low, high), weight| {
        (low.min(weight), high.max(weight))
    });
    let (low, high) = if values.is_empty() {
        (1e-4, 1.0)
    } else {
        (low, high)
    };
    // At most six powers of ten: what is smaller is as good as nothing.
    let y = Scale::log(
        [(low * 0.8).max(high * 1e-6), (high * 1.3).min(1.0)],
        [plot.bottom(), plot.y],
    );

    let y_ticks = scale::log_ticks(y.domain(), ((plot.height / 30.0) as usize).clamp(3, 8));
    let y_labels = y_ticks.iter().map(|&tick| (tick, text::log_tick(tick))).collect();
    frame::heading(
        scene,
        style,
        0.0,
        text_px * 0.7,
        "↑ mean attention weight (log scale)",
    );
    frame::y_axis(scene, style, plot, &y, &Axis::new(y_labels, "").with_grid());
    let most = frame::most_ticks(plot.width, 52.0);
    let x_axis = if *logarithmic {
        let mut ticks = vec![(ZERO, "0".to_string())];
        ticks.extend(frame::count_ticks(&scale::powers_of_two(1.0, last, most)));
        Axis::new(ticks, "distance (tokens, log scale) →")
    } else {
        Axis::new(
            frame::count_ticks(&scale::positions(last as usize, most)),
            "distance (tokens) →",
        )
    };
    frame::x_axis(scene, style, plot, &x, &x_axis);
    frame::mark_trained_x(scene, style, plot, &x, *trained_length, false);
    if values.is_empty() {
        frame::note(
            scene,
            style,
            plot,
            "The curves appear when the model has run.",
            style.ink().paper,
        );
    }

    let strong = encoding_colour(encoding, style.theme);
    let pale = strong.mix(style.ink().paper, 0.55);
    let mut ends = Vec::new();
    let order = (0..heads).filter(|index| index != head).chain([*head]);
    for (index, curve) in order.filter_map(|index| Some((index, curves.get(index)?))) {
        let chosen = index == *head;
        let floor = y.domain()[0];
        // Below the axis a curve goes to the edge once and is gone, instead of running along it.
        let mut gone = false;
        let points: Vec<[f64; 2]> = curve
            .iter()
            .map(|&(distance, weight)| {
                let below = weight < floor;
                let at = if weight.is_nan() || (below && gone) {
                    f64::NAN
                } else {
                    y.px_clamped(weight.max(floor))
                };
                gone = below;
                [x.px(distance), at]
            })
            .collect();
        if let Some(&at) = points.iter().rev().find(|point| point[1].is_finite()) {
            let colour = if chosen { strong } else { style.ink().muted };
            ends.push(EndLabel {
                at,
                text: labels[index].clone(),
                colour,
                strong: chosen,
            });
        }
        let stroke = if chosen {
            Stroke::new(strong, 2.25)
        } else {
            Stroke::new(pale, 1.25)
        };
        scene.line(points, stroke);
    }
    curves::end_labels(scene, style, plot, ends, &[]);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, *head, plot, &x, &y));
    Ok(())
}

/// `(distance, weight)`: the mean of the distances that fall on the same CSS px.
fn pooled(profile: &[f32], x: &Scale) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let (mut sums, mut count, mut pixel) = ((0.0, 0.0), 0.0, f64::NEG_INFINITY);
    for (distance, &weight) in profile.iter().enumerate() {
        let distance = if x.is_log() {
            (distance as f64).max(ZERO)
        } else {
            distance as f64
        };
        let here = x.px(distance).floor();
        if here != pixel && count > 0.0 {
            points.push((sums.0 / count, sums.1 / count));
            (sums, count) = ((0.0, 0.0), 0.0);
        }
        pixel = here;
        (sums, count) = ((sums.0 + distance, sums.1 + f64::from(weight)), count + 1.0);
    }
    if count > 0.0 {
        points.push((sums.0 / count, sums.1 / count));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pooling_keeps_the_mean_and_single_points() {
        let profile = [0.5, 0.3, 0.2, 0.0];
        let wide = Scale::linear([0.0, 3.0], [0.0, 300.0]);
        assert_eq!(pooled(&profile, &wide).len(), 4);
        let narrow = Scale::linear([0.0, 3.0], [0.0, 0.5]);
        let one = pooled(&profile, &narrow);
        assert_eq!(one.len(), 1);
        assert!((one[0].1 - 0.25).abs() < 1e-7);
    }
}
