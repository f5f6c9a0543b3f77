use super::chart::{At, Chart};
use super::colour::Rgb;
use super::error::FigureError;
use super::frame::{self, Axis};
use super::geometry::{Plot, PlotKind, Rect};
use super::rotary::{check_rotary, encoding};
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke, Text};
use super::settings::usual_base;
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{encoding_colour, text};
use crate::encoding::Pairing;
use serde::{Deserialize, Serialize};

/// How the score of rotary positions falls with the distance: that of a query and key whose pairs are all
/// equal and of length 1, and the bound of Su et al. 2021 (arXiv 2104.09864, section 3.4.3). No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RotaryDecay {
    pub d_head: usize,
    #[serde(default = "usual_base")]
    pub base: f64,
    pub length: usize,
    pub trained_length: usize,
}

impl RotaryDecay {
    /// Radians a token, `[d_head / 2]`. How dimensions are paired does not matter.
    fn frequencies(&self) -> Vec<f64> {
        encoding(self.base, Pairing::default()).inv_freq(self.d_head)
    }

    fn at(&self, distance: usize) -> [f64; 2] {
        let turns = self.frequencies().into_iter().map(|frequency| {
            let (sin, cos) = (distance as f64 * frequency).sin_cos();
            [cos, sin]
        });
        score_and_bound(turns)
    }

    /// Score and bound of every distance, `[2][length]`, turned from distance to distance by multiplying:
    /// a cosine for every pair and distance would cost more than the picture's frame.
    fn curves(&self) -> [Vec<f64>; 2] {
        let steps = self.frequencies().into_iter().map(|frequency| {
            let (sin, cos) = frequency.sin_cos();
            [cos, sin]
        });
        let steps: Vec<[f64; 2]> = steps.collect();
        let mut now = vec![[1.0, 0.0]; steps.len()];
        let mut curves = [(); 2].map(|()| Vec::with_capacity(self.length));
        for _ in 0..self.length {
            let [score, bound] = score_and_bound(now.iter().copied());
            curves[0].push(score);
            curves[1].push(bound);
            for ([cos, sin], step) in now.iter_mut().zip(&steps) {
                (*cos, *sin) = (*cos * step[0] - *sin * step[1], *cos * step[1] + *sin * step[0]);
            }
        }
        curves
    }
}

/// From `[cos, sin]` of n·θ_c for all pairs: the score, Σ cos ÷ pairs, and the bound, Σ |S_i| ÷ pairs, where
/// S_i is the sum of the first i turns as complex numbers.
fn score_and_bound(turns: impl Iterator<Item = [f64; 2]>) -> [f64; 2] {
    let (mut sum, mut lengths, mut pairs) = ([0.0, 0.0], 0.0, 0.0f64);
    for [cos, sin] in turns {
        sum = [sum[0] + cos, sum[1] + sin];
        lengths += (sum[0] * sum[0] + sum[1] * sum[1]).sqrt();
        pairs += 1.0;
    }
    [sum[0] / pairs.max(1.0), lengths / pairs.max(1.0)]
}

