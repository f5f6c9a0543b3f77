use super::bitmap::{Bitmap, cells_for};
use super::chart::{At, Chart};
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::frame;
use super::geometry::{Plot, PlotKind, Rect};
use super::legend::Legend;
use super::order::sort_few;
use super::panels;
use super::scale::{Scale, within};
use super::scene::{Align, Scene, Text};
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{at_most, text};
use crate::encoding::{Alibi, EncodingError};
use serde::{Deserialize, Serialize};

/// A bias matrix for each head. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AlibiMatrices {
    pub heads: usize,
    pub length: usize,
    /// In place of the paper's, one a head.
    #[serde(default)]
    pub slopes: Option<Vec<f64>>,
    pub trained_length: usize,
}

/// # Errors
/// Too many heads, or custom slopes that are not one finite number a head.
pub(super) fn check_slopes(heads: usize, slopes: &Option<Vec<f64>>) -> Result<(), FigureError> {
    at_most("number of heads", heads, 256, "from 1 to 256")?;
    slopes_of(heads, slopes).map(|_| ()).map_err(FigureError::from)
}

/// The slope of every head, `[heads]`: the custom ones, or the paper's.
///
/// # Errors
/// Custom slopes that are not one finite number a head.
pub(super) fn slopes_of(heads: usize, slopes: &Option<Vec<f64>>) -> Result<Vec<f64>, EncodingError> {
    let slopes = slopes.clone();
    Alibi {
        slopes,
        trained: false,
    }
    .slopes(heads)
}

