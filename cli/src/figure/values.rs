//! The numbers of a picture: from files, from a checkpoint's tensors, or from a run of its model.

use super::Arguments;
use crate::run::{Run, Text};
use anyhow::{Context, Result, bail, ensure};
use longview::encoding::{Encoding, PastEnd, Positional, Shape};
use longview::engine::{Captures, HeadId};
use longview::experiment::{Difference, Plan, Protocol, paired_loss};
use longview::figure::{BiasCurves, CopySeries, Figure, Perplexity, Point, Series};
use longview::model::{Checkpoint, Weights};
use serde::Deserialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// The shortest window that perplexity is measured at.
const SHORTEST: usize = 16;

/// The values of a picture; what belongs to its settings is put there.
///
/// # Errors
/// Files, checkpoints or texts that do not give what the picture needs.
pub fn take(
    figure: &mut Figure,
    checkpoints: &[(PathBuf, Checkpoint)],
    arguments: &Arguments,
) -> Result<Vec<f32>> {
    let name = figure.name();
    let runs = matches!(
        figure,
        Figure::Attention(_)
            | Figure::AttentionHeads(_)
            | Figure::Distance(_)
            | Figure::EffectiveContext(_)
            | Figure::PositionLoss(_)
            | Figure::PairedLoss(_)
            | Figure::Perplexity(_)
    );
    ensure!(
        runs || arguments.text.is_none(),
        "--text means nothing for a picture of {name}, which runs no model; leave it out"
    );
    let values = match (&arguments.values[..], checkpoints) {
        (paths @ [_, ..], _) => from_files(figure, paths, arguments)?,
        ([], [first, ..]) if !runs => trained_table(figure, &first.1)?,
        ([], [_, ..]) => {
            let text = arguments.text.as_deref();
            let text = text.with_context(|| {
                format!("a picture of {name} shows what the model does on a text; give --text")
            })?;
            if let Figure::Perplexity(perplexity) = figure {
                for (path, checkpoint) in checkpoints {
                    let (series, is_undefined) =
                        measured(path, checkpoint, text, perplexity.length, arguments)?;
                    perplexity
                        .undefined
                        .extend(is_undefined.then(|| series.encoding.clone()));
                    perplexity.series.push(series);
                }
                own_lengths(perplexity, arguments);
                Vec::new()
            } else {
                captured(figure, &checkpoints[0], text, arguments)?
            }
        }
        ([], []) => match &*figure {
            Figure::BiasCurves(curves) => untrained_biases(curves)?,
            _ => Vec::new(),
        },
    };
    let is_learned = match figure {
        Figure::Learned(_) => true,
        Figure::Similarity(similarity) => similarity.encoding == "learned",
        Figure::Offsets(offsets) => offsets.encoding == "learned",
        _ => false,
    };
    match figure {
        Figure::Perplexity(perplexity) if !perplexity.series.is_empty() => {}
        _ if runs && values.is_empty() => bail!(
            "a picture of {name} shows what a model does; give --checkpoint and --text, or the numbers with --values"
        ),
        Figure::CopyScore(scores) if scores.series.is_empty() => {
            bail!("copy scores are measured elsewhere; give them with --values or --set series=…")
        }
        _ if is_learned && values.is_empty() => {
            bail!("a learned table stands in a checkpoint; give --checkpoint, or the numbers with --values")
        }
        _ => {}
    }
    Ok(values)
}

/// Leaves the series an L of their own where it is not the picture's, unless one was given for all.
fn own_lengths(perplexity: &mut Perplexity, arguments: &Arguments) {
    let all = perplexity.trained_length;
    let is_own = |length: &usize| arguments.settings.marks_own_length() && *length != all;
    for series in &mut perplexity.series {
        series.trained_length = series.trained_length.filter(is_own);
    }
}

