use super::alibi::check_slopes;
use super::chart::{At, Chart};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind};
use super::key::{self, Entry, Shape};
use super::scale::{self, Scale};
use super::scene::{Align, Scene};
use super::slope_marks::{Set, differ, draw_sets, half_ticks};
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{encoding_colour, text};
use crate::encoding::alibi_slopes;
use serde::{Deserialize, Serialize};
use std::f64::consts::LN_2;

/// The slope of every head, the paper's beside custom and trained ones. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlibiSlopes {
    pub heads: usize,
    /// Custom ones, one a head.
    #[serde(default)]
    pub slopes: Option<Vec<f64>>,
    /// Those that a checkpoint learned, one a head.
    #[serde(default)]
    pub trained: Option<Vec<f64>>,
    pub length: usize,
    pub trained_length: usize,
}

/// The distance after which a head's weight has halved; not a number where it never does.
pub(super) fn half_distance(slope: f64) -> f64 {
    if slope > 0.0 { LN_2 / slope } else { f64::NAN }
}

/// The distance after which a weight has halved, in words.
pub(super) fn halves(slope: f64, words: &Words) -> String {
    match half_distance(slope) {
        half if half.is_nan() => words.say("read_never_halves").into(),
        half => words.fill("read_halves", &[("half", &text::number(half, 3))]),
    }
}

impl AlibiSlopes {
    /// Custom and trained slopes where they are given, by the keys of their names.
    fn others(&self) -> impl Iterator<Item = (&'static str, &[f64])> {
        let sets = [("slopes_custom", &self.slopes), ("slopes_trained", &self.trained)];
        sets.into_iter()
            .filter_map(|(name, slopes)| Some((name, slopes.as_deref()?)))
    }

    /// One sentence on how a set of slopes differs from the paper's.
    fn compare(&self, name: &str, slopes: &[f64], paper: &[f64], words: &Words) -> String {
        let pairs = slopes.iter().zip(paper).enumerate();
        let different: Vec<_> = pairs
            .filter(|(_, (slope, paper))| differ(**slope, **paper))
            .collect();
        let says = if different.is_empty() {
            words.fill("slopes_same", &[("heads", &self.heads)])
        } else {
            let mut list: Vec<String> = different
                .iter()
                .take(3)
                .map(|(head, (slope, paper))| {
                    words.fill(
                        "slopes_in_place",
                        &[
                            ("head", head),
                            ("slope", &text::slope(**slope)),
                            ("paper", &text::slope(**paper)),
                        ],
                    )
                })
                .collect();
            if different.len() > 3 {
                list.push(words.fill("and_more", &[("count", &(different.len() - 3))]));
            }
            words.fill(
                "slopes_differ",
                &[
                    ("count", &different.len()),
                    ("heads", &self.heads),
                    ("list", &list.join(words.say("list_separator"))),
                ],
            )
        };
        words.fill("sum_slopes_set", &[("set", &words.say(name)), ("says", &says)])
    }
}

impl Chart for AlibiSlopes {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn check(&self) -> Result<(), FigureError> {
        check_slopes(self.heads, &self.slopes)?;
        check_slopes(self.heads, &self.trained)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let head = (at.x.round().max(0.0) as usize).min(self.heads - 1);
        let slope = *alibi_slopes(self.heads).get(head)?;
        let mut line = words.fill(
            "read_slope",
            &[
                ("head", &head),
                ("slope", &text::slope(slope)),
                ("halves", &halves(slope, words)),
            ],
        );
        for (name, slopes) in self.others() {
            line += &words.fill(
                "read_slope_other",
                &[
                    ("set", &words.say(name)),
                    ("slope", &text::slope(slopes[head])),
                    ("halves", &halves(slopes[head], words)),
                ],
            );
        }
        Some(line)
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let paper = alibi_slopes(self.heads);
        let most = paper.iter().copied().fold(f64::MIN, f64::max);
        let least = paper.iter().copied().fold(f64::MAX, f64::min);
        let mut sentences = words.fill(
            "sum_slopes",
            &[
                ("heads", &self.heads),
                ("most", &text::slope(most)),
                ("least", &text::slope(least)),
                ("short", &text::number(half_distance(most), 3)),
                ("long", &text::number(half_distance(least), 3)),
            ],
        );
        for (name, slopes) in self.others() {
            sentences += &self.compare(name, slopes, &paper, words);
        }
        sentences
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let paper = alibi_slopes(self.heads);
        let sets: Vec<_> = std::iter::once(("slopes_paper", &paper[..]))
            .chain(self.others())
            .collect();
        let columns = sets.iter().flat_map(|(name, _)| {
            let set = words.say(name);
            ["col_slope", "col_halves"].map(|key| words.fill(key, &[("set", &set)]))
        });
        let mut table = Table::new(std::iter::once(words.say("col_head").to_string()).chain(columns));
        for head in 0..self.heads {
            let cells = sets
                .iter()
                .flat_map(|(_, slopes)| [slopes[head].into(), half_distance(slopes[head]).into()]);
            table.row(std::iter::once(head.into()).chain(cells));
        }
        table
    }
}

