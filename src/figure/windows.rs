use super::chart::{At, Chart};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke, Text};
use super::settings::at_most;
use super::style::Style;
use super::table::Table;
use super::text;
use super::window_layout::Layout;
use super::words::Words;
use serde::{Deserialize, Serialize};

/// How a text is cut into windows for an evaluation, and how much context each token then has. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Windows {
    #[serde(default)]
    pub protocol: WindowLayout,
    /// T, the tokens of a window.
    pub length: usize,
    /// S: a sliding window moves on by so many tokens.
    pub stride: usize,
    /// How many tokens of the text are shown, from its beginning.
    pub tokens: usize,
    pub trained_length: usize,
}

/// Which layouts of windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WindowLayout {
    #[default]
    Both,
    NonOverlapping,
    Sliding,
}

/// What readers call a layout.
fn name(layout: Layout, words: &Words) -> String {
    match layout.sliding {
        true => words.fill("windows_sliding", &[("stride", &text::count(layout.stride))]),
        false => words.say("paper_non_overlapping").into(),
    }
}

impl Windows {
    fn layouts(&self) -> Vec<Layout> {
        let layout = |stride, sliding| Layout {
            length: self.length,
            stride,
            sliding,
        };
        let (apart, sliding) = (layout(self.length, false), layout(self.stride, true));
        match self.protocol {
            WindowLayout::Both => vec![apart, sliding],
            WindowLayout::NonOverlapping => vec![apart],
            WindowLayout::Sliding => vec![sliding],
        }
    }
}

