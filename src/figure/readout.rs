use super::geometry::{Geometry, Plot, PlotKind};
use super::{Figure, perplexity, rotary, t5_bias, text};
use crate::encoding::{Alibi, Sinusoidal};

/// One line that names what stands at a place of a drawn figure (CSS px), with the program's own
/// numbers; `None` where nothing does.
pub fn readout(figure: &Figure, values: &[f32], geometry: &Geometry, x: f64, y: f64) -> Option<String> {
    figure.check(values).ok()?;
    let (plot, (x, y)) = geometry
        .plots
        .iter()
        .find_map(|plot| Some((plot, plot.data_at(x, y)?)))?;
    let value = |index: usize| values.get(index).map(|value| f64::from(*value));
    let defined = |value: Option<f64>| value.map_or("not loaded yet".into(), |value| text::number(value, 3));
    match figure {
        Figure::Sinusoidal {
            length,
            d_model,
            layout,
            base,
            ..
        } => {
            let (position, column) = (cell(x, *length), cell(y, *d_model));
            let value = Sinusoidal {
                layout: *layout,
                base: *base,
            }
            .value(position, column, *d_model);
            Some(format!(
                "position {position}, dimension {column}: {}",
                text::fixed(value, 3)
            ))
        }
        Figure::Learned {
            length,
            trained_length,
            d_model,
        } => {
            let (position, column) = (cell(x, *length), cell(y, *d_model));
            let says = if position >= *trained_length {
                format!("undefined, no row past {trained_length}")
            } else {
                defined(value(position * d_model + column))
            };
            Some(format!("position {position}, dimension {column}: {says}"))
        }
        Figure::None { length, .. } => {
            let (query, key) = (cell(y, *length), cell(x, *length));
            let says = if key > query { "masked" } else { "seen, no bias" };
            Some(format!("query {query}, key {key}: {says}"))
        }
        Figure::Alibi {
            heads,
            length,
            slopes,
            ..
        } => {
            let slopes = Alibi {
                slopes: slopes.clone(),
                trained: false,
            }
            .slopes(*heads)
            .ok()?;
            let (query, key) = (cell(y, *length), cell(x, *length));
            let says = match query.checked_sub(key) {
                Some(distance) => {
                    format!(
                        "bias {}",
                        text::number(-slopes.get(plot.index)? * distance as f64, 4)
                    )
                }
                None => "masked".into(),
            };
            Some(format!("query {query}, key {key}, head {}: {says}", plot.index))
        }
        Figure::Attention {
            length,
            layer,
            head,
            side,
            ..
        } => {
            let share = *side as f64 / *length as f64;
            let (row, column) = (cell(y * share, *side), cell(x * share, *side));
            let says = match column > row {
                true => "masked".into(),
                false => format!("weight {}", defined(value(row * side + column))),
            };
            let tokens = |index: usize| {
                let (from, to) = (index * length / side, ((index + 1) * length / side).max(1) - 1);
                if to > from {
                    format!("{from}–{to}")
                } else {
                    from.to_string()
                }
            };
            Some(format!(
                "query {}, key {}, layer {layer}, head {head}: {says}",
                tokens(row),
                tokens(column)
            ))
        }
        Figure::Rotary {
            d_head,
            base,
            pairing,
            query,
            key,
            trained_length,
        } => {
            let wave = *rotary::wavelengths(&rotary::encoding(*base, *pairing), *d_head).get(plot.index)?;
            let turns = (*query as f64 - *key as f64) / wave;
            let whole = if wave > *trained_length as f64 {
                ", no full turn within L"
            } else {
                ""
            };
            Some(format!(
                "pair {}: {} tokens a turn{whole}; angle between query and key {} turns ({}°)",
                plot.index,
                rotary::wavelength_text(wave),
                text::number(turns, 3),
                text::number((turns * 360.0) % 360.0, 4),
            ))
        }
        Figure::T5Bias {
            heads,
            buckets,
            max_distance,
            bidirectional,
            length,
            ..
        } => {
            let bias = t5_bias::encoding(*buckets, *max_distance, *bidirectional);
            let distance = log_cell(x).min(length.saturating_sub(1));
            let bucket = bias.bucket_behind(distance);
            if plot.kind == PlotKind::Strip {
                return Some(format!("distance {distance}: bucket {bucket} of {buckets}"));
            }
            let near = nearest(*heads, y, |head| value(bucket * heads + head))?;
            Some(format!(
                "distance {distance}, bucket {bucket}, head {}: bias {}",
                near.0,
                text::number(near.1, 3)
            ))
        }
        Figure::Distance {
            length,
            heads,
            layer,
            head,
            ..
        } => {
            let distance = if plot.x_log {
                log_cell(x)
            } else {
                x.round().max(0.0) as usize
            };
            let distance = distance.min(length.saturating_sub(1));
            let says = defined(value((layer * heads + head) * length + distance));
            Some(format!(
                "distance {distance}, layer {layer}, head {head}: mean weight {says}"
            ))
        }
        Figure::PositionLoss { length, .. } => {
            let position = (x.round().max(0.0) as usize).min(length.saturating_sub(1));
            let loss = value(position)?;
            Some(format!(
                "position {position}: loss {} nats, perplexity {}",
                text::number(loss, 3),
                text::number(loss.exp(), 3)
            ))
        }
        Figure::Perplexity { series, .. } => nearest_point(series, plot, x, y),
    }
}

/// The cell of a linear axis.
fn cell(at: f64, count: usize) -> usize {
    (at.max(0.0) as usize).min(count.saturating_sub(1))
}

/// The distance under a place of an axis of logarithms, whose first half step is distance 0.
fn log_cell(at: f64) -> usize {
    if at < 1.0 { 0 } else { at as usize }
}

/// Which of `count` curves is nearest to `y`, and its value.
fn nearest(count: usize, y: f64, value: impl Fn(usize) -> Option<f64>) -> Option<(usize, f64)> {
    (0..count)
        .filter_map(|index| Some((index, value(index)?)))
        .filter(|(_, value)| value.is_finite())
        .min_by(|a, b| (a.1 - y).abs().total_cmp(&(b.1 - y).abs()))
}

fn nearest_point(series: &[perplexity::Series], plot: &Plot, x: f64, y: f64) -> Option<String> {
    let spans = [plot.x_range, plot.y_range].map(|[low, high]| (high / low).ln().abs().max(1e-9));
    let away = |length: usize, value: f64| {
        let across = (length as f64 / x).ln() / spans[0] * plot.width;
        let up = (value / y).ln() / spans[1] * plot.height;
        across.hypot(up)
    };
    let (series, point, value, distance) = series
        .iter()
        .flat_map(|series| series.points.iter().map(move |point| (series, point)))
        .filter_map(|(series, point)| {
            let value = point.value()?;
            Some((series, point, value, away(point.length, value)))
        })
        .min_by(|a, b| a.3.total_cmp(&b.3))?;
    if distance > 40.0 {
        return None;
    }
    let error = point.standard_error.filter(|error| error.is_finite());
    let error = error.map_or(String::new(), |error| format!(" ± {}", text::number(error, 2)));
    let note = series
        .note
        .as_ref()
        .map_or(String::new(), |note| format!(" ({note})"));
    Some(format!(
        "{}{note}, T = {}: perplexity {}{error}",
        perplexity::title(&series.encoding),
        text::count(point.length),
        text::number(value, 4),
    ))
}
