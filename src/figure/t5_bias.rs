use super::chart::{At, Chart};
use super::colour::{Colours, Ramp};
use super::curves::{self, EndLabel};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::scale::{self, Scale};
use super::scene::{Scene, Stroke};
use super::style::Style;
use super::t5_strip::{self, segments};
use super::table::Table;
use super::words::Words;
use super::{at_most, size, text};
use crate::encoding::T5Bias;
use serde::{Deserialize, Serialize};

/// The bucket of each distance. Values: none, or the learned biases `[buckets][heads]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct T5Buckets {
    pub heads: usize,
    pub buckets: usize,
    pub max_distance: usize,
    #[serde(default)]
    pub bidirectional: bool,
    pub length: usize,
    pub trained_length: usize,
}

/// # Errors
/// Settings that make no buckets.
pub(super) fn check_t5(bias: &T5Bias) -> Result<(), FigureError> {
    size("number of buckets", bias.buckets)?;
    size("maximum distance", bias.max_distance)?;
    bias.validate()?;
    Ok(())
}

impl T5Buckets {
    fn encoding(&self) -> T5Bias {
        encoding(self.buckets, self.max_distance, self.bidirectional)
    }
}

impl Chart for T5Buckets {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn values_needed(&self) -> Option<(String, usize)> {
        let (buckets, heads) = (self.buckets, self.heads);
        let shape = format!("{buckets} buckets × {heads} heads");
        Some((shape, buckets.saturating_mul(heads)))
    }

    fn check(&self) -> Result<(), FigureError> {
        at_most("number of heads", self.heads, 256, "from 1 to 256")?;
        check_t5(&self.encoding())
    }

    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        compose(
            scene,
            style,
            &self.encoding(),
            self.heads,
            self.length,
            self.trained_length,
            values,
        )
    }

    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String> {
        let distance = at.position(self.length);
        let bucket = self.encoding().bucket_behind(distance);
        if at.plot.kind == PlotKind::Strip {
            return Some(words.fill(
                "read_bucket",
                &[
                    ("distance", &distance),
                    ("bucket", &bucket),
                    ("buckets", &self.buckets),
                ],
            ));
        }
        let value = |head: usize| {
            values
                .get(bucket * self.heads + head)
                .map(|value| f64::from(*value))
        };
        let (head, bias) = super::chart::nearest(self.heads, at.y, value)?;
        Some(words.fill(
            "read_bucket_bias",
            &[
                ("distance", &distance),
                ("bucket", &bucket),
                ("head", &head),
                ("bias", &text::number(bias, 3)),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let firsts = self.encoding().first_distances();
        let (last, from) = firsts.last().copied().unwrap_or_default();
        // A bucket belongs to one distance where the next begins at the next.
        let exact = firsts
            .windows(2)
            .take_while(|pair| pair[1].1 == pair[0].1 + 1)
            .count();
        words.fill(
            "sum_t5",
            &[
                ("buckets", &self.buckets),
                ("exact", &exact),
                ("last", &last),
                ("from", &text::count(from)),
            ],
        )
    }

    fn table(&self, values: &[f32], words: &Words) -> Table {
        let heads = if values.is_empty() { 0 } else { self.heads };
        let heads = (0..heads).map(|head| words.fill("head", &[("head", &head)]));
        let columns = ["col_bucket", "col_first_distance"].map(|key| words.say(key).to_string());
        let mut table = Table::new(columns.into_iter().chain(heads));
        for (bucket, first) in self.encoding().first_distances() {
            let start = bucket * self.heads;
            let biases = values.get(start..start + self.heads).unwrap_or_default();
            let biases = biases.iter().map(|&bias| bias.into());
            table.row([bucket.into(), first.into()].into_iter().chain(biases));
        }
        table
    }
}

pub(crate) fn encoding(buckets: usize, max_distance: usize, bidirectional: bool) -> T5Bias {
    T5Bias {
        buckets,
        max_distance,
        bidirectional,
    }
}

/// Where distance 0 stands on an axis of logarithms.
pub(crate) const ZERO: f64 = 0.5;

fn compose(
    scene: &mut Scene,
    style: &Style,
    bias: &T5Bias,
    heads: usize,
    length: usize,
    trained: usize,
    values: &[f32],
) {
    let size = style.text_px();
    let end = length.max(2) as f64;
    let labels: Vec<String> = (0..heads)
        .map(|head| style.words().fill("head", &[("head", &head)]))
        .collect();
    let right = if values.is_empty() {
        14.0
    } else {
        curves::room(labels.iter().map(String::as_str), style)
    };
    let outer = frame::inside(
        style,
        Margins {
            left: 46.0,
            right,
            top: size * 3.2,
            bottom: size * 2.6 + 14.0,
        },
    );
    let x = Scale::log([ZERO, end], [outer.x, outer.right()]);
    let strip_height = style.snap((outer.height * 0.16).clamp(16.0, 44.0));
    let strip = Rect {
        height: strip_height,
        ..outer
    };
    let below_strip = size * 3.4;
    let plot_top = style.snap(strip.bottom() + below_strip + size * 1.6);
    let plot = Rect {
        y: plot_top,
        height: (outer.bottom() - plot_top).max(8.0),
        ..outer
    };

    t5_strip::draw(scene, style, bias, length, strip, &x);
    let unit = Scale::linear([0.0, 1.0], [strip.bottom(), strip.y]);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Strip, 0, strip, &x, &unit));

    let key = if bias.bidirectional {
        "t5_title_behind"
    } else {
        "t5_title"
    };
    let title = style.words().fill(
        key,
        &[
            ("buckets", &bias.buckets),
            ("distance", &text::count(bias.max_distance)),
        ],
    );
    frame::heading(scene, style, 0.0, size * 0.7, &title);

    let mut ticks = vec![(ZERO, "0".to_string())];
    let most = frame::most_ticks(outer.width, 46.0);
    ticks.extend(frame::count_ticks(&scale::powers_of_two(1.0, end, most)));
    let x_axis = Axis::new(ticks, style.words().say("distance_log"));
    draw_curves(scene, style, bias, heads, length, plot, &x, values, &labels);
    frame::x_axis(scene, style, plot, &x, &x_axis);
    // In two pieces: between the strip and the curves stand numbers.
    frame::mark_trained_x(scene, style, strip, &x, trained, true);
    if x.contains(trained as f64) {
        let at = style.snap_hair(x.px(trained as f64));
        frame::mark_line(scene, style, [at, plot.y], [at, plot.bottom()], false);
    }
}

