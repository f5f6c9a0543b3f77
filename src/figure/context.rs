use super::attention_heads::check_heads;
use super::chart::{At, Chart};
use super::error::FigureError;
use super::frame::{self, Axis};
use super::geometry::{Plot, PlotKind, Rect};
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{encoding_colour, text};
use serde::{Deserialize, Serialize};

/// How many keys each head looks at, and how far back. Values: none, or mean attention by distance
/// `[layers][heads][length]` followed by the mean entropy of the attention rows, nats, `[layers][heads]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EffectiveContext {
    pub length: usize,
    pub trained_length: usize,
    pub layers: usize,
    pub heads: usize,
    /// The chosen head, which is drawn strong.
    pub layer: usize,
    pub head: usize,
    pub encoding: String,
}

/// What one head looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reach {
    /// Mean entropy of the attention rows, nats.
    entropy: f64,
    /// Mean distance looked back, tokens.
    back: f64,
}

impl Reach {
    /// As many keys as would give that entropy with equal weights.
    fn keys(&self) -> f64 {
        self.entropy.exp()
    }
}

impl EffectiveContext {
    fn count(&self) -> usize {
        self.layers * self.heads
    }

    fn chosen(&self) -> usize {
        self.layer * self.heads + self.head
    }

    /// Every head's reach, `[layers · heads]`; empty without values.
    fn reaches(&self, values: &[f32]) -> Vec<Reach> {
        if values.is_empty() {
            return Vec::new();
        }
        let (profiles, entropies) = values.split_at(self.count() * self.length);
        let total = self.length as f64;
        let heads = profiles.chunks(self.length).zip(entropies);
        heads
            .map(|(profile, &entropy)| {
                // A distance n exists for T − n of the queries only.
                let far = |(n, &p): (usize, &f32)| n as f64 * f64::from(p) * (total - n as f64) / total;
                Reach {
                    entropy: f64::from(entropy),
                    back: profile.iter().enumerate().map(far).sum(),
                }
            })
            .collect()
    }
}

impl Chart for EffectiveContext {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn values_needed(&self) -> Option<(String, usize)> {
        let (layers, heads, length) = (self.layers, self.heads, self.length);
        let shape = format!(
            "{layers} layers × {heads} heads × {length} distances, then {layers} layers × {heads} heads of entropies"
        );
        let count = layers
            .saturating_mul(heads)
            .saturating_mul(length.saturating_add(1));
        Some((shape, count))
    }

    fn check(&self) -> Result<(), FigureError> {
        check_heads([self.layers, self.heads], [self.layer, self.head])
    }

    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        compose(scene, style, self, &self.reaches(values));
    }

    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String> {
        let index = (at.x.round().max(0.0) as usize).min(self.count() - 1);
        let says = match self.reaches(values).get(index) {
            Some(reach) => words.fill(
                "read_context",
                &[
                    ("entropy", &text::number(reach.entropy, 3)),
                    ("keys", &text::number(reach.keys(), 3)),
                    ("back", &text::number(reach.back, 3)),
                ],
            ),
            None => words.say("read_not_loaded").into(),
        };
        let (layer, head) = (index / self.heads, index % self.heads);
        let parts: [(&str, &dyn ToString); 3] = [("layer", &layer), ("head", &head), ("says", &says)];
        Some(words.fill("read_layer_head", &parts))
    }

    fn summary(&self, values: &[f32], words: &Words) -> String {
        let parts: [(&str, &dyn ToString); 4] = [
            ("encoding", &words.encoding(&self.encoding)),
            ("layer", &self.layer),
            ("head", &self.head),
            ("length", &text::count(self.length)),
        ];
        let reaches = self.reaches(values);
        let Some(chosen) = reaches.get(self.chosen()) else {
            return words.fill("sum_context_waiting", &parts);
        };
        let number = |value: f64| text::number(value, 3);
        let [fewest, most] = ends(reaches.iter().map(Reach::keys)).map(number);
        let [near, far] = ends(reaches.iter().map(|reach| reach.back)).map(number);
        let more: [(&str, &dyn ToString); 6] = [
            ("keys", &number(chosen.keys())),
            ("back", &number(chosen.back)),
            ("fewest", &fewest),
            ("most", &most),
            ("near", &near),
            ("far", &far),
        ];
        words.fill("sum_context", &[&parts[..], &more].concat())
    }

    fn table(&self, values: &[f32], words: &Words) -> Table {
        let keys = [
            "col_layer",
            "col_head",
            "col_entropy",
            "col_effective_keys",
            "col_mean_distance",
        ];
        let mut table = Table::new(keys.map(|key| words.say(key)));
        for (index, reach) in self.reaches(values).iter().enumerate() {
            table.row([
                (index / self.heads).into(),
                (index % self.heads).into(),
                reach.entropy.into(),
                reach.keys().into(),
                reach.back.into(),
            ]);
        }
        table
    }
}

