use super::alibi::{check_slopes, slopes_of};
use super::alibi_slopes::halves;
use super::chart::{At, Chart, nearest};
use super::colour::{Colours, Ramp};
use super::curves::{self, EndLabel};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::key::{self, Entry, Shape};
use super::order::sort_few;
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::t5_bias::ZERO;
use super::table::Table;
use super::text;
use super::words::Words;
use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;

/// What softmax makes of the bias alone, all scores being equal: the last query's weight by distance. No
/// values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlibiSoftmax {
    pub heads: usize,
    pub length: usize,
    /// In place of the paper's, one a head.
    #[serde(default)]
    pub slopes: Option<Vec<f64>>,
    pub trained_length: usize,
    /// Of the axis of distances.
    #[serde(default)]
    pub logarithmic: bool,
}

/// One head's weights, w(n) = e^(−m·n) / Σ e^(−m·n'), n' = 0 … T − 1.
#[derive(Clone, Copy, Debug)]
struct Decay {
    slope: f64,
    /// T − 1
    last: f64,
    /// The logarithm of Σ e^(−|m|·n'): of the sum divided by its largest term, so that it never overflows.
    ln_sum: f64,
}

impl Decay {
    fn new(slope: f64, length: usize) -> Self {
        Self {
            slope,
            last: length as f64 - 1.0,
            ln_sum: ln_geometric(slope.abs(), length as f64),
        }
    }

    /// How far a distance lies from the key with the largest weight: the nearest one, or with a slope below
    /// zero the farthest.
    fn steps(&self, distance: f64) -> f64 {
        if self.slope < 0.0 {
            self.last - distance
        } else {
            distance
        }
    }

    fn ln_weight(&self, distance: f64) -> f64 {
        -self.slope.abs() * self.steps(distance) - self.ln_sum
    }

    /// The distance at which the largest weight has halved, if there is one.
    fn half(&self) -> Option<f64> {
        let steps = LN_2 / self.slope.abs();
        (steps <= self.last).then(|| self.steps(steps))
    }

    /// The distances whose weights are not below a floor.
    fn visible(&self, ln_floor: f64) -> [f64; 2] {
        let steps = (-self.ln_sum - ln_floor) / self.slope.abs();
        // Without a slope all weights are the same, and the division has no value.
        let steps = if steps.is_nan() { self.last } else { steps };
        let end = self.steps(steps.clamp(0.0, self.last));
        if self.slope < 0.0 {
            [end, self.last]
        } else {
            [0.0, end]
        }
    }

    /// The share of all weight that lies further back than a distance.
    fn past(&self, distance: usize) -> f64 {
        let beyond = (self.last - distance as f64).max(0.0);
        let share = |count: f64| (ln_geometric(self.slope.abs(), count) - self.ln_sum).exp();
        match self.slope < 0.0 {
            _ if beyond == 0.0 => 0.0,
            true => share(beyond),
            false => 1.0 - share(distance as f64 + 1.0),
        }
    }
}

/// ln Σ e^(−a·n), n = 0 … count − 1.
fn ln_geometric(a: f64, count: f64) -> f64 {
    if a == 0.0 {
        return count.ln();
    }
    (-(-a * count).exp_m1()).ln() - (-(-a).exp_m1()).ln()
}

impl AlibiSoftmax {
    /// Every head's weights, `[heads]`.
    fn decays(&self) -> Vec<Decay> {
        let slopes = slopes_of(self.heads, &self.slopes).unwrap_or_default();
        slopes
            .into_iter()
            .map(|slope| Decay::new(slope, self.length))
            .collect()
    }
}

impl Chart for AlibiSoftmax {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn columns(&self) -> usize {
        self.heads
    }