/// The slopes that the axis holds: all that are above zero, up to 4096 times beyond the paper's.
fn y_range(paper: &[f64], sets: &[Set]) -> [f64; 2] {
    let reach = |slopes: &mut dyn Iterator<Item = f64>| {
        slopes.fold((f64::MAX, 0.0f64), |(low, high), slope| {
            (low.min(slope), high.max(slope))
        })
    };
    let (low, high) = reach(&mut paper.iter().copied());
    let given = sets.iter().flat_map(|set| set.slopes).copied();
    let (least, most) = reach(&mut given.filter(|slope| *slope > 0.0));
    let low = least.max(low / 4096.0).min(low);
    let high = most.min(high * 4096.0).max(high);
    [low / 1.5, high * 1.5]
}

fn compose(scene: &mut Scene, style: &Style, figure: &AlibiSlopes) {
    let (heads, words, ink, size) = (figure.heads, style.words(), style.ink(), style.text_px());
    let paper = alibi_slopes(heads);
    let blue = encoding_colour("alibi", style.theme);
    let mut sets = vec![Set {
        name: "slopes_paper",
        slopes: &paper,
        shape: Shape::Disc,
        colour: blue,
    }];
    sets.extend(figure.others().map(|(name, slopes)| {
        let (shape, colour) = match name {
            "slopes_custom" => (Shape::Diamond, ink.second),
            _ => (Shape::Square, ink.strong),
        };
        Set {
            name,
            slopes,
            shape,
            colour,
        }
    }));

    // Where heads are no power of two, those beyond the one below come from twice as many heads.
    let below = 1 << heads.ilog2();
    let entry = |shape, colour, text: String| Entry { shape, colour, text };
    let mut entries: Vec<Entry> = sets
        .iter()
        .map(|set| entry(set.shape, set.colour, words.say(set.name).into()))
        .collect();
    if below < heads {
        let text = words.fill(
            "slopes_second",
            &[("from", &below), ("last", &(heads - 1)), ("count", &(2 * below))],
        );
        entries.insert(1, entry(Shape::Ring, blue, text));
    }

    let titles = [words.say("slope_up"), words.say("halves_up")];
    let widths = titles.map(|title| text::width(title, size));
    let title_lines = if widths[0] + widths[1] + size * 2.0 > style.width {
        2.0
    } else {
        1.0
    };
    let keys = key::lines(&entries, style) as f64 * key::line_height(style);
    let top = keys + title_lines * size * 1.5 + size * 0.5;
    let bottom = size * 2.6 + 14.0;
    let range = y_range(&paper, &sets);
    let most = (((style.height - top - bottom) / 26.0).max(2.0) as usize).min(10);
    let ticks = scale::powers_of_two(range[0], range[1], most);
    let labels = |write: &dyn Fn(f64) -> String| -> Axis {
        Axis::new(ticks.iter().map(|&tick| (tick, write(tick))).collect(), "").with_grid()
    };
    let y_axis = labels(&text::slope);
    let half_axis = labels(&|slope| text::number(half_distance(slope), 3));
    let trained = frame::trained_label(style, figure.trained_length);
    let right = frame::labels_width(&half_axis, style).max(text::width(&trained, size) * 1.1);
    let plot = frame::inside(
        style,
        Margins {
            left: frame::labels_width(&y_axis, style) + 12.0,
            right: right + 12.0,
            top,
            bottom,
        },
    );
    let x = Scale::linear([-0.5, heads as f64 - 0.5], [plot.x, plot.right()]);
    let y = Scale::log(range, [plot.bottom(), plot.y]);

    key::draw(scene, style, &entries);
    let title_y = plot.y - size;
    frame::heading(
        scene,
        style,
        0.0,
        title_y - (title_lines - 1.0) * size * 1.5,
        titles[0],
    );
    scene.text(frame::words(
        style,
        style.width - 2.0,
        title_y,
        titles[1],
        Align::Right,
    ));
    frame::y_axis(scene, style, plot, &y, &y_axis);
    let mark = half_ticks(
        scene,
        style,
        plot,
        &y,
        &half_axis,
        figure.trained_length,
        &trained,
    );
    let x_ticks = scale::positions(heads - 1, frame::most_ticks(plot.width, 34.0));
    let x_axis = Axis::new(frame::count_ticks(&x_ticks), words.say("head_axis"));
    frame::x_axis(scene, style, plot, &x, &x_axis);
    draw_sets(scene, style, plot, [&x, &y], &sets, below, mark);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Rgb;

    #[test]
    fn a_weight_halves_after_the_distance_said() {
        for slope in [0.5f64, 0.25, 0.003] {
            let half = half_distance(slope);
            assert!(((-slope * half).exp() - 0.5).abs() < 1e-12, "{slope}");
        }
        assert!(half_distance(0.0).is_nan() && half_distance(-0.5).is_nan());
    }

    #[test]
    fn the_axis_holds_all_slopes_but_wild_ones() {
        let set = |slopes: &'static [f64]| Set {
            name: "",
            slopes,
            shape: Shape::Disc,
            colour: Rgb(0, 0, 0),
        };
        let [low, high] = y_range(&[0.5, 0.25], &[set(&[0.1, -3.0])]);
        assert!(low < 0.1 && low > 0.05 && high > 0.5 && high < 1.0);
        let [low, high] = y_range(&[0.5, 0.25], &[set(&[1e-300, 1e300])]);
        assert!(low > 1e-5 && high < 1e4);
        assert!(!differ(0.50049, 0.5) && differ(0.5006, 0.5) && differ(-0.5, 0.5));
    }
}