/// The least and the most of the finite values; not numbers where there is none.
fn ends(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values
        .filter(|value| value.is_finite())
        .fold([f64::NAN; 2], |[least, most], value| {
            [least.min(value), most.max(value)]
        })
}

/// One row of bars.
struct Bars<'a> {
    heading: &'a str,
    values: Vec<f64>,
    /// From one key up, by powers of two; otherwise linear from zero.
    log: bool,
    /// A length to mark on the y axis.
    mark: Option<usize>,
}

fn compose(scene: &mut Scene, style: &Style, figure: &EffectiveContext, reaches: &[Reach]) {
    let words = style.words();
    let charts = [
        Bars {
            heading: words.say("effective_keys_up"),
            values: reaches.iter().map(Reach::keys).collect(),
            log: true,
            mark: None,
        },
        Bars {
            heading: words.say("mean_distance_up"),
            values: reaches.iter().map(|reach| reach.back).collect(),
            log: false,
            mark: Some(figure.trained_length),
        },
    ];
    let beside = style.width >= 560.0;
    let gap = 28.0;
    for (index, bars) in charts.iter().enumerate() {
        let at = index as f64;
        let area = if beside {
            let width = (style.width - gap) / 2.0;
            Rect {
                x: at * (width + gap),
                y: 0.0,
                width,
                height: style.height,
            }
        } else {
            Rect {
                x: 0.0,
                y: at * style.height / 2.0,
                width: style.width,
                height: style.height / 2.0,
            }
        };
        draw_bars(scene, style, figure, bars, area, index);
    }
}

fn draw_bars(
    scene: &mut Scene,
    style: &Style,
    figure: &EffectiveContext,
    bars: &Bars,
    area: Rect,
    index: usize,
) {
    let (words, ink, size) = (style.words(), style.ink(), style.text_px());
    let [_, most] = ends(bars.values.iter().copied());
    let (top, bottom) = (area.y + size * 2.6, area.bottom() - size * 2.6 - 12.0);
    let height = (bottom - top).max(8.0);
    let count = ((height / 28.0) as usize).clamp(2, 7);
    let [low, high] = match (bars.log, most.is_nan()) {
        (true, true) => [1.0, 64.0],
        (false, true) => [0.0, 64.0],
        // An entropy is never so large; a broken one must not make the axis endless.
        (true, false) => [1.0, (most * 1.2).clamp(2.0, 1e9)],
        (false, false) => [0.0, (most * 1.12).clamp(1.0, 1e9)],
    };
    let ticks = if bars.log {
        let mut ticks = scale::powers_of_two(low, high, count);
        // The bars stand on one key: its number does too, where it is clear of the next one.
        if ticks
            .first()
            .is_some_and(|first| first.log2() * height > high.log2() * size * 1.3)
        {
            ticks.insert(0, 1.0);
        }
        ticks
    } else {
        scale::linear_ticks([low, high], count)
    };
    let mut y_axis = Axis::new(frame::number_ticks(&ticks), "").with_grid();
    let mark = bars
        .mark
        .filter(|&mark| !most.is_nan() && mark as f64 <= high)
        .map(|mark| (mark, frame::trained_label(style, mark)));
    let label_width = mark
        .as_ref()
        .map_or(0.0, |(_, label)| text::width(label, size) * 1.1);
    let left = style.snap(area.x + frame::labels_width(&y_axis, style).max(label_width) + 12.0);
    let plot = Rect {
        x: left,
        y: style.snap(top),
        width: style.snap((area.right() - 6.0 - left).max(8.0)),
        height: style.snap(height),
    };
    let x = Scale::linear([-0.5, figure.count() as f64 - 0.5], [plot.x, plot.right()]);
    let range = [plot.bottom(), plot.y];
    let y = if bars.log {
        Scale::log([low, high], range)
    } else {
        Scale::linear([low, high], range)
    };

    frame::heading(scene, style, area.x, area.y + size * 0.7, bars.heading);
    if let Some((mark, _)) = &mark {
        let at = y.px(*mark as f64);
        y_axis
            .ticks
            .retain(|(tick, _)| (y.px(*tick) - at).abs() > size * 1.2);
    }
    frame::y_axis(scene, style, plot, &y, &y_axis);
    draw_values(scene, style, figure, bars, plot, [&x, &y]);
    let name = |index: usize| format!("{}.{}", index / figure.heads, index % figure.heads);
    // Every so many names, so that none that stands between two others is missing.
    let needs = text::width(&name(figure.count() - 1), size) + size * 0.6;
    let every = (needs * figure.count() as f64 / plot.width).ceil().max(1.0) as usize;
    let names = (0..figure.count())
        .step_by(every)
        .map(|index| (index as f64, name(index)));
    let x_axis = Axis::new(names.collect(), words.say("layer_head_axis"));
    frame::x_axis(scene, style, plot, &x, &x_axis);
    if let Some((mark, label)) = mark {
        let at = style.snap_hair(y.px(mark as f64));
        frame::mark_line(scene, style, [plot.x - 4.0, at], [plot.right(), at], true);
        let label = frame::words(style, plot.x - 7.0, at, label, Align::Right);
        scene.text(Text {
            colour: ink.strong,
            bold: true,
            ..label
        });
    }
    if bars.values.is_empty() {
        frame::note(scene, style, plot, words.say("context_waiting"), ink.paper);
    }
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, index, plot, &x, &y));
}