    fn check(&self) -> Result<(), FigureError> {
        check_slopes(self.heads, &self.slopes)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let distance = at.position(self.length);
        let decays = self.decays();
        let (head, ln_weight) = nearest(decays.len(), at.y.ln(), |head| {
            Some(decays[head].ln_weight(distance as f64))
        })?;
        let slope = decays[head].slope;
        Some(words.fill(
            "read_softmax",
            &[
                ("head", &head),
                ("slope", &text::slope(slope)),
                ("distance", &distance),
                ("weight", &text::number(ln_weight.exp(), 3)),
                ("halves", &halves(slope, words)),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let decays = self.decays();
        let by_slope = |a: &(usize, &Decay), b: &(usize, &Decay)| a.1.slope.total_cmp(&b.1.slope);
        let ends = [
            decays.iter().enumerate().max_by(by_slope),
            decays.iter().enumerate().min_by(by_slope),
        ];
        let says: Vec<String> = ends
            .into_iter()
            .flatten()
            .map(|(head, decay)| {
                words.fill(
                    "sum_softmax_head",
                    &[
                        ("head", &head),
                        ("slope", &text::slope(decay.slope)),
                        ("near", &text::number(decay.ln_weight(0.0).exp(), 3)),
                        ("past", &text::number(decay.past(self.trained_length) * 100.0, 2)),
                    ],
                )
            })
            .collect();
        words.fill(
            "sum_softmax",
            &[
                ("heads", &self.heads),
                ("length", &text::count(self.length)),
                ("list", &says.join(words.say("list_separator"))),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let decays = self.decays();
        let heads = (0..self.heads).map(|head| words.fill("head", &[("head", &head)]));
        let mut table = Table::new(std::iter::once(words.say("col_distance").to_string()).chain(heads));
        for distance in 0..self.length {
            let weights = decays.iter().map(|decay| decay.ln_weight(distance as f64).exp());
            table.row(std::iter::once(distance.into()).chain(weights.map(Into::into)));
        }
        table
    }
}

/// The weights that the axis shows: all of them, but at most six powers of ten.
fn y_range(decays: &[Decay]) -> [f64; 2] {
    let most = decays
        .iter()
        .fold(f64::MIN, |most, decay| most.max(-decay.ln_sum));
    let least = decays.iter().fold(most, |least, decay| {
        least.min(-decay.slope.abs() * decay.last - decay.ln_sum)
    });
    let high = most.exp();
    [(least.exp() * 0.8).max(high * 1e-6), (high * 1.3).min(1.0)]
}

fn compose(scene: &mut Scene, style: &Style, figure: &AlibiSoftmax) {
    let (words, ink, size) = (style.words(), style.ink(), style.text_px());
    let decays = figure.decays();
    let last = (figure.length - 1).max(1) as f64;
    let range = y_range(&decays);
    let top = key::line_height(style) + size * 3.2;
    let bottom = size * 2.6 + 14.0;
    let most = (((style.height - top - bottom) / 30.0).max(0.0) as usize).clamp(3, 8);
    let ticks = scale::log_ticks(range, most);
    let y_axis = Axis::new(
        ticks.iter().map(|&tick| (tick, text::log_tick(tick))).collect(),
        "",
    );
    let labels: Vec<String> = decays
        .iter()
        .map(|decay| format!("m = {}", text::slope(decay.slope)))
        .collect();
    let widest = |rising: bool| {
        let of = decays.iter().zip(&labels);
        of.filter(|(decay, _)| (decay.slope < 0.0) == rising)
            .map(|(_, label)| text::width(label, size) + 14.0)
            .fold(0.0, f64::max)
    };
    let (falling, rising) = (widest(false), widest(true));
    let plot = frame::inside(
        style,
        Margins {
            left: frame::labels_width(&y_axis, style) + 14.0 + falling,
            right: rising.max(12.0) + 6.0,
            top,
            bottom,
        },
    );
    let across = [plot.x, plot.right()];
    let x = if figure.logarithmic {
        Scale::log([ZERO, last], across)
    } else {
        Scale::linear([0.0, last], across)
    };
    let y = Scale::log(range, [plot.bottom(), plot.y]);

    let halved = Entry {
        shape: Shape::Disc,
        colour: ink.muted,
        text: words.say("softmax_halved").into(),
    };
    key::draw(scene, style, &[halved]);
    let title_y = key::line_height(style) + size * 0.7;
    frame::heading(scene, style, 0.0, title_y, words.say("softmax_up"));
    // The slopes stand between the axis' numbers and the curves' beginnings.
    let grid = ticks.iter().map(|&tick| (tick, String::new())).collect();
    frame::y_axis(scene, style, plot, &y, &Axis::new(grid, "").with_grid());
    let numbers = Rect {
        x: plot.x - falling,
        ..plot
    };
    frame::y_axis(scene, style, numbers, &y, &y_axis);
    frame::distance_axis(scene, style, plot, &x, last as usize);
    frame::mark_trained_x(scene, style, plot, &x, figure.trained_length, false);

    // From flat and pale to steep and strong.
    let mut order: Vec<usize> = (0..decays.len()).collect();
    sort_few(&mut order, |&head| decays[head].slope);
    let colours = Colours::new(Ramp::Sequential, style.theme);
    let radius = if decays.len() > 32 { 1.5 } else { 3.0 };
    let place = |decay: &Decay, distance: f64| {
        let across = if figure.logarithmic {
            distance.max(ZERO)
        } else {
            distance
        };
        [x.px(across), y.px_clamped(decay.ln_weight(distance).exp())]
    };
    let (mut starts, mut ends) = (Vec::new(), Vec::new());
    for (rank, &head) in order.iter().enumerate() {
        let decay = &decays[head];
        let strength = 0.42 + 0.58 * (rank as f64 + 1.0) / order.len() as f64;
        let colour = colours.at(strength);
        let [from, to] = decay.visible(range[0].ln());
        // The logarithm of a weight is a straight line in the distance, and bent only on an axis of
        // logarithms.
        let steps = if figure.logarithmic { 96 } else { 1 };
        let points = (0..=steps).map(|step| {
            let part = f64::from(step) / f64::from(steps);
            let distance = if figure.logarithmic {
                (from + 1.0) * ((to + 1.0) / (from + 1.0)).powf(part) - 1.0
            } else {
                from + (to - from) * part
            };
            place(decay, distance)
        });
        scene.line(points, Stroke::new(colour, 1.75));
        let half = decay.half().map(|distance| place(decay, distance));
        if let Some(at) = half.filter(|at| at[1] < plot.bottom()) {
            scene.disc(at, radius, colour);
        }
        let label = EndLabel {
            at: place(decay, decay.steps(0.0)),
            text: labels[head].clone(),
            colour: ink.muted,
            strong: false,
        };
        if decay.slope < 0.0 {
            ends.push(label);
        } else {
            starts.push(label);
        }
    }
    curves::end_labels(scene, style, plot, ends, &[]);
    start_labels(scene, style, plot, starts);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
}

/// Writes labels left of the curves' beginnings, as many as fit.
fn start_labels(scene: &mut Scene, style: &Style, plot: Rect, mut labels: Vec<EndLabel>) {
    let line = style.text_px() * 1.25;
    sort_few(&mut labels, |label| label.at[1]);
    // A little more than the beginnings take, but no long ties.
    let span = labels.last().map_or(0.0, |last| last.at[1] - labels[0].at[1]);
    let fit = (((span * 1.6).min(plot.height - line) / line).max(0.0) as usize) + 1;
    let every = labels.len().div_ceil(fit).max(1);
    let labels: Vec<EndLabel> = labels.into_iter().step_by(every).collect();
    let wanted: Vec<f64> = labels.iter().map(|label| label.at[1]).collect();
    let places = curves::spread(&wanted, line, plot.y, plot.bottom());
    for (label, y) in labels.into_iter().zip(places) {
        let [start, at] = label.at;
        if (y - at).abs() > 1.0 {
            let tie = [[start - 8.0, y], [start - 1.0, at]];
            scene.line(tie, Stroke::new(label.colour, 1.0).alpha(0.6));
        }
        let words = frame::words(style, start - 10.0, y, label.text, Align::Right);
        scene.text(Text {
            colour: label.colour,
            ..words
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_and_ends_agree_with_the_weights() {
        for slope in [0.5, 0.02, 0.0, -0.02, -700.0, 1e-12] {
            let decay = Decay::new(slope, 200);
            let weight = |n: usize| decay.ln_weight(n as f64).exp();
            let all: f64 = (0..200).map(weight).sum();
            assert!((all - 1.0).abs() < 1e-9, "{slope}: {all}");
            let past: f64 = (65..200).map(weight).sum();
            assert!((decay.past(64) - past).abs() < 1e-9, "{slope}: {past}");
            assert_eq!(decay.past(199), 0.0);
            if let Some(half) = decay.half() {
                let most = -decay.ln_sum;
                assert!((decay.ln_weight(half) - (most - LN_2)).abs() < 1e-9);
            }
            let floor = 1e-3f64.ln();
            for end in decay.visible(floor) {
                assert!(decay.ln_weight(end) >= floor - 1e-9, "{slope} {end}");
            }
        }
    }

    #[test]
    fn the_axis_holds_six_powers_of_ten_at_most() {
        let range = |slopes: &[f64]| {
            let decays: Vec<Decay> = slopes.iter().map(|&m| Decay::new(m, 512)).collect();
            y_range(&decays)
        };
        let [low, high] = range(&[0.5, 0.01]);
        assert!((low / (high / 1.3) - 1e-6).abs() < 1e-9);
        let [low, high] = range(&[0.0]);
        assert!(low < 1.0 / 512.0 && high > 1.0 / 512.0 && high / low < 2.0);
    }
}
