use super::chart::{At, Chart};
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::order::quantiles;
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{encoding_colour, text};
use serde::{Deserialize, Serialize};

/// Mean loss by position in the window. Values: none, or nats `[length]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PositionLoss {
    pub length: usize,
    pub trained_length: usize,
    pub encoding: String,
}

impl Chart for PositionLoss {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn values_needed(&self) -> Option<(String, usize)> {
        Some((format!("{} positions", self.length), self.length))
    }

    fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        let losses = Losses {
            length: self.length,
            trained: self.trained_length,
            encoding: &self.encoding,
            cell: 1,
            differences: false,
            errors: &[],
        };
        losses.compose(scene, style, values);
    }

    fn readout(&self, values: &[f32], at: &At, words: &Words) -> Option<String> {
        let position = at.position(self.length);
        let loss = f64::from(*values.get(position)?);
        Some(words.fill(
            "read_position_loss",
            &[
                ("position", &position),
                ("loss", &text::number(loss, 3)),
                ("perplexity", &text::number(loss.exp(), 3)),
            ],
        ))
    }

    fn summary(&self, values: &[f32], words: &Words) -> String {
        let title = words.encoding(&self.encoding);
        let length = text::count(self.length);
        if values.is_empty() {
            return words.fill(
                "sum_position_waiting",
                &[("encoding", &title), ("length", &length)],
            );
        }
        // Tenths of the window: the first tokens are starved of context, the last are past L if any are.
        let mean =
            |part: &[f32]| part.iter().map(|loss| f64::from(*loss)).sum::<f64>() / part.len().max(1) as f64;
        let tenth = self.length.div_ceil(10);
        let (first, last) = (mean(&values[..tenth]), mean(&values[self.length - tenth..]));
        words.fill(
            "sum_position",
            &[
                ("encoding", &title),
                ("length", &length),
                ("count", &text::count(tenth)),
                ("first", &text::number(first, 3)),
                ("last", &text::number(last, 3)),
            ],
        )
    }

    fn table(&self, values: &[f32], words: &Words) -> Table {
        let mut table = Table::new(["col_position", "col_loss"].map(|key| words.say(key)));
        for (position, &loss) in values.iter().enumerate() {
            table.row([position.into(), loss.into()]);
        }
        table
    }
}

/// Means over groups of neighbouring positions: `(middle, mean)`; a group that has an undefined loss is
/// undefined.
fn groups(values: &[f32], width: usize) -> Vec<(f64, f64)> {
    values
        .chunks(width.max(1))
        .enumerate()
        .map(|(index, chunk)| {
            let middle = (index * width.max(1)) as f64 + (chunk.len() as f64 - 1.0) / 2.0;
            (
                middle,
                chunk.iter().map(|value| f64::from(*value)).sum::<f64>() / chunk.len() as f64,
            )
        })
        .collect()
}

/// One standard error to either side of each group that has one: `(middle, low, high)`. The errors of the
/// values are taken as independent.
fn error_bars(groups: &[(f64, f64)], errors: &[f32], width: usize) -> Vec<(f64, f64, f64)> {
    let of_groups = errors.chunks(width.max(1)).map(|chunk| {
        let squares = chunk.iter().map(|error| f64::from(*error).powi(2));
        squares.sum::<f64>().sqrt() / chunk.len() as f64
    });
    let bars = groups.iter().zip(of_groups);
    bars.filter(|((_, mean), error)| (mean + error).is_finite())
        .map(|(&(middle, mean), error)| (middle, mean - error, mean + error))
        .collect()
}

/// Losses by position, or differences of losses.
pub(super) struct Losses<'a> {
    pub length: usize,
    pub trained: usize,
    pub encoding: &'a str,
    /// Each value is the mean of so many neighbouring positions.
    pub cell: usize,
    /// The values are differences: zero is drawn, and the multiples of L are marked.
    pub differences: bool,
    /// The standard error of each value; none where they are not known.
    pub errors: &'a [f32],
}

