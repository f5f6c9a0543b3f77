use super::chart::{At, Chart};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::key::{self, Entry, Shape};
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke, Text};
use super::settings::at_most;
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{encoding_colour, text};
use serde::{Deserialize, Serialize};

/// The time that a token takes with each encoding, relative to the first encoding of each length; beside it
/// the same ratios of the ALiBi paper's models. No values: the times stand in `groups`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeedBars {
    pub groups: Vec<SpeedGroup>,
}

/// The times at one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeedGroup {
    pub length: usize,
    /// The first is the unit of the others.
    pub bars: Vec<SpeedBar>,
}

/// The time of one encoding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpeedBar {
    pub encoding: String,
    /// A token's, in any unit that the bars of a group share.
    pub time: f64,
    /// Of the time, in its unit.
    #[serde(default)]
    pub standard_error: Option<f64>,
}

// Press, Smith and Lewis 2022 (arXiv 2108.12409), table of speeds on one V100 at L = 512: thousands of words a
// second in training and in evaluation.
const PAPER: [(&str, [f64; 2]); 4] = [
    ("sinusoidal", [28.5, 82.1]),
    ("rotary", [20.0, 43.4]),
    ("t5_bias", [14.4, 21.8]),
    ("alibi", [28.3, 85.8]),
];

/// A bar: the encoding, the time relative to the group's first, and its standard error or NaN.
type Bar = (String, f64, f64);

/// What stands under a group, and its bars.
type Group = (String, Vec<Bar>);

impl SpeedBars {
    fn measured(&self) -> Vec<Group> {
        let group = |group: &SpeedGroup| {
            let unit = group.bars.first().map_or(1.0, |bar| bar.time);
            let bars = group.bars.iter().map(|bar| {
                let error = bar.standard_error.unwrap_or(f64::NAN) / unit;
                (bar.encoding.clone(), bar.time / unit, error)
            });
            (text::count(group.length), bars.collect())
        };
        self.groups.iter().map(group).collect()
    }

    /// The paper's, relative to the same encoding where the paper has it.
    fn paper(&self, words: &Words) -> Vec<Group> {
        let first = self.groups.first().and_then(|group| group.bars.first());
        let unit = PAPER
            .iter()
            .find(|(name, _)| first.is_some_and(|bar| bar.encoding == *name))
            .unwrap_or(&PAPER[0]);
        let group = |(column, key): (usize, &str)| {
            let bars = PAPER
                .iter()
                .map(|(name, speeds)| (name.to_string(), unit.1[column] / speeds[column], f64::NAN));
            (words.say(key).into(), bars.collect())
        };
        ["speed_train", "speed_evaluate"]
            .into_iter()
            .enumerate()
            .map(group)
            .collect()
    }

    fn panels(&self, words: &Words) -> [(&'static str, Vec<Group>); 2] {
        [
            ("speed_measured", self.measured()),
            ("speed_paper", self.paper(words)),
        ]
    }
}

/// Where bar `index` of `count` in a group stands on an axis on which each group takes 1.
fn place(group: usize, index: usize, count: usize) -> [f64; 2] {
    let width = 0.84 / count.max(1) as f64;
    let from = group as f64 + 0.08 + width * index as f64;
    [from, from + width]
}

impl Chart for SpeedBars {
    fn lengths(&self) -> (usize, Option<usize>) {
        let longest = self.groups.iter().map(|group| group.length).max();
        (longest.unwrap_or(1), None)
    }

