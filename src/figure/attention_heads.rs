use super::attention::{Attention, legend, raster};
use super::bitmap::cells_for;
use super::chart::{At, Chart};
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::frame;
use super::geometry::{Plot, PlotKind, Rect};
use super::legend::Legend;
use super::scale::Scale;
use super::scene::{Align, Scene, Text};
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{at_most, encoding_colour, panels, size, text};
use serde::{Deserialize, Serialize};

/// What each query gives to each key, in every head at once. Values: none, or rasters
/// `[layers][heads][side][side]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AttentionHeads {
    pub length: usize,
    pub trained_length: usize,
    pub layers: usize,
    pub heads: usize,
    pub side: usize,
    /// The chosen head, which is framed.
    pub layer: usize,
    pub head: usize,
    pub encoding: String,
}

/// # Errors
/// No heads, more than a picture can show, or a chosen one that is not there.
pub(super) fn check_heads([layers, heads]: [usize; 2], [layer, head]: [usize; 2]) -> Result<(), FigureError> {
    size("number of layers", layers)?;
    size("number of heads", heads)?;
    // Each is a plot of its own; the largest models have as many.
    let all = layers.saturating_mul(heads);
    at_most("number of heads in all layers", all, 16_384, "from 1 to 16384")?;
    for (what, value, count) in [("layer", layer, layers), ("head", head, heads)] {
        if value >= count {
            return Err(FigureError::Setting {
                what,
                value: value.to_string(),
                need: "below the number of layers or heads",
            });
        }
    }
    Ok(())
}

impl AttentionHeads {
    /// One head as the figure that shows it alone.
    fn alone(&self, index: usize) -> Attention {
        Attention {
            length: self.length,
            trained_length: self.trained_length,
            layer: index / self.heads,
            head: index % self.heads,
            side: self.side,
            encoding: self.encoding.clone(),
        }
    }

    /// One head's raster, `[side][side]`; empty without values.
    fn raster<'a>(&self, values: &'a [f32], index: usize) -> &'a [f32] {
        let cells = self.side * self.side;
        values.get(index * cells..(index + 1) * cells).unwrap_or_default()
    }

    /// The largest weight in the last row of a raster: of the last queries.
    fn last_most(&self, values: &[f32], index: usize) -> f32 {
        let raster = self.raster(values, index);
        let last = &raster[(self.side - 1) * self.side..];
        last.iter().copied().fold(f32::NEG_INFINITY, f32::max)
    }
}

impl Chart for AttentionHeads {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn values_needed(&self) -> Option<(String, usize)> {
        let (layers, heads, side) = (self.layers, self.heads, self.side);
        let shape = format!("{layers} layers × {heads} heads × {side} queries × {side} keys");
        let count = [heads, side, side]
            .into_iter()
            .fold(layers, usize::saturating_mul);
        Some((shape, count))
    }

    fn check(&self) -> Result<(), FigureError> {
        at_most("raster's side", self.side, 512, "from 1 to 512")?;
        check_heads([self.layers, self.heads], [self.layer, self.head])
    }

    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        compose(scene, style, self, values);
    }

    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String> {
        let index = at.plot.index;
        self.alone(index).readout(self.raster(values, index), at, words)
    }

    fn summary(&self, values: &[f32], words: &Words) -> String {
        let parts: [(&str, &dyn ToString); 4] = [
            ("encoding", &words.encoding(&self.encoding)),
            ("layers", &self.layers),
            ("heads", &self.heads),
            ("length", &text::count(self.length)),
        ];
        if values.is_empty() {
            return words.fill("sum_heads_waiting", &parts);
        }
        let most: Vec<f32> = (0..self.layers * self.heads)
            .map(|index| self.last_most(values, index))
            .collect();
        let indices = || 0..most.len();
        let sharp = indices()
            .max_by(|&a, &b| most[a].total_cmp(&most[b]))
            .unwrap_or(0);
        let even = indices()
            .min_by(|&a, &b| most[a].total_cmp(&most[b]))
            .unwrap_or(0);
        let says = |index: usize| {
            words.fill(
                "sum_heads_one",
                &[
                    ("layer", &(index / self.heads)),
                    ("head", &(index % self.heads)),
                    ("weight", &text::number(f64::from(most[index]), 3)),
                ],
            )
        };
        let more: [(&str, &dyn ToString); 2] = [("sharp", &says(sharp)), ("even", &says(even))];
        words.fill("sum_heads", &[&parts[..], &more].concat())
    }

    fn table(&self, values: &[f32], words: &Words) -> Table {
        let keys = ["col_layer", "col_head", "col_query", "col_key", "col_weight"];
        let mut table = Table::new(keys.map(|key| words.say(key)));
        if values.is_empty() {
            return table;
        }
        for index in 0..self.layers * self.heads {
            let alone = self.alone(index);
            for row in alone.table(self.raster(values, index), words).rows {
                table.row([alone.layer.into(), alone.head.into()].into_iter().chain(row));
            }
        }
        table
    }
}