#[allow(clippy::too_many_arguments)]
fn draw_curves(
    scene: &mut Scene,
    style: &Style,
    bias: &T5Bias,
    heads: usize,
    length: usize,
    plot: Rect,
    x: &Scale,
    values: &[f32],
    labels: &[String],
) {
    let finite = values
        .iter()
        .map(|value| f64::from(*value))
        .filter(|value| value.is_finite());
    let (low, high) = finite.fold((0.0f64, 0.0f64), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    let pad = ((high - low) * 0.06).max(1e-3);
    let y = Scale::linear([low - pad, high + pad], [plot.bottom(), plot.y]);
    let title_y = plot.y - style.text_px() * 0.9;
    frame::heading(scene, style, 0.0, title_y, style.words().say("learned_bias_up"));
    if values.is_empty() {
        frame::note(
            scene,
            style,
            plot,
            style.words().say("t5_waiting"),
            style.ink().paper,
        );
        return;
    }
    let ticks = scale::linear_ticks(y.domain(), ((plot.height / 34.0) as usize).clamp(2, 6));
    frame::y_axis(
        scene,
        style,
        plot,
        &y,
        &Axis::new(frame::number_ticks(&ticks), "").with_grid(),
    );
    let colours = Colours::new(Ramp::Sequential, style.theme);
    let parts = segments(bias, length);
    let mut ends = Vec::new();
    for (head, label) in labels.iter().enumerate() {
        let share = if heads == 1 {
            1.0
        } else {
            head as f64 / (heads - 1) as f64
        };
        let colour = colours.at(1.0 - 0.55 * share);
        let mut points = Vec::new();
        for &(bucket, first, last) in &parts {
            let at = y.px(f64::from(values[bucket * heads + head]));
            let from = if first == 0 {
                plot.x
            } else {
                x.px_clamped(first as f64)
            };
            let to = if last + 1 >= length {
                plot.right()
            } else {
                x.px_clamped(last as f64 + 1.0)
            };
            points.extend([[from, at], [to, at]]);
        }
        if let Some(&at) = points.last() {
            ends.push(EndLabel {
                at,
                text: label.clone(),
                colour,
                strong: false,
            });
        }
        scene.line(points, Stroke::new(colour, 1.75));
    }
    curves::end_labels(scene, style, plot, ends, &[]);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, x, &y));
}