    fn check(&self) -> Result<(), FigureError> {
        let bars = self.groups.iter().map(|group| group.bars.len());
        at_most("number of bars", bars.sum::<usize>().max(1), 1024, "at most 1024")
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let panels = self.panels(words);
        let (title, groups) = panels.get(at.plot.index)?;
        let group = at.x.max(0.0) as usize;
        let (label, bars) = groups.get(group)?;
        let under = |index: &usize| {
            let [from, to] = place(group, *index, bars.len());
            (from..to).contains(&at.x)
        };
        let (name, ratio, error) = &bars[(0..bars.len()).find(under)?];
        let error = match error.is_finite() {
            true => format!(" ± {}", text::number(*error, 2)),
            false => String::new(),
        };
        Some(words.fill(
            "read_speed",
            &[
                ("title", &words.say(title)),
                ("group", label),
                ("encoding", &words.encoding(name)),
                ("value", &(text::number(*ratio, 3) + &error)),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let [(_, measured), (_, paper)] = self.panels(words);
        let says = |groups: &[Group]| {
            let list: Vec<String> = groups
                .iter()
                .map(|(label, bars)| {
                    let bars = bars.iter().map(|(name, ratio, _)| {
                        [&words.encoding(name), " ", &text::number(*ratio, 3)].concat()
                    });
                    words.fill(
                        "sum_speed_group",
                        &[("group", label), ("list", &bars.collect::<Vec<_>>().join(", "))],
                    )
                })
                .collect();
            list.join(words.say("list_separator"))
        };
        let key = if measured.is_empty() {
            "sum_speed_waiting"
        } else {
            "sum_speed"
        };
        words.fill(key, &[("measured", &says(&measured)), ("paper", &says(&paper))])
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let keys = [
            "col_source",
            "col_group",
            "col_encoding",
            "col_time_ratio",
            "col_standard_error",
        ];
        let mut table = Table::new(keys.map(|key| words.say(key)));
        for (title, groups) in self.panels(words) {
            for (label, bars) in groups {
                for (name, ratio, error) in bars {
                    table.row([
                        words.say(title).into(),
                        label.as_str().into(),
                        words.encoding(&name).into(),
                        ratio.into(),
                        error.into(),
                    ]);
                }
            }
        }
        table
    }
}

fn compose(scene: &mut Scene, style: &Style, figure: &SpeedBars) {
    let (words, size) = (style.words(), style.text_px());
    let panels = figure.panels(words);
    let all = || {
        panels
            .iter()
            .flat_map(|(_, groups)| groups)
            .flat_map(|group| &group.1)
    };
    // Each encoding once, in the order in which they appear.
    let mut names: Vec<&str> = Vec::new();
    for (name, ..) in all() {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let entries: Vec<Entry> = names
        .into_iter()
        .map(|name| Entry {
            shape: Shape::Square,
            colour: encoding_colour(name, style.theme),
            text: words.encoding(name),
        })
        .collect();
    key::draw(scene, style, &entries);
    let top = key::lines(&entries, style) as f64 * key::line_height(style);
    let highest = all()
        .map(|bar| bar.1)
        .filter(|ratio| ratio.is_finite())
        .fold(1.0, f64::max);
    let range = [0.0, highest * 1.12];
    let beside = style.width >= 480.0;
    for (index, (title, groups)) in panels.iter().enumerate() {
        let place = index as f64;
        let [width, height] = match beside {
            true => [style.width / 2.0, style.height - top],
            false => [style.width, (style.height - top) / 2.0],
        };
        let [left, above] = if beside {
            [place * width, top]
        } else {
            [0.0, top + place * height]
        };
        let plot = frame::inside(
            style,
            Margins {
                left: left + 30.0,
                right: style.width - left - width + 10.0,
                top: above + size * 3.2,
                bottom: style.height - above - height + size * 2.6 + 14.0,
            },
        );
        let heading = frame::words(
            style,
            left + 1.0,
            above + size * 0.8,
            words.say(title),
            Align::Left,
        );
        scene.text(Text {
            colour: style.ink().strong,
            bold: true,
            ..heading
        });
        frame::heading(scene, style, left, above + size * 2.1, words.say("time_ratio_up"));
        panel(scene, style, plot, range, (index, groups));
    }
}

/// One panel: its axes and its groups of bars.
fn panel(scene: &mut Scene, style: &Style, plot: Rect, range: [f64; 2], (index, groups): (usize, &[Group])) {
    let (words, ink) = (style.words(), style.ink());
    let x = Scale::linear([0.0, groups.len().max(1) as f64], [plot.x, plot.right()]);
    let y = Scale::linear(range, [plot.bottom(), plot.y]);
    let most = ((plot.height / 30.0) as usize).clamp(2, 6);
    let y_ticks = frame::number_ticks(&scale::linear_ticks(range, most));
    frame::y_axis(scene, style, plot, &y, &Axis::new(y_ticks, "").with_grid());
    for (group, (_, bars)) in groups.iter().enumerate() {
        for (at, (name, ratio, error)) in bars.iter().enumerate() {
            if !(ratio.is_finite() && *ratio > 0.0) {
                continue;
            }
            let [from, to] = place(group, at, bars.len()).map(|at| style.snap(x.px(at)));
            let head = style.snap(y.px_clamped(*ratio));
            let bar = Rect {
                x: from,
                y: head,
                width: (to - from - 1.0).max(1.0),
                height: plot.bottom() - head,
            };
            scene.rect(bar, encoding_colour(name, style.theme));
            let middle = bar.x + bar.width / 2.0;
            let mut label_y = head;
            if error.is_finite() && *error > 0.0 {
                let ends = [ratio - error, ratio + error].map(|value| y.px_clamped(value));
                scene.line(ends.map(|end| [middle, end]), Stroke::new(ink.strong, 1.25));
                label_y = ends[1];
            }
            let label = text::number(*ratio, 3);
            if text::width(&label, style.small_px()) <= bar.width + 2.0 {
                let words = frame::words(
                    style,
                    middle,
                    label_y - style.small_px() * 0.7,
                    label,
                    Align::Centre,
                );
                scene.text(Text {
                    size: style.small_px(),
                    ..words
                });
            }
        }
    }
    // The first encoding's time, of which the others are multiples.
    let one = style.snap_hair(y.px(1.0));
    scene.line(
        [[plot.x, one], [plot.right(), one]],
        Stroke::new(ink.strong, 1.25),
    );
    let ticks = groups.iter().enumerate();
    let ticks = ticks.map(|(group, (label, _))| (group as f64 + 0.5, label.clone()));
    let title = words.say(if index == 0 {
        "length_axis"
    } else {
        "speed_paper_axis"
    });
    frame::x_axis(scene, style, plot, &x, &Axis::new(ticks.collect(), title));
    if groups.is_empty() {
        frame::note(scene, style, plot, words.say("speed_waiting"), ink.paper);
    }
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Cells, index, plot, &x, &y));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_relative_to_the_first_encoding_and_so_are_the_papers() {
        let bar = |encoding: &str, time| SpeedBar {
            encoding: encoding.into(),
            time,
            standard_error: Some(0.5),
        };
        let figure = SpeedBars {
            groups: vec![SpeedGroup {
                length: 512,
                bars: vec![bar("alibi", 2.0), bar("rotary", 5.0)],
            }],
        };
        let (label, bars) = &figure.measured()[0];
        assert_eq!(label, "512");
        assert_eq!(bars[1], ("rotary".into(), 2.5, 0.25));
        // Evaluation: 85.8 thousand words a second with ALiBi, 21.8 with T5's bias.
        let paper = &figure.paper(Words::of("en"))[1].1;
        assert_eq!(paper[2].0, "t5_bias");
        assert!((paper[2].1 - 85.8 / 21.8).abs() < 1e-12);
        assert_eq!(paper[3].1, 1.0);
    }
}