/// One panel a head: layers down, heads across, all on the same scale.
fn compose(scene: &mut Scene, style: &Style, figure: &AttentionHeads, values: &[f32]) {
    let (layers, heads, length) = (figure.layers, figure.heads, figure.length);
    let (ink, size, words) = (style.ink(), style.text_px(), style.words());
    let colours = Colours::new(Ramp::Sequential, style.theme);
    let show_trained = figure.trained_length < length;
    let rows: Vec<String> = (0..layers)
        .map(|layer| words.fill("layer", &[("layer", &layer)]))
        .collect();
    let widest = |labels: &mut dyn Iterator<Item = &String>| {
        labels.map(|label| text::width(label, size)).fold(0.0, f64::max)
    };
    let numbers = text::width(&text::count(length), size);
    let left = widest(&mut rows.iter()).max(numbers) + 12.0;
    let top = Legend::height(style) + size * if show_trained { 2.0 } else { 1.6 };
    let bottom = size * 2.6 + 12.0;
    let gap = if style.width < 480.0 { 5.0 } else { 8.0 };
    let fit = |room: f64, count: usize| (room + gap) / count as f64 - gap;
    let side = fit(style.width - left - 4.0, heads).min(fit(style.height - top - bottom, layers));
    let side = style.snap(side.floor().max(4.0));
    let used = heads as f64 * (side + gap) - gap;
    let shift = ((style.width - left - 4.0 - used) / 2.0).max(0.0);
    let left = left + shift;
    let drawn = cells_for(figure.side, side * style.pixel_ratio);
    let chosen = figure.layer * heads + figure.head;

    let mut frame_of_chosen = None;
    for index in 0..layers * heads {
        let (row, column) = (index / heads, index % heads);
        let panel = Rect {
            x: style.snap(left + column as f64 * (side + gap)),
            y: style.snap(top + row as f64 * (side + gap)),
            width: side,
            height: side,
        };
        let bitmap = raster(drawn, figure.side, figure.raster(values, index), &colours, style);
        scene.image(panel, bitmap);
        let x = Scale::linear([0.0, length as f64], [panel.x, panel.right()]);
        let y = Scale::linear([length as f64, 0.0], [panel.bottom(), panel.y]);
        if show_trained {
            panels::mark_trained(scene, style, panel, [&x, &y], figure.trained_length);
        }
        if index == chosen {
            frame_of_chosen = Some(panel);
        }
        if column == 0 {
            // Beside the middle of its row, clear of the numbers at the last row's ends.
            let label = frame::words(
                style,
                panel.x - 7.0,
                panel.y + side / 2.0,
                rows[row].as_str(),
                Align::Right,
            );
            scene.text(Text {
                colour: ink.strong,
                ..label
            });
        }
        if row == layers - 1 && column == 0 {
            axes(scene, style, panel, [&x, &y], figure);
        }
        scene
            .geometry
            .plots
            .push(Plot::new(PlotKind::Cells, index, panel, &x, &y));
    }
    if let Some(panel) = frame_of_chosen {
        outline(scene, panel, encoding_colour(&figure.encoding, style.theme));
    }
    titles(scene, style, heads, [left + side / 2.0, top], side + gap);

    frame::heading(scene, style, 0.0, size * 0.6, words.say("query_key"));
    if show_trained {
        panels::trained_key(scene, style, [1.0, size * 2.1], figure.trained_length);
    }
    let width = (style.width * 0.45).clamp(100.0, 260.0);
    let right = (left + used).max(width + text::width(words.say("query_key"), size) + size);
    legend(scene, style, &colours, right.min(style.width - 2.0), width);
    if values.is_empty() && !style.cells_elsewhere {
        let all = Rect {
            x: left,
            y: top,
            width: used,
            height: layers as f64 * (side + gap) - gap,
        };
        frame::note(scene, style, all, words.say("attention_waiting"), ink.paper);
    }
}

/// The numbers of the first panel of the last row; down only those that leave the layer's name free.
fn axes(scene: &mut Scene, style: &Style, panel: Rect, scales: [&Scale; 2], figure: &AttentionHeads) {
    let trained = (figure.trained_length < figure.length).then_some(figure.trained_length);
    let free = |tick: f64| {
        let middle = panel.y + panel.height / 2.0;
        (scales[1].px(tick) - middle).abs() > style.text_px() * 1.2
    };
    panels::axes_where(scene, style, panel, scales, figure.length, trained, free);
}

/// The heads' names over the columns, whose first one has its middle at `left`: all of them, or numbers
/// alone, or every so many.
fn titles(scene: &mut Scene, style: &Style, heads: usize, [left, top]: [f64; 2], step: f64) {
    let (size, words) = (style.text_px(), style.words());
    let name = |head: usize| words.fill("head", &[("head", &head)]);
    let wide = text::width(&name(heads - 1), size) + 4.0;
    let is_wordy = wide <= step;
    let label = |head: usize| {
        if is_wordy || head == 0 {
            name(head)
        } else {
            head.to_string()
        }
    };
    let mut free = f64::NEG_INFINITY;
    for head in 0..heads {
        let label = label(head);
        let half = text::width(&label, size) / 2.0;
        let middle = left + head as f64 * step;
        if middle - half < free {
            continue;
        }
        free = middle + half + 4.0;
        let words = frame::words(style, middle, top - size * 0.75, label, Align::Centre);
        scene.text(Text {
            colour: style.ink().strong,
            ..words
        });
    }
}

/// A frame just outside a panel.
fn outline(scene: &mut Scene, panel: Rect, colour: super::Rgb) {
    let wide = 2.0;
    let (x, y) = (panel.x - wide, panel.y - wide);
    let (width, height) = (panel.width + 2.0 * wide, panel.height + 2.0 * wide);
    for (x, y, width, height) in [
        (x, y, width, wide),
        (x, panel.bottom(), width, wide),
        (x, y, wide, height),
        (panel.right(), y, wide, height),
    ] {
        let side = Rect { x, y, width, height };
        scene.rect(side, colour);
    }
}