impl Losses<'_> {
    /// Every position pale, means of neighbours strong, since single positions see different text and are
    /// noisy.
    pub fn compose(&self, scene: &mut Scene, style: &Style, values: &[f32]) {
        let Self {
            length,
            trained,
            encoding,
            cell,
            differences,
            errors,
        } = *self;
        let size = style.text_px();
        // The longer title needs a line of its own on a narrow figure.
        let row = if differences && style.width < 620.0 {
            size * 1.4
        } else {
            0.0
        };
        let plot = frame::inside(
            style,
            Margins {
                // Differences have a sign and two decimals.
                left: if self.differences { 48.0 } else { 40.0 },
                right: 14.0,
                top: row + size * 3.2,
                bottom: size * 2.6 + 14.0,
            },
        );
        let last = (length - 1).max(1) as f64;
        let x = Scale::linear([0.0, last], [plot.x, plot.right()]);
        // As many points as the eye can follow.
        let cells = length.div_ceil(cell);
        let thin = cells.div_ceil((plot.width * 0.6).max(1.0) as usize).max(1);
        let fine = groups(values, thin);
        let bars = error_bars(&fine, errors, thin);
        let ends = bars.iter().flat_map(|&(_, low, high)| [low, high]);
        let losses = fine.iter().map(|point| point.1).chain(ends).collect();
        // A single outlier may leave the plot.
        let [low, high] = quantiles(losses, [0.01, 0.99]).unwrap_or([2.0, 6.0]);
        let pad = ((high - low) * 0.05).max(0.05);
        let range = match (differences, values.is_empty()) {
            (false, _) => [(low - pad).max(0.0), high + pad],
            (true, false) => [low.min(0.0) - pad, high.max(0.0) + pad],
            (true, true) => [-1.0, 1.0],
        };
        let y = Scale::linear(range, [plot.bottom(), plot.y]);
        let y_ticks = scale::linear_ticks(y.domain(), ((plot.height / 34.0) as usize).clamp(2, 7));
        let title = if differences {
            "loss_difference_up"
        } else {
            "loss_up"
        };
        frame::heading(scene, style, 0.0, size * 0.7, style.words().say(title));
        frame::y_axis(
            scene,
            style,
            plot,
            &y,
            &Axis::new(frame::number_ticks(&y_ticks), "").with_grid(),
        );
        let most = frame::most_ticks(plot.width, 64.0);
        let x_ticks = frame::count_ticks(&scale::positions(last as usize + 1, most));
        frame::x_axis(
            scene,
            style,
            plot,
            &x,
            &Axis::new(x_ticks, style.words().say("window_position")),
        );
        if differences {
            mark_multiples(scene, style, plot, &x, [length, trained]);
            frame::zero_line(scene, style, plot, &y);
        }
        frame::mark_trained_x(scene, style, plot, &x, trained, false);
        scene
            .geometry
            .plots
            .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
        if values.is_empty() {
            frame::note(
                scene,
                style,
                plot,
                style.words().say("loss_waiting"),
                style.ink().paper,
            );
            return;
        }
        let strong = encoding_colour(encoding, style.theme);
        let line = |points: Vec<(f64, f64)>| -> Vec<[f64; 2]> {
            let px = |value: f64| {
                if value.is_nan() {
                    f64::NAN
                } else {
                    y.px_clamped(value)
                }
            };
            points
                .into_iter()
                .map(|(index, loss)| {
                    let middle = index * cell as f64 + (cell as f64 - 1.0) / 2.0;
                    [x.px(middle.min(last)), px(loss)]
                })
                .collect()
        };
        let width = (cells / 32).max(1).next_multiple_of(thin);
        let fine_stroke = match width > thin {
            true => Stroke::new(strong, 1.0).alpha(0.35),
            false => Stroke::new(strong, 2.25),
        };
        for (middle, low, high) in bars {
            let ends = line(vec![(middle, low), (middle, high)]);
            scene.line(ends, Stroke::new(strong, 1.0).alpha(0.45));
        }
        scene.line(line(fine), fine_stroke);
        if width > thin {
            scene.line(line(groups(values, width)), Stroke::new(strong, 2.25));
            let thick = style
                .words()
                .fill("thick_means", &[("count", &text::count(width * cell))]);
            let note = if thin * cell > 1 {
                style.words().fill(
                    "thin_means",
                    &[("count", &text::count(thin * cell)), ("thick", &thick)],
                )
            } else {
                thick
            };
            let words = frame::words(style, style.width - 2.0, row + size * 0.7, note, Align::Right);
            scene.text(Text {
                colour: strong,
                ..words
            });
        }
    }
}

/// 2L, 3L, … as thin lines, while there is room for them; their labels, while there is room for those.
fn mark_multiples(scene: &mut Scene, style: &Style, plot: Rect, x: &Scale, [length, trained]: [usize; 2]) {
    let (ink, size) = (style.ink(), style.text_px());
    let apart = x.px(trained as f64) - x.px(0.0);
    if apart < 8.0 {
        return;
    }
    // L's own label is the widest.
    let clear = text::width(&frame::trained_label(style, trained), size) * 0.6 + size * 1.5;
    for multiple in 2..=length / trained {
        let at = style.snap_hair(x.px((multiple * trained) as f64));
        if at > plot.right() {
            break;
        }
        let stroke = Stroke::new(ink.axis, style.hair()).dashed(4.0, 3.0);
        scene.line([[at, plot.y], [at, plot.bottom()]], stroke);
        if apart > clear {
            let label = format!("{multiple}L");
            let up = plot.y - 6.0 - size * 0.55;
            scene.text(frame::words(style, at, up, label, Align::Centre));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{error_bars, groups};

    #[test]
    fn groups_are_means_at_their_middles() {
        assert_eq!(
            groups(&[1.0, 3.0, 5.0, 7.0, 9.0], 2),
            [(0.5, 2.0), (2.5, 6.0), (4.0, 9.0)]
        );
        assert!(groups(&[f32::NAN, 1.0], 2)[0].1.is_nan());
    }

    #[test]
    fn the_error_of_a_group_is_that_of_its_mean() {
        let means = groups(&[1.0, 3.0, 5.0, 7.0, 9.0], 2);
        let bars = error_bars(&means, &[3.0, 4.0, 0.0, f32::NAN, 1.0], 2);
        assert_eq!(bars, [(0.5, -0.5, 4.5), (4.0, 8.0, 10.0)]);
        assert_eq!(error_bars(&means, &[], 2), []);
    }
}
