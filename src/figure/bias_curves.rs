use super::chart::{At, Chart, nearest};
use super::colour::{Colours, Ramp};
use super::curves::{self, EndLabel};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind};
use super::order::sort_few;
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke, Text};
use super::settings::at_most;
use super::style::Style;
use super::table::Table;
use super::text;
use super::words::Words;
use serde::{Deserialize, Serialize};

/// The bias that each head adds to a score, by distance, of any encoding that has one. Values: none, or the
/// biases `[heads][length]` for keys 0, 1, … tokens before the query.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BiasCurves {
    pub encoding: String,
    pub heads: usize,
    pub length: usize,
    pub trained_length: usize,
    /// Distance on a logarithmic axis, on which 0 stands at the left end.
    #[serde(default)]
    pub logarithmic: bool,
}

/// Where distance 0 stands on an axis of logarithms.
const ZERO: f64 = 0.5;

/// A weight is e^bias times what it would be: one so far below the largest is as good as none.
const DEEPEST: f64 = 16.0;

impl BiasCurves {
    fn bias(&self, values: &[f32], head: usize, distance: usize) -> Option<f64> {
        values
            .get(head * self.length + distance)
            .map(|bias| f64::from(*bias))
    }

    /// The least and the largest bias of any head at a distance.
    fn ends(&self, values: &[f32], distance: usize) -> [f64; 2] {
        let biases = || (0..self.heads).filter_map(|head| self.bias(values, head, distance));
        [
            biases().fold(f64::INFINITY, f64::min),
            biases().fold(f64::NEG_INFINITY, f64::max),
        ]
    }

    /// The distances that are drawn: about as many as pixels.
    fn distances(&self, most: usize) -> Vec<usize> {
        let last = self.length - 1;
        let most = most.max(2);
        let at = |step: usize| {
            let part = step as f64 / most as f64;
            match self.logarithmic {
                true => (self.length as f64).powf(part) as usize - 1,
                false => (part * last as f64).round() as usize,
            }
        };
        let mut distances: Vec<usize> = (0..most).map(at).chain([last]).collect();
        distances.dedup();
        distances
    }
}

impl Chart for BiasCurves {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn values_needed(&self) -> Option<(String, usize)> {
        let (heads, length) = (self.heads, self.length);
        Some((
            format!("{heads} heads × {length} distances"),
            heads.saturating_mul(length),
        ))
    }

    fn columns(&self) -> usize {
        self.heads
    }

    fn check(&self) -> Result<(), FigureError> {
        at_most("number of heads", self.heads, 1024, "from 1 to 1024")
    }

    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        compose(scene, style, self, values);
    }

    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String> {
        let distance = at.position(self.length);
        let (head, bias) = nearest(self.heads, at.y, |head| self.bias(values, head, distance))?;
        Some(words.fill(
            "read_bias_curve",
            &[
                ("distance", &distance),
                ("head", &head),
                ("bias", &text::number(bias, 4)),
                ("factor", &text::number(bias.exp(), 3)),
            ],
        ))
    }

    fn summary(&self, values: &[f32], words: &Words) -> String {
        let trained = self.trained_length.min(self.length - 1);
        let last = self.length - 1;
        let [near, far] =
            [trained, last].map(|distance| self.ends(values, distance).map(|bias| text::number(bias, 3)));
        let key = if values.is_empty() {
            "sum_bias_waiting"
        } else {
            "sum_bias_curves"
        };
        words.fill(
            key,
            &[
                ("encoding", &words.encoding(&self.encoding)),
                ("heads", &self.heads),
                ("near", &text::count(trained)),
                ("near_least", &near[0]),
                ("near_most", &near[1]),
                ("far", &text::count(last)),
                ("far_least", &far[0]),
                ("far_most", &far[1]),
            ],
        )
    }

    fn table(&self, values: &[f32], words: &Words) -> Table {
        let heads = (0..self.heads).map(|head| words.fill("head", &[("head", &head)]));
        let mut table = Table::new(std::iter::once(words.say("col_distance").to_string()).chain(heads));
        for distance in (0..self.length).take(values.len()) {
            let biases = values[distance..].iter().step_by(self.length);
            table.row(std::iter::once(distance.into()).chain(biases.map(|&bias| bias.into())));
        }
        table
    }
}

