use crate::encoding::count;
use crate::files::{self, Format};
use crate::run::{Run, RunArguments, Text, Undefined};
use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use longview::encoding::{Encoding, Window};
use longview::engine::Verdict;
use longview::engine::gpu::Timings;
use longview::experiment::{Cost, Plan, Point, Protocol};
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Measure perplexity over windows of one length or many, on the same tokens
///
/// A window of T tokens makes T predictions, the t-th from t tokens; perplexity is weighted by token.
/// Windows follow one another, or slide by a stride of S tokens: the first then scores all of its
/// predictions, each later one its last S, those that no window before it has scored. The standard error treats each 64 neighbouring tokens of the text as one sample.
#[derive(Args)]
#[command(after_help = "Examples:
  longview evaluate --checkpoint www/checkpoints/alibi.safetensors --text www/texts/persuasion.txt --length 128,512
  longview evaluate --checkpoint www/checkpoints/learned.safetensors --text www/texts/hamlet.txt \\
    --length 64,128,256 --past last --format json
  longview evaluate --checkpoint www/checkpoints/alibi.safetensors --text www/texts/persuasion.txt \\
    --length 64,128,1024 --protocol sliding --stride 16 --tokens 4096
  longview evaluate --checkpoint www/checkpoints/rotary.safetensors --text www/texts/persuasion.txt \\
    --length 512 --change window=64 --change sinks=4
  longview evaluate --checkpoint F.safetensors --text novel.txt --clean --length 128 --engine gpu")]