impl Chart for AlibiMatrices {
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
        compose(
            scene,
            style,
            &slopes_of(self.heads, &self.slopes).unwrap_or_default(),
            self.length,
            self.trained_length,
        );
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let slope = *slopes_of(self.heads, &self.slopes).ok()?.get(at.plot.index)?;
        let (key, query) = at.cell(self.length, self.length);
        let says = match query.checked_sub(key) {
            Some(distance) => {
                let bias = text::number(-slope * distance as f64, 4);
                words.fill("read_bias", &[("bias", &bias)])
            }
            None => words.say("read_masked").into(),
        };
        Some(words.fill(
            "read_query_key_head",
            &[
                ("query", &query),
                ("key", &key),
                ("head", &at.plot.index),
                ("says", &says),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let slopes = slopes_of(self.heads, &self.slopes).unwrap_or_default();
        let most = slopes.iter().copied().fold(f64::MIN, f64::max);
        let least = slopes.iter().copied().fold(f64::MAX, f64::min);
        let far = self.length as f64 - 1.0;
        words.fill(
            "sum_alibi",
            &[
                ("heads", &self.heads),
                ("length", &text::count(self.length)),
                ("most", &text::slope(most)),
                ("least", &text::slope(least)),
                ("low", &text::number(-most.max(0.0) * far, 4)),
                ("high", &text::number(-least.min(0.0) * far, 4)),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let slopes = slopes_of(self.heads, &self.slopes).unwrap_or_default();
        let heads = (0..self.heads).map(|head| words.fill("head", &[("head", &head)]));
        let mut table = Table::new(std::iter::once(words.say("col_distance").to_string()).chain(heads));
        for distance in 0..self.length {
            let biases = slopes.iter().map(|slope| (0.0 - slope * distance as f64).into());
            table.row(std::iter::once(distance.into()).chain(biases));
        }
        table
    }
}

/// The shared scale: logarithmic in 1 + |bias|, since slopes differ by powers of two.
struct BiasScale {
    /// The largest |bias| of any head.
    most: f64,
    signed: bool,
}

impl BiasScale {
    fn new(slopes: &[f64], length: usize) -> Self {
        let steepest = slopes.iter().fold(0.0f64, |most, slope| most.max(slope.abs()));
        Self {
            most: (steepest * (length as f64 - 1.0)).max(1e-3),
            signed: slopes.iter().any(|&slope| slope < 0.0),
        }
    }

    /// The place of a bias on the scale, 0 to 1: 1 is no bias at all, or, where some are above zero,
    /// the middle is.
    fn part(&self, bias: f64) -> f64 {
        let size = bias.abs().ln_1p() / self.most.ln_1p();
        match (self.signed, bias > 0.0) {
            (false, _) => 1.0 - size,
            (true, false) => 0.5 - size / 2.0,
            (true, true) => 0.5 + size / 2.0,
        }
    }

    fn ticks(&self) -> Vec<(f64, String)> {
        let mut sizes = vec![0.0];
        sizes.extend(
            [0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4, 1e5]
                .into_iter()
                .filter(|tick| *tick <= self.most),
        );
        let signs: &[f64] = if self.signed { &[-1.0, 1.0] } else { &[-1.0] };
        let mut ticks: Vec<(f64, String)> = signs
            .iter()
            .flat_map(|sign| sizes.iter().map(move |size| sign * size))
            .map(|bias| (self.part(bias), text::number(bias, 3)))
            .collect();
        sort_few(&mut ticks, |tick| tick.0);
        ticks
    }
}

/// The height of the slope written over each matrix, CSS px.
fn label_height(style: &Style) -> f64 {
    style.text_px() + 7.0
}

fn compose(scene: &mut Scene, style: &Style, slopes: &[f64], length: usize, trained: usize) {
    let heads = slopes.len();
    let (ink, size) = (style.ink(), style.text_px());
    let bias_scale = BiasScale::new(slopes, length);
    let ramp = if bias_scale.signed {
        Ramp::Signed
    } else {
        Ramp::Sequential
    };
    let colours = Colours::new(ramp, style.theme);

    let left = text::width(&text::count(length), size) + 12.0;
    let top = Legend::height(style) + 6.0;
    let bottom = size * 2.6 + 12.0;
    let gap = [
        if style.width < 480.0 { 8.0 } else { 14.0 },
        label_height(style) + 4.0,
    ];
    let (width, height) = (
        (style.width - left - 4.0).max(8.0),
        (style.height - top - bottom).max(8.0),
    );
    let (columns, side) = frame::grid(heads, width, height, gap);
    let side = style.snap(side.floor().max(4.0));
    let rows = heads.div_ceil(columns);
    // What is left over stands on both sides.
    let used = columns as f64 * (side + gap[0]) - gap[0];
    let shift = ((width - used) / 2.0).max(0.0);
    let left = left + shift;
    let cells = cells_for(length, side * style.pixel_ratio);
    let show_trained = trained < length;
    // One head's |bias| written as "m = " where there is room for it.
    let wordy = side > text::width("m = 1/256", size) + 4.0;

    for (head, &slope) in slopes.iter().enumerate() {
        let (row, column) = (head / columns, head % columns);
        let panel = Rect {
            x: style.snap(left + column as f64 * (side + gap[0])),
            y: style.snap(top + row as f64 * (side + gap[1]) + label_height(style)),
            width: side,
            height: side,
        };
        let bitmap = Bitmap::by_difference(cells, |difference| {
            if difference < 0 {
                return ink.masked;
            }
            let distance = difference as f64 * length as f64 / cells as f64;
            colours.at(bias_scale.part(-slope * distance))
        });
        scene.image(panel, bitmap);
        let written = text::slope(slope);
        let label = if wordy { format!("m = {written}") } else { written };
        let size = if text::width(&label, size) > side + gap[0] {
            size * 0.82
        } else {
            size
        };
        let words = frame::words(
            style,
            panel.x + side / 2.0,
            panel.y - size * 0.72,
            label,
            Align::Centre,
        );
        scene.text(Text {
            colour: ink.strong,
            size,
            ..words
        });

        let x = Scale::linear([0.0, length as f64], [panel.x, panel.right()]);
        let y = Scale::linear([length as f64, 0.0], [panel.bottom(), panel.y]);
        if show_trained {
            panels::mark_trained(scene, style, panel, [&x, &y], trained);
        }
        if row == rows - 1 && column == 0 {
            panels::axes(
                scene,
                style,
                panel,
                [&x, &y],
                length,
                show_trained.then_some(trained),
            );
        }
        scene
            .geometry
            .plots
            .push(Plot::new(PlotKind::Cells, head, panel, &x, &y));
    }

    frame::heading(scene, style, shift, size * 0.6, style.words().say("query_key"));
    if show_trained {
        panels::trained_key(scene, style, [shift + 1.0, size * 2.1], trained);
    }
    let right = within(left + used, shift + 330.0, style.width - 2.0);
    let legend = Legend {
        colours: &colours,
        title: style.words().say("bias_log"),
        ticks: bias_scale.ticks(),
    };
    let legend_width = (style.width * 0.4).clamp(110.0, 280.0).min(right - 10.0);
    legend.draw(scene, style, right.max(legend_width + 10.0), 0.0, legend_width);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_is_full_at_zero_and_empty_at_the_end_of_the_steepest_head() {
        let scale = BiasScale::new(&[0.5, 0.25], 11);
        assert_eq!(scale.most, 5.0);
        assert_eq!(scale.part(0.0), 1.0);
        assert!(scale.part(-5.0).abs() < 1e-12);
        assert!(scale.part(-1.0) < scale.part(-0.5));
        let signed = BiasScale::new(&[0.5, -0.25], 11);
        assert_eq!(signed.part(0.0), 0.5);
        assert!(signed.part(1.0) > 0.5 && signed.part(-1.0) < 0.5);
    }
}