fn from_files(figure: &mut Figure, paths: &[PathBuf], arguments: &Arguments) -> Result<Vec<f32>> {
    if let Figure::Perplexity(perplexity) = figure {
        for path in paths {
            let (series, undefined) = reported(path)?;
            perplexity.series.extend(series);
            perplexity.undefined.extend(undefined);
        }
        own_lengths(perplexity, arguments);
        return Ok(Vec::new());
    }
    if let Figure::CopyScore(scores) = figure {
        for path in paths {
            let series: Vec<CopySeries> = serde_json::from_value(read_json(path)?)
                .with_context(|| format!("{} is no list of series of copy scores", path.display()))?;
            scores.series.extend(series);
        }
        return Ok(Vec::new());
    }
    let [path] = paths else {
        bail!("a picture of {} takes one --values; give one file", figure.name());
    };
    let mut values = Vec::new();
    flatten(&read_json(path)?, &mut values)
        .with_context(|| format!("{} does not hold what --values needs", path.display()))?;
    ensure!(!values.is_empty(), "{} holds no numbers", path.display());
    Ok(values)
}

/// Lists of lists, as arrays are often written, are taken in order; null has no value.
fn flatten(value: &Value, values: &mut Vec<f32>) -> Result<()> {
    match value {
        Value::Array(list) => list.iter().try_for_each(|item| flatten(item, values))?,
        Value::Number(number) => values.push(number.as_f64().unwrap_or(f64::NAN) as f32),
        Value::Null => values.push(f32::NAN),
        other => bail!("expected a list of numbers, found {other}"),
    }
    Ok(())
}

fn read_json(path: &Path) -> Result<Value> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("{} could not be read", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no JSON", path.display()))
}

/// What `longview evaluate --format json` says of one encoding.
#[derive(Deserialize)]
struct Report {
    encoding: Encoding,
    trained_length: Option<usize>,
    points: Vec<Point>,
    undefined: Vec<Value>,
}

/// What must be said with a curve of this encoding.
fn note(encoding: &Encoding) -> Option<String> {
    match encoding {
        Encoding::Learned(learned) if learned.past_end == PastEnd::LastRow => {
            Some("last row repeated".into())
        }
        _ => None,
    }
}

/// The series of a file, and the name of its encoding if it has lengths without a value: a report, or a
/// list of series as in a figure's JSON.
fn reported(path: &Path) -> Result<(Vec<Series>, Option<String>)> {
    let value = read_json(path)?;
    let what = || {
        format!(
            "{} is no report of longview evaluate and no list of series",
            path.display()
        )
    };
    if value.is_array() {
        return Ok((serde_json::from_value(value).with_context(what)?, None));
    }
    let report: Report = serde_json::from_value(value).with_context(what)?;
    let encoding = report.encoding.name().to_string();
    let undefined = (!report.undefined.is_empty()).then(|| encoding.clone());
    let series = Series {
        encoding,
        note: note(&report.encoding),
        trained_length: report.trained_length,
        points: report.points,
        ..Series::default()
    };
    Ok((vec![series], undefined))
}

/// The tensor that the picture shows; empty for one that needs none.
fn trained_table(figure: &Figure, checkpoint: &Checkpoint) -> Result<Vec<f32>> {
    if let Figure::BiasCurves(curves) = figure {
        let config = &checkpoint.config;
        return biases(
            &config.encoding,
            &config.shape(curves.length),
            &checkpoint.weights,
        );
    }
    let has_table = matches!(
        figure,
        Figure::Learned(_) | Figure::Similarity(_) | Figure::Offsets(_) | Figure::T5Buckets(_)
    );
    let config = &checkpoint.config;
    let parameters = config.encoding.parameters(&config.shape(config.trained_length));
    let Some(parameter) = parameters.first().filter(|_| has_table) else {
        return Ok(Vec::new());
    };
    let tensor = checkpoint.weights.get(&parameter.name);
    let tensor = tensor.with_context(|| format!("the checkpoint lacks the tensor \"{}\"", parameter.name))?;
    Ok(tensor.data.clone())
}

/// The biases of an encoding, `[heads][length]`.
fn biases(encoding: &Encoding, shape: &Shape, weights: &Weights) -> Result<Vec<f32>> {
    let bias = encoding.tables(shape, weights)?.bias;
    let bias = bias.with_context(|| format!("{} adds no bias to the scores", encoding.name()))?;
    Ok(bias.behind.to_f32())
}

/// The biases of an encoding that needs no checkpoint.
fn untrained_biases(curves: &BiasCurves) -> Result<Vec<f32>> {
    let encoding: Encoding = serde_json::from_value(serde_json::json!({"kind": curves.encoding}))?;
    let shape = Shape {
        length: curves.length,
        d_model: curves.heads * 4,
        heads: curves.heads,
        d_head: 4,
    };
    biases(&encoding, &shape, &Weights::default())
        .with_context(|| format!("the biases of {}; give --checkpoint or --values", curves.encoding))
}