pub struct Arguments {
    /// A checkpoint that Longview's trainer wrote
    #[arg(long)]
    checkpoint: PathBuf,
    /// A text in UTF-8
    #[arg(long)]
    text: PathBuf,
    /// Tokens in a window, one length or several with commas between
    #[arg(long, required = true, value_delimiter = ',', value_parser = count::<1_048_576>)]
    length: Vec<usize>,
    /// How the text is cut into windows
    #[arg(long, value_enum, default_value = "non-overlapping")]
    protocol: ProtocolName,
    /// Tokens from the start of a sliding window to the start of the next, at most the shortest length
    #[arg(long, value_parser = count::<1_048_576>)]
    stride: Option<usize>,
    #[command(flatten)]
    run: RunArguments,
    /// Also tell what each kernel of the GPU engine takes, at every length
    #[arg(long)]
    profile: bool,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum ProtocolName {
    /// One window after another
    NonOverlapping,
    /// Each begins a stride after the one before (--stride)
    Sliding,
}

#[derive(Serialize)]
struct Report {
    encoding: Encoding,
    trained_length: usize,
    /// What attention sees, where not all before the query.
    window: Option<Window>,
    /// What was changed at inference, as in `--change`.
    changes: String,
    protocol: Protocol,
    /// What the measurement computes.
    cost: Cost,
    engine: Verdict,
    /// Tokens of the whole text.
    text_tokens: usize,
    /// Characters that the vocabulary has no token for.
    dropped_characters: usize,
    points: Vec<Measured>,
    undefined: Vec<Undefined>,
    /// What each kernel took, where that was asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    profile: Vec<Profiled>,
}

/// What the kernels took over one batch.
#[derive(Serialize)]
struct Profiled {
    windows: usize,
    length: usize,
    #[serde(flatten)]
    timings: Timings,
}

#[derive(Serialize)]
struct Measured {
    #[serde(flatten)]
    point: Point,
    /// Mean loss by position in the window, in nats, `[length]`.
    by_position: Vec<f64>,
}

impl Arguments {
    fn protocol(&self) -> Result<Protocol> {
        match (self.protocol, self.stride) {
            (ProtocolName::NonOverlapping, None) => Ok(Protocol::NonOverlapping),
            (ProtocolName::Sliding, Some(stride)) => Ok(Protocol::Sliding { stride }),
            (ProtocolName::NonOverlapping, Some(_)) => {
                bail!("--stride is for windows that slide; give --protocol sliding too, or leave it out")
            }
            (ProtocolName::Sliding, None) => {
                bail!("windows slide by a stride; give --stride, as --stride 16")
            }
        }
    }
}

/// # Errors
/// Files that cannot be read or do not belong together, a text too short, an engine that fails.
pub fn run(arguments: &Arguments) -> Result<()> {
    let checkpoint = files::checkpoint(&arguments.checkpoint)?;
    let text = Text::read(
        &arguments.text,
        (&arguments.checkpoint, &checkpoint),
        &arguments.run,
    )?;
    let protocol = arguments.protocol()?;
    let plan = text.plan(&arguments.length, protocol, &arguments.run)?;
    let mut run = Run::start(&checkpoint, &arguments.run)?;
    let (curve, undefined) = run.measure(&plan, &text.tokens)?;
    let points: Vec<Measured> = curve
        .points()
        .into_iter()
        .map(|point| Measured {
            by_position: curve.by_position(point.length),
            point,
        })
        .collect();
    let profile = if arguments.profile {
        profiled(&mut run, &plan, &text, &points)?
    } else {
        Vec::new()
    };
    let report = Report {
        encoding: run.model.config().encoding.clone(),
        window: run.model.config().window,
        changes: run.changes.to_string(),
        protocol,
        cost: plan.cost(&checkpoint.config),
        trained_length: checkpoint.config.trained_length,
        engine: run.verdict,
        text_tokens: text.tokens.len(),
        dropped_characters: text.dropped,
        points,
        undefined,
        profile,
    };
    match arguments.format {
        Format::Json => files::write_json(&report),
        Format::Text => write_text(&report),
    }
}

/// Times the kernels on the first step of each length that was measured.
fn profiled(run: &mut Run, plan: &Plan, text: &Text, points: &[Measured]) -> Result<Vec<Profiled>> {
    let mut profile: Vec<Profiled> = Vec::new();
    for step in plan.steps() {
        let is_measured = points.iter().any(|measured| measured.point.length == step.length);
        if !is_measured || profile.iter().any(|profiled| profiled.length == step.length) {
            continue;
        }
        let batch = step.batch(&text.tokens)?;
        let Some(timings) = pollster::block_on(run.model.profile(&batch))? else {
            bail!("only the GPU engine's kernels are timed one by one; add --engine gpu");
        };
        profile.push(Profiled {
            windows: batch.windows(),
            length: batch.length(),
            timings,
        });
    }
    Ok(profile)
}

fn write_profile(out: &mut impl Write, profiled: &Profiled) -> Result<()> {
    let Profiled {
        windows,
        length,
        timings,
    } = profiled;
    let by = if timings.by_timestamps {
        "by the GPU's timestamps"
    } else {
        "by the clock, each submitted alone"
    };
    let total = timings.total_ms();
    writeln!(
        out,
        "\n{windows} × {length} tokens: {total:.2} ms in kernels, {by}"
    )?;
    for timing in &timings.kernels {
        writeln!(
            out,
            "{:>6.1} % {:>10.3} ms  {} ({} times)",
            100.0 * timing.ms / total.max(f64::MIN_POSITIVE),
            timing.ms,
            timing.kernel,
            timing.dispatches
        )?;
    }
    Ok(())
}

fn write_text(report: &Report) -> Result<()> {
    let mut out = files::output();
    writeln!(
        out,
        "{}, trained on windows of {} tokens. {}",
        report.encoding.title(),
        report.trained_length,
        report.engine.message
    )?;
    if report.dropped_characters > 0 {
        writeln!(
            out,
            "{} characters of the text have no token and were left out.",
            report.dropped_characters
        )?;
    }
    if !report.changes.is_empty() {
        writeln!(out, "Changed at inference: {}.", report.changes)?;
    }
    match report.protocol {
        Protocol::NonOverlapping => writeln!(out, "Windows that do not overlap.")?,
        Protocol::Sliding { stride } => writeln!(out, "Windows that slide by {stride} tokens.")?,
    }
    writeln!(
        out,
        "\n{:>8} {:>12} {:>14} {:>8}",
        "length", "perplexity", "standard error", "tokens"
    )?;
    for Measured { point, .. } in &report.points {
        let error = point
            .standard_error
            .map_or("-".into(), |error| format!("{error:.3}"));
        writeln!(
            out,
            "{:>8} {:>12.3} {error:>14} {:>8}",
            point.length, point.perplexity, point.tokens
        )?;
    }
    for Undefined { length, reason } in &report.undefined {
        writeln!(out, "{length:>8} undefined: {reason} (--past last)")?;
    }
    writeln!(out, "\nmean loss (nats a token) by position in the window")?;
    for Measured { point, by_position } in &report.points {
        write!(out, "{:>8} ", point.length)?;
        for (first, end) in octaves(point.length) {
            let mean = by_position[first..end].iter().sum::<f64>() / (end - first) as f64;
            write!(out, " {first}–{}: {mean:.3} ", end - 1)?;
        }
        writeln!(out)?;
    }
    for profiled in &report.profile {
        write_profile(&mut out, profiled)?;
    }
    Ok(out.flush()?)
}

/// `[0, 16)`, `[16, 32)`, `[32, 64)` …, up to `length`: where the context doubles.
fn octaves(length: usize) -> Vec<(usize, usize)> {
    let mut octaves = vec![(0, length.min(16))];
    while let Some(&(_, end)) = octaves.last().filter(|(_, end)| *end < length) {
        octaves.push((end, (2 * end).min(length)));
    }
    octaves
}

#[cfg(test)]
mod tests {
    #[test]
    fn octaves_cover_the_window() {
        assert_eq!(super::octaves(7), [(0, 7)]);
        assert_eq!(super::octaves(16), [(0, 16)]);
        assert_eq!(super::octaves(100), [(0, 16), (16, 32), (32, 64), (64, 100)]);
    }
}
