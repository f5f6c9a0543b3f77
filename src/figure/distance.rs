use super::chart::{At, Chart};
use super::curves::{self, EndLabel};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind};
use super::scale::{self, Scale};
use super::scene::{Scene, Stroke};
use super::style::Style;
use super::t5_bias::ZERO;
use super::table::Table;
use super::words::Words;
use super::{at_most, encoding_colour, text};
use serde::{Deserialize, Serialize};

/// Mean attention by distance. Values: none, or a profile `[layers][heads][length]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    pub length: usize,
    pub trained_length: usize,
    pub layers: usize,
    pub heads: usize,
    pub layer: usize,
    pub head: usize,
    #[serde(default)]
    pub logarithmic: bool,
    pub encoding: String,
    /// Powers of ten below 1 that the axis of weights shows, the same in every figure that is to be compared;
    /// as many as the curves need, at most six, where it is absent.
    #[serde(default)]
    pub decades: Option<usize>,
}

impl Distance {
    /// The curve of one head of the chosen layer, `[length]`.
    fn curve<'a>(&self, values: &'a [f32], head: usize) -> Option<&'a [f32]> {
        let start = (self.layer * self.heads + head) * self.length;
        values.get(start..start + self.length)
    }
}

impl Chart for Distance {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn values_needed(&self) -> Option<(String, usize)> {
        let (layers, heads, length) = (self.layers, self.heads, self.length);
        let shape = format!("{layers} layers × {heads} heads × {length} distances");
        Some((shape, layers.saturating_mul(heads).saturating_mul(length)))
    }

    fn columns(&self) -> usize {
        self.heads
    }

    fn check(&self) -> Result<(), FigureError> {
        at_most("number of heads", self.heads, 256, "from 1 to 256")?;
        for (what, value, count) in [
            ("layer", self.layer, self.layers),
            ("head", self.head, self.heads),
        ] {
            if value >= count {
                let need = "below the number of layers or heads";
                let value = value.to_string();
                return Err(FigureError::Setting { what, value, need });
            }
        }
        Ok(())
    }

    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        compose(scene, style, self, values)
    }

    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String> {
        let distance = at.position(self.length);
        let weight = self.curve(values, self.head).map(|curve| curve[distance]);
        let says = weight.map_or(words.say("read_not_loaded").into(), |weight| {
            text::number(f64::from(weight), 3)
        });
        let (layer, head) = (&self.layer, &self.head);
        Some(words.fill(
            "read_distance",
            &[
                ("distance", &distance),
                ("layer", layer),
                ("head", head),
                ("weight", &says),
            ],
        ))
    }

    fn summary(&self, values: &[f32], words: &Words) -> String {
        let parts: [(&str, &dyn ToString); 4] = [
            ("encoding", &words.encoding(&self.encoding)),
            ("layer", &self.layer),
            ("head", &self.head),
            ("length", &text::count(self.length)),
        ];
        let Some(curve) = self.curve(values, self.head) else {
            return words.fill("sum_distance_waiting", &parts);
        };
        // A distance n exists for T − n of the queries only.
        let total = self.length as f64;
        let far = curve.iter().enumerate().skip(self.trained_length + 1);
        let past: f64 = far
            .map(|(n, &weight)| f64::from(weight) * (total - n as f64) / total)
            .sum();
        let more: [(&str, &dyn ToString); 2] = [
            ("near", &text::number(f64::from(curve[0]), 3)),
            ("past", &text::number(past * 100.0, 2)),
        ];
        words.fill("sum_distance", &[&parts[..], &more].concat())
    }

    fn table(&self, values: &[f32], words: &Words) -> Table {
        let heads = (0..self.heads).map(|head| words.fill("head", &[("head", &head)]));
        let mut table = Table::new(std::iter::once(words.say("col_distance").to_string()).chain(heads));
        let curves: Vec<&[f32]> = (0..self.heads)
            .filter_map(|head| self.curve(values, head))
            .collect();
        if !curves.is_empty() {
            for distance in 0..self.length {
                let weights = curves.iter().map(|curve| curve[distance].into());
                table.row(std::iter::once(distance.into()).chain(weights));
            }
        }
        table
    }
}

/// One curve a head of the chosen layer, the chosen one strong. Attention falls over powers of ten, so
/// y is logarithmic; where many distances share a pixel, the curve shows their mean.
fn compose(scene: &mut Scene, style: &Style, figure: &Distance, values: &[f32]) {
    let Distance {
        length,
        trained_length,
        layer,
        heads,
        head,
        logarithmic,
        encoding,
        decades,
        ..
    } = figure;
    let (length, heads) = (*length, *heads);
    let text_px = style.text_px();
    let labels: Vec<String> = (0..heads)
        .map(|head| style.words().fill("head", &[("head", &head)]))
        .collect();
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
    let range = match decades {
        Some(decades) => [10f64.powi(-(*decades.min(&12) as i32).max(1)), 1.0],
        None => [(low * 0.8).max(high * 1e-6), (high * 1.3).min(1.0)],
    };
    let y = Scale::log(range, [plot.bottom(), plot.y]);

    let y_ticks = scale::log_ticks(y.domain(), ((plot.height / 30.0) as usize).clamp(3, 8));
    let y_labels = y_ticks.iter().map(|&tick| (tick, text::log_tick(tick))).collect();
    frame::heading(
        scene,
        style,
        0.0,
        text_px * 0.7,
        style.words().say("mean_weight_log"),
    );
    frame::y_axis(scene, style, plot, &y, &Axis::new(y_labels, "").with_grid());
    let most = frame::most_ticks(plot.width, 52.0);
    let x_axis = if *logarithmic {
        let mut ticks = vec![(ZERO, "0".to_string())];
        ticks.extend(frame::count_ticks(&scale::powers_of_two(1.0, last, most)));
        Axis::new(ticks, style.words().say("distance_log"))
    } else {
        Axis::new(
            frame::count_ticks(&scale::positions(last as usize, most)),
            style.words().say("distance"),
        )
    };
    frame::x_axis(scene, style, plot, &x, &x_axis);
    frame::mark_trained_x(scene, style, plot, &x, *trained_length, false);
    if values.is_empty() {
        frame::note(
            scene,
            style,
            plot,
            style.words().say("curves_waiting"),
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