fn compose(scene: &mut Scene, style: &Style, figure: &BiasCurves, values: &[f32]) {
    let (words, size) = (style.words(), style.text_px());
    let finite = || {
        values
            .iter()
            .map(|bias| f64::from(*bias))
            .filter(|bias| bias.is_finite())
    };
    let high = finite().fold(0.0, f64::max);
    let low = finite().fold(0.0, f64::min).max(high - DEEPEST);
    let pad = ((high - low) * 0.04).max(0.05);
    let range = [low - pad, high + pad];
    let labels: Vec<String> = (0..figure.heads)
        .map(|head| words.fill("head", &[("head", &head)]))
        .collect();
    let plot = frame::inside(
        style,
        Margins {
            left: 40.0,
            right: curves::room(labels.iter().map(String::as_str), style),
            top: size * 3.2,
            bottom: size * 2.6 + 14.0,
        },
    );
    let last = (figure.length - 1).max(1) as f64;
    let across = [plot.x, plot.right()];
    let x = match figure.logarithmic {
        true => Scale::log([ZERO, last], across),
        false => Scale::linear([0.0, last], across),
    };
    let y = Scale::linear(range, [plot.bottom(), plot.y]);
    frame::heading(scene, style, 0.0, size * 0.7, words.say("bias_up"));
    let most = ((plot.height / 34.0) as usize).clamp(2, 7);
    let y_ticks = frame::number_ticks(&scale::linear_ticks(range, most));
    frame::y_axis(scene, style, plot, &y, &Axis::new(y_ticks, "").with_grid());
    frame::distance_axis(scene, style, plot, &x, figure.length - 1);
    frame::zero_line(scene, style, plot, &y);
    frame::mark_trained_x(scene, style, plot, &x, figure.trained_length, false);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
    if values.is_empty() {
        frame::note(scene, style, plot, words.say("bias_waiting"), style.ink().paper);
        return;
    }
    let distances = figure.distances(plot.width as usize);
    let far = |head: usize| figure.bias(values, head, figure.length - 1).unwrap_or(f64::NAN);
    // From flat and pale to steep and strong.
    let mut order: Vec<usize> = (0..figure.heads).collect();
    sort_few(&mut order, |&head| -far(head));
    let colours = Colours::new(Ramp::Sequential, style.theme);
    let (mut ends, mut exits, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for (rank, &head) in order.iter().enumerate() {
        let colour = colours.at(0.42 + 0.58 * (rank as f64 + 1.0) / order.len() as f64);
        let mut points: Vec<[f64; 2]> = Vec::new();
        for &distance in &distances {
            let bias = figure.bias(values, head, distance).unwrap_or(f64::NAN);
            let at = (distance as f64).max(if figure.logarithmic { ZERO } else { 0.0 });
            points.push([x.px(at), if bias.is_nan() { bias } else { y.px_clamped(bias) }]);
            // What is too deep is not drawn: the curve leaves the plot.
            if bias < range[0] {
                break;
            }
        }
        let Some(&at) = points.last() else { continue };
        match points.len() == distances.len() {
            true => ends.push(EndLabel {
                at,
                text: labels[head].clone(),
                colour,
                strong: false,
            }),
            false => exits.push((at[0], head, colour)),
        }
        scene.line(points.iter().copied(), Stroke::new(colour, 1.75));
        lines.push(points);
    }
    curves::end_labels(scene, style, plot, ends, &lines);
    // Heads whose curves leave the plot: from the right the first by its name, the others by their numbers.
    sort_few(&mut exits, |exit| -exit.0);
    let mut free = f64::INFINITY;
    for (x, head, colour) in exits {
        let label = match free.is_infinite() {
            true => labels[head].clone(),
            false => head.to_string(),
        };
        let width = text::width(&label, size);
        if x + 3.0 + width < free {
            free = x - 2.0;
            let label = frame::words(style, x + 3.0, plot.bottom() - size * 0.7, label, Align::Left);
            scene.text(Text { colour, ..label });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_reach_both_ends_and_rise() {
        for (length, logarithmic) in [(1, false), (1, true), (2, true), (300, false), (4096, true)] {
            let figure = BiasCurves {
                encoding: "alibi".into(),
                heads: 1,
                length,
                trained_length: 8,
                logarithmic,
            };
            let distances = figure.distances(200);
            assert_eq!([distances[0], distances[distances.len() - 1]], [0, length - 1]);
            assert!(
                distances.windows(2).all(|pair| pair[0] < pair[1]),
                "{distances:?}"
            );
            assert!(distances.len() <= 201);
        }
    }
}