/// The bars and, where there is room, their numbers.
fn draw_values(
    scene: &mut Scene,
    style: &Style,
    figure: &EffectiveContext,
    bars: &Bars,
    plot: Rect,
    [x, y]: [&Scale; 2],
) {
    let (ink, size) = (style.ink(), style.small_px());
    let strong = encoding_colour(&figure.encoding, style.theme);
    let pale = strong.mix(ink.paper, 0.55);
    let step = plot.width / figure.count() as f64;
    let wide = (step * 0.64).max(1.0);
    for (index, &value) in bars.values.iter().enumerate() {
        // Layers are told apart by a line.
        if index > 0 && index % figure.heads == 0 {
            let at = style.snap_hair(x.px(index as f64 - 0.5));
            let line = [[at, plot.y], [at, plot.bottom()]];
            scene.line(line, Stroke::new(ink.grid, style.hair()));
        }
        if !value.is_finite() {
            continue;
        }
        let (middle, top) = (x.px(index as f64), y.px_clamped(value));
        let is_chosen = index == figure.chosen();
        let bar = Rect {
            x: middle - wide / 2.0,
            y: top.min(plot.bottom() - 1.0),
            width: wide,
            height: (plot.bottom() - top).max(1.0),
        };
        scene.rect(bar, if is_chosen { strong } else { pale });
        let label = text::number(value, if value < 1000.0 { 2 } else { 3 });
        if text::width(&label, size) < step {
            let words = frame::words(style, middle, top - size * 0.7, label, Align::Centre);
            scene.text(Text {
                size,
                colour: if is_chosen { ink.strong } else { ink.muted },
                bold: is_chosen,
                ..words
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_weights_reach_half_the_way_on_average() {
        let figure = EffectiveContext {
            length: 4,
            trained_length: 2,
            layers: 1,
            heads: 2,
            layer: 0,
            head: 1,
            encoding: "alibi".into(),
        };
        // Queries 0 … 3 look at all their keys equally: 1 key, 2, 3, 4, mean distance (0 + ½ + 1 + 1½) / 4.
        let weights = [1.0, 0.5, 1.0 / 3.0, 0.25f32];
        let mean = |n: usize| weights[n..].iter().sum::<f32>() / (4 - n) as f32;
        let entropy = (2.0f32.ln() + 3.0f32.ln() + 4.0f32.ln()) / 4.0;
        let mut values: Vec<f32> = (0..4).map(mean).collect();
        // The other head looks at the query alone.
        values.extend([1.0, 0.0, 0.0, 0.0, entropy, 0.0]);
        let reaches = figure.reaches(&values);
        assert!((reaches[0].back - 0.75).abs() < 1e-6, "{reaches:?}");
        assert!((reaches[0].keys() - 24f64.powf(0.25)).abs() < 1e-6, "{reaches:?}");
        assert_eq!((reaches[1].back, reaches[1].keys()), (0.0, 1.0));
        assert_eq!(ends([3.0, f64::NAN, 1.0, f64::INFINITY].into_iter()), [1.0, 3.0]);
    }
}