impl Chart for Windows {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn check(&self) -> Result<(), FigureError> {
        at_most("number of tokens", self.tokens, 65_536, "from 1 to 65536")?;
        at_most(
            "stride",
            self.stride,
            self.length,
            "from 1 to the window's length",
        )
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let token = (at.x.max(0.0) as usize).min(self.tokens - 1);
        let layouts = self.layouts();
        // A row of bars speaks of its own layout, the curves of all.
        let shown = match layouts.get(at.plot.index) {
            Some(layout) => std::slice::from_ref(layout),
            None => &layouts,
        };
        let says = |layout: &Layout| {
            words.fill(
                "read_windows_layout",
                &[
                    ("layout", &name(*layout, words)),
                    ("window", &layout.window(token)),
                    ("context", &text::count(layout.context(token))),
                ],
            )
        };
        let says: Vec<String> = shown.iter().map(says).collect();
        Some(words.fill(
            "read_windows",
            &[
                ("token", &token),
                ("says", &says.join(words.say("list_separator"))),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let tenth = (self.length / 10).max(1);
        let percent = |share: f64| text::number(share * 100.0, 3);
        let says = |layout: &Layout| {
            words.fill(
                "sum_windows_layout",
                &[
                    ("layout", &name(*layout, words)),
                    ("mean", &text::number(layout.mean(), 6)),
                    ("early", &percent(layout.share(tenth))),
                    ("tenth", &text::count(tenth)),
                    ("short", &percent(layout.share(self.trained_length))),
                    ("trained", &text::count(self.trained_length)),
                    ("cost", &text::number(layout.cost(), 4)),
                ],
            )
        };
        let says: Vec<String> = self.layouts().iter().map(says).collect();
        words.fill(
            "sum_windows",
            &[
                ("length", &text::count(self.length)),
                ("says", &says.join(words.say("list_separator"))),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let layouts = self.layouts();
        let mut columns = vec![words.say("col_token").to_string()];
        for layout in &layouts {
            let name = name(*layout, words);
            columns.extend(["col_window", "col_context"].map(|key| words.fill(key, &[("layout", &name)])));
        }
        let mut table = Table::new(columns);
        for token in 0..self.tokens {
            let cells = layouts
                .iter()
                .flat_map(|layout| [layout.window(token), layout.context(token)]);
            table.row(std::iter::once(token).chain(cells).map(Into::into));
        }
        table
    }
}

/// The bars of one layout: each window a line, what it predicts strong, what it only reads pale.
fn bars(scene: &mut Scene, style: &Style, area: Rect, x: &Scale, layout: Layout, tokens: usize) -> usize {
    let ink = style.ink();
    let colour = if layout.sliding { ink.second } else { ink.first };
    let windows = layout.window(tokens - 1) + 1;
    // Windows side by side stand in one line; others need one each.
    let lines = match layout.is_apart() {
        true => 1,
        false => ((area.height / 5.0) as usize).clamp(1, windows),
    };
    let fit = match lines {
        1 => (area.width / 3.0).max(1.0) as usize,
        _ => lines,
    };
    let every = windows.div_ceil(fit);
    let lines = lines.min(windows.div_ceil(every));
    let pitch = (area.height / lines as f64).min(16.0);
    let height = (pitch - 1.5).max(1.0);
    for (index, window) in (0..windows).step_by(every).enumerate() {
        let [from, to] = layout.scored(window);
        let y = style.snap(area.y + (index % lines) as f64 * pitch);
        let mut bar = |from: usize, to: usize, colour| {
            let [from, to] = [from, to.min(tokens)].map(|at| style.snap(x.px(at as f64)));
            let width = (to - from - 1.0).max(1.0);
            let bar = Rect {
                x: from,
                y,
                width,
                height,
            };
            scene.rect(bar, colour);
        };
        if from > window * layout.stride {
            bar(window * layout.stride, from, colour.mix(ink.paper, 0.72));
        }
        if from < tokens {
            bar(from, to, colour);
        }
    }
    every
}

/// The context of each token, as a line from the first to the last that each window predicts.
fn context_curve(layout: Layout, tokens: usize, [x, y]: [&Scale; 2]) -> Vec<[f64; 2]> {
    let place = |position: usize| [x.px(position as f64 + 0.5), y.px(layout.context(position) as f64)];
    let windows = layout.window(tokens - 1) + 1;
    (0..windows)
        .flat_map(|window| {
            let [from, to] = layout.scored(window);
            [from, to.min(tokens) - 1]
        })
        .map(place)
        .collect()
}

fn compose(scene: &mut Scene, style: &Style, figure: &Windows) {
    let (words, ink, size) = (style.words(), style.ink(), style.text_px());
    let (layouts, tokens) = (figure.layouts(), figure.tokens);
    let right = style.width - 14.0;
    let y_ticks = scale::linear_ticks([0.0, figure.length as f64], 4);
    let y_axis = Axis::new(frame::count_ticks(&y_ticks), "").with_grid();
    let left = frame::labels_width(&y_axis, style) + 14.0;
    let across = [left, right.max(left + 8.0)];
    let x = Scale::linear([0.0, tokens as f64], across);
    // What is left of headings and axes: less than half for the bars.
    let line = size * 1.5;
    let fixed = line * layouts.len() as f64 + size * 3.2 + size * 2.6 + 14.0;
    // Windows side by side need one line.
    let room = ((style.height - fixed) * 0.44).max(4.0);
    let one = room.min(14.0);
    let lines = layouts.iter().filter(|layout| layout.is_apart()).count() as f64;
    let mut top = 0.0;
    for (index, &layout) in layouts.iter().enumerate() {
        let area = Rect {
            x: across[0],
            y: top + line,
            width: across[1] - across[0],
            height: if layout.is_apart() {
                one
            } else {
                (room - lines * one).max(4.0)
            },
        };
        let every = bars(scene, style, area, &x, layout, tokens);
        let name = name(layout, words);
        let name = match every {
            1 => name,
            _ => words.fill(
                "windows_every",
                &[("layout", &name), ("count", &text::count(every))],
            ),
        };
        let heading = frame::words(style, 1.0, top + size * 0.7, name, Align::Left);
        let colour = if layout.sliding { ink.second } else { ink.first };
        scene.text(Text { colour, ..heading });
        let y = Scale::linear([0.0, 1.0], [area.bottom(), area.y]);
        scene
            .geometry
            .plots
            .push(Plot::new(PlotKind::Strip, index, area, &x, &y));
        top = area.bottom() + 2.0;
    }

    let plot = frame::inside(
        style,
        Margins {
            left: across[0],
            right: style.width - across[1],
            top: top + size * 1.9,
            bottom: size * 2.6 + 14.0,
        },
    );
    let y = Scale::linear([0.0, figure.length as f64 * 1.06], [plot.bottom(), plot.y]);
    frame::heading(scene, style, 0.0, top + size * 0.9, words.say("context_up"));
    frame::y_axis(scene, style, plot, &y, &y_axis);
    let x_ticks = scale::positions(tokens, frame::most_ticks(plot.width, 64.0));
    let x_axis = Axis::new(frame::count_ticks(&x_ticks), words.say("text_position"));
    frame::x_axis(scene, style, plot, &x, &x_axis);
    // L is a context here: a line across.
    if y.contains(figure.trained_length as f64) {
        let at = style.snap_hair(y.px(figure.trained_length as f64));
        frame::mark_line(scene, style, [plot.x, at], [plot.right(), at], false);
        let label = frame::trained_label(style, figure.trained_length);
        let above = frame::words(style, style.width - 2.0, at - size * 0.75, label, Align::Right);
        scene.text(Text {
            colour: ink.strong,
            bold: true,
            ..above
        });
    }
    for &layout in &layouts {
        let colour = if layout.sliding { ink.second } else { ink.first };
        let points = context_curve(layout, tokens, [&x, &y]);
        // So many teeth that they would fill the plot: the band that they lie in.
        if points.len() as f64 > plot.width {
            let beyond = x.px(layout.length.min(tokens) as f64);
            let [low, high] = [layout.length - layout.stride + 1, layout.length].map(|at| y.px(at as f64));
            let corners = [
                [beyond, low],
                [beyond, high],
                [plot.right(), high],
                [plot.right(), low],
            ];
            let first = points.into_iter().take(2).chain([corners[2]]);
            scene.line(first, Stroke::new(colour, 1.75));
            scene.area(corners.to_vec(), colour, 0.5);
            continue;
        }
        scene.line(points, Stroke::new(colour, 1.75));
    }
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, layouts.len(), plot, &x, &y));
}