impl Chart for RotaryDecay {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn check(&self) -> Result<(), FigureError> {
        check_rotary(self.d_head, self.base)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let distance = at.position(self.length);
        let [score, bound] = self.at(distance).map(|value| text::number(value, 3));
        Some(words.fill(
            "read_rotary_decay",
            &[("distance", &distance), ("score", &score), ("bound", &bound)],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let written = |distance| self.at(distance).map(|value| text::number(value, 3));
        let ([first_score, first_bound], [score, bound]) = (written(0), written(self.trained_length));
        words.fill(
            "sum_rotary_decay",
            &[
                ("pairs", &(self.d_head / 2)),
                ("first_score", &first_score),
                ("first_bound", &first_bound),
                ("score", &score),
                ("bound", &bound),
                ("trained", &text::count(self.trained_length)),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let keys = ["col_distance", "col_decay_score", "col_decay_bound"];
        let mut table = Table::new(keys.map(|key| words.say(key)));
        for distance in 0..self.length {
            let [score, bound] = self.at(distance);
            table.row([distance.into(), score.into(), bound.into()]);
        }
        table
    }
}

/// Two plots over the same distances: the bound is many times as high as the score, so that on one axis the
/// score would be a flat line.
fn compose(scene: &mut Scene, style: &Style, figure: &RotaryDecay) {
    let (size, words) = (style.text_px(), style.words());
    let curves = figure.curves();
    let (left, right) = (text::width("−0.25", size) + 12.0, 14.0);
    let (top, gap, bottom) = (size * 3.4, size * 2.2, size * 2.6 + 14.0);
    let width = style.snap((style.width - left - right).max(8.0));
    let height = style.snap(((style.height - top - gap - bottom) / 2.0).max(8.0));
    let plots = [0.0, 1.0].map(|index| Rect {
        x: style.snap(left),
        y: style.snap(top + index * (height + gap)),
        width,
        height,
    });
    let last = (figure.length - 1).max(1) as f64;
    let colours = [encoding_colour("rotary", style.theme), style.ink().muted];
    let titles = ["decay_score_up", "decay_bound_up"];
    let most = frame::most_ticks(width, 56.0);
    let x_ticks = frame::count_ticks(&scale::positions(last as usize, most));
    for (index, (plot, curve)) in plots.into_iter().zip(&curves).enumerate() {
        let x = Scale::linear([0.0, last], [plot.x, plot.right()]);
        let (low, high) = curve.iter().fold((0.0f64, 0.0f64), |(low, high), &value| {
            (low.min(value), high.max(value))
        });
        let pad = (high - low) * 0.05;
        let low = if low < 0.0 { low - pad } else { 0.0 };
        let y = Scale::linear([low, high + pad], [plot.bottom(), plot.y]);
        let y_ticks = scale::linear_ticks(y.domain(), ((plot.height / 28.0) as usize).clamp(2, 6));
        let y_axis = Axis::new(frame::number_ticks(&y_ticks), "").with_grid();
        frame::y_axis(scene, style, plot, &y, &y_axis);
        // The upper title stands above the label of L.
        let title_y = if index == 0 {
            size * 0.7
        } else {
            plot.y - size * 0.9
        };
        let title = frame::words(style, 1.0, title_y, words.say(titles[index]), Align::Left);
        scene.text(Text {
            colour: colours[index],
            bold: true,
            ..title
        });
        if index == 0 {
            frame::mark_trained_x(scene, style, plot, &x, figure.trained_length, false);
        } else {
            frame::x_axis(
                scene,
                style,
                plot,
                &x,
                &Axis::new(x_ticks.clone(), words.say("distance")),
            );
            if x.contains(figure.trained_length as f64) {
                let at = style.snap_hair(x.px(figure.trained_length as f64));
                frame::mark_line(scene, style, [at, plot.y], [at, plot.bottom()], false);
            }
        }
        draw_curve(scene, style, curve, [&x, &y], colours[index]);
        scene
            .geometry
            .plots
            .push(Plot::new(PlotKind::Curves, index, plot, &x, &y));
    }
}

/// A curve; where several distances share a pixel, their mean on a band from their lowest to their highest.
fn draw_curve(scene: &mut Scene, style: &Style, curve: &[f64], [x, y]: [&Scale; 2], colour: Rgb) {
    let px = (x.px(x.domain()[1]) - x.px(x.domain()[0])) * style.pixel_ratio;
    let width = curve.len().div_ceil(px.max(1.0) as usize).max(1);
    let groups = groups(curve, width);
    if width > 1 {
        let edge = |of: fn(&Group) -> f64| {
            groups
                .iter()
                .map(move |group| [x.px(group.middle), y.px(of(group))])
        };
        let band = edge(|group| group.high).chain(edge(|group| group.low).rev());
        scene.area(band.collect(), colour, 0.35);
    }
    let points = groups.iter().map(|group| [x.px(group.middle), y.px(group.mean)]);
    scene.line(points, Stroke::new(colour, 1.75));
}

/// Neighbouring distances that are drawn as one.
struct Group {
    middle: f64,
    low: f64,
    mean: f64,
    high: f64,
}

fn groups(curve: &[f64], width: usize) -> Vec<Group> {
    let chunks = curve.chunks(width).enumerate();
    chunks
        .map(|(index, chunk)| Group {
            middle: (index * width) as f64 + (chunk.len() as f64 - 1.0) / 2.0,
            low: chunk.iter().copied().fold(f64::INFINITY, f64::min),
            mean: chunk.iter().sum::<f64>() / chunk.len() as f64,
            high: chunk.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Cell, Figure, compose, readout};

    fn figure() -> RotaryDecay {
        RotaryDecay {
            d_head: 24,
            base: 10_000.0,
            length: 4096,
            trained_length: 128,
        }
    }

    /// As in the paper: every partial sum anew.
    fn written_out(distance: usize) -> [f64; 2] {
        let angle = |pair: i32| distance as f64 / 10_000f64.powf(2.0 * f64::from(pair) / 24.0);
        let score = (0..12).map(|pair| angle(pair).cos()).sum::<f64>() / 12.0;
        let length = |i: i32| {
            let real: f64 = (0..i).map(|j| angle(j).cos()).sum();
            let imaginary: f64 = (0..i).map(|j| angle(j).sin()).sum();
            real.hypot(imaginary)
        };
        [score, (1..=12).map(length).sum::<f64>() / 12.0]
    }

    #[test]
    fn curves_and_table_are_the_formulas() {
        let (curves, table) = (figure().curves(), figure().table(&[], Words::of("en")));
        for distance in (0..4096).step_by(37) {
            for (which, expected) in written_out(distance).into_iter().enumerate() {
                let Cell::Number(cell) = table.rows[distance][1 + which] else {
                    panic!("{:?}", table.rows[distance])
                };
                assert!((cell - expected).abs() < 1e-9);
                assert!((curves[which][distance] - expected).abs() < 1e-9);
            }
        }
        // At distance 0 all turns are 1: the score is 1 and |S_i| = i.
        assert_eq!([curves[0][0], curves[1][0]], [1.0, 6.5]);
    }

    #[test]
    fn the_bound_is_never_below_the_share_of_the_score() {
        // The last of the partial sums alone is at least as long as its real part.
        let [score, bound] = figure().curves();
        for (score, bound) in score.iter().zip(bound) {
            assert!(bound * 12.0 >= score.abs() * 12.0 - 1e-9, "{score} {bound}");
        }
    }

    #[test]
    fn the_readout_gives_both_at_a_distance() {
        let figure = Figure::RotaryDecay(RotaryDecay {
            length: 401,
            ..figure()
        });
        let geometry = compose(&figure, &[], &Style::default()).unwrap().geometry;
        let [score, bound] = written_out(100).map(|value| text::number(value, 3));
        for plot in &geometry.plots {
            let place = [plot.x + plot.width * 0.25, plot.y + plot.height * 0.5];
            assert_eq!(
                readout(&figure, &[], &geometry, place, "en").unwrap(),
                format!("distance 100: score {score}, bound {bound}")
            );
        }
    }

    #[test]
    fn groups_keep_the_lowest_and_the_highest() {
        let groups = groups(&[1.0, 5.0, 3.0, 2.0], 3);
        let first = &groups[0];
        assert_eq!(
            [first.middle, first.low, first.mean, first.high],
            [1.0, 1.0, 3.0, 5.0]
        );
        assert_eq!((groups.len(), groups[1].middle), (2, 3.0));
    }
}