/// The perplexity of a model at the powers of two up to `longest`, and whether some have no value.
fn measured(
    path: &Path,
    checkpoint: &Checkpoint,
    text: &Path,
    longest: usize,
    arguments: &Arguments,
) -> Result<(Series, bool)> {
    let text = Text::read(text, (path, checkpoint), &arguments.run)?;
    let lengths = Plan::lengths(SHORTEST.min(longest), longest, text.tokens.len());
    let plan = text.plan(&lengths, Protocol::NonOverlapping, &arguments.run)?;
    let mut run = Run::start(checkpoint, &arguments.run)?;
    let (curve, undefined) = run.measure(&plan, &text.tokens)?;
    let encoding = &run.model.config().encoding;
    let points = curve.points().into_iter().map(|point| Point {
        length: point.length,
        perplexity: Some(point.perplexity),
        standard_error: point.standard_error,
        ..Point::default()
    });
    let series = Series {
        encoding: encoding.name().into(),
        note: note(encoding),
        trained_length: Some(checkpoint.config.trained_length),
        points: points.collect(),
        ..Series::default()
    };
    Ok((series, !undefined.is_empty()))
}

/// What a run of the model gives for the picture.
fn captured(
    figure: &mut Figure,
    (path, checkpoint): &(PathBuf, Checkpoint),
    text: &Path,
    arguments: &Arguments,
) -> Result<Vec<f32>> {
    let text = Text::read(text, (path, checkpoint), &arguments.run)?;
    let name = figure.name();
    let nothing = || format!("the engine kept nothing for a picture of {name}");
    let mut captures = Captures::default();
    let length = match &*figure {
        Figure::Attention(one) => {
            let (layer, head) = (one.layer, one.head);
            captures.attention = Some(HeadId { layer, head });
            one.length
        }
        Figure::AttentionHeads(all) => {
            captures.thumbnails = Some(all.side);
            all.length
        }
        Figure::Distance(distance) => {
            captures.profile = true;
            distance.length
        }
        Figure::EffectiveContext(context) => {
            captures.profile = true;
            context.length
        }
        Figure::PositionLoss(loss) => {
            let plan = text.plan(&[loss.length], Protocol::NonOverlapping, &arguments.run)?;
            let (curve, _) = Run::start(checkpoint, &arguments.run)?.measure(&plan, &text.tokens)?;
            let losses = curve.by_position(loss.length);
            return Ok(losses.into_iter().map(|loss| loss as f32).collect());
        }
        Figure::PairedLoss(loss) => {
            let lengths = [loss.trained_length, loss.length];
            ensure!(
                lengths[0] < lengths[1],
                "a paired loss compares --length with the shorter --trained-length; make it longer"
            );
            let plan = text.plan(&lengths, Protocol::NonOverlapping, &arguments.run)?;
            let (curve, _) = Run::start(checkpoint, &arguments.run)?.measure(&plan, &text.tokens)?;
            let [base, other] = lengths.map(|length| curve.by_token(length));
            let differences = paired_loss(base, other, loss.length, loss.cell);
            let mean = |difference: &Option<Difference>| {
                difference.map_or(f32::NAN, |difference| difference.mean as f32)
            };
            let error = |difference: &Option<Difference>| {
                let error = difference.and_then(|difference| difference.standard_error);
                error.map_or(f32::NAN, |error| error as f32)
            };
            let means = differences.iter().map(mean);
            return Ok(means.chain(differences.iter().map(error)).collect());
        }
        _ => bail!(nothing()),
    };
    let window = text.window(length)?;
    let output = Run::start(checkpoint, &arguments.run)?.capture(&window, &captures)?;
    match figure {
        Figure::Attention(one) => {
            let raster = output.attention.with_context(nothing)?;
            one.side = raster.side;
            Ok(raster.data)
        }
        Figure::AttentionHeads(all) => {
            let thumbnails = output.thumbnails.with_context(nothing)?;
            all.side = thumbnails.side;
            Ok(thumbnails.data)
        }
        Figure::EffectiveContext(_) => {
            let profile = output.profile.with_context(nothing)?;
            Ok([profile.data, profile.entropy].concat())
        }
        _ => Ok(output.profile.with_context(nothing)?.data),
    }
}
