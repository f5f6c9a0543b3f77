use crate::encoding::count;
use crate::files;
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use longview::encoding::{Encoding, EncodingError, Learned, PastEnd};
use longview::engine::{Captures, Choice, Engine, EngineError, Model, Verdict};
use longview::experiment::{Curve, Plan, Point};
use longview::model::{Checkpoint, clean};
use serde::Serialize;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;

/// Measure perplexity over non-overlapping windows, at one length or many, on the same tokens
///
/// A window of T tokens makes T predictions, the t-th from t tokens; perplexity is weighted by token. The
/// standard error treats each 64 neighbouring tokens of the text as one sample.
#[derive(Args)]
#[command(after_help = "Examples:
  longview evaluate --checkpoint www/checkpoints/alibi.safetensors --text www/texts/persuasion.txt --length 128,512
  longview evaluate --checkpoint www/checkpoints/learned.safetensors --text www/texts/hamlet.txt \\
    --length 64,128,256 --past last --format json
  longview evaluate --checkpoint F.safetensors --text novel.txt --clean --length 128 --engine gpu")]
pub struct Arguments {
    /// A checkpoint that Longview's trainer wrote
    #[arg(long)]
    checkpoint: PathBuf,
    /// A text in UTF-8
    #[arg(long)]
    text: PathBuf,
    /// The checkpoint's tokenizer [default: tokenizer.json beside the checkpoint]
    #[arg(long)]
    tokenizer: Option<PathBuf>,
    /// Tokens in a window, one length or several with commas between
    #[arg(long, required = true, value_delimiter = ',', value_parser = count::<1_048_576>)]
    length: Vec<usize>,
    /// Score at most that many tokens, the same ones at every length (at least one window of each)
    #[arg(long, default_value = "65536", value_parser = count::<1_073_741_824>)]
    tokens: usize,
    /// Clean the text first as the training text was: paragraphs unwrapped, quotes and dashes to ASCII
    #[arg(long)]
    clean: bool,
    /// What a learned table gives past its end
    #[arg(long, value_enum, default_value = "undefined")]
    past: Past,
    /// What computes; `auto` takes a GPU where there is a real one that agrees with the CPU
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Past {
    /// Nothing: such lengths are reported as undefined
    Undefined,
    /// Its last row again
    Last,
}

#[derive(Clone, Copy, ValueEnum)]
enum EngineName {
    Auto,
    Cpu,
    Gpu,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Text,
    Json,
}

#[derive(Serialize)]
struct Report {
    encoding: Encoding,
    trained_length: usize,
    engine: Verdict,
    /// Tokens of the whole text.
    text_tokens: usize,
    /// Characters that the vocabulary has no token for.
    dropped_characters: usize,
    points: Vec<Measured>,
    undefined: Vec<Undefined>,
}

#[derive(Serialize)]
struct Measured {
    #[serde(flatten)]
    point: Point,
    /// Mean loss by position in the window, in nats, `[length]`.
    by_position: Vec<f64>,
}

#[derive(Serialize)]
struct Undefined {
    length: usize,
    reason: String,
}

/// # Errors
/// Files that cannot be read or do not belong together, a text too short, an engine that fails.
pub fn run(arguments: &Arguments) -> Result<()> {
    let checkpoint = files::checkpoint(&arguments.checkpoint)?;
    let tokenizer = files::tokenizer(arguments.tokenizer.as_deref(), &arguments.checkpoint)?;
    ensure!(
        tokenizer.vocabulary() == checkpoint.config.vocabulary,
        "the tokenizer has {} tokens and the checkpoint {}; give the tokenizer that belongs to it",
        tokenizer.vocabulary(),
        checkpoint.config.vocabulary
    );
    let mut text = files::text(&arguments.text)?;
    if arguments.clean {
        text = clean(&text);
    }
    let encoded = tokenizer.encode(&text);
    let plan = Plan::new(encoded.ids.len(), &arguments.length, arguments.tokens)
        .with_context(|| format!("{} at these lengths", arguments.text.display()))?;
    let (mut model, verdict) = pollster::block_on(start(arguments.engine, &checkpoint))?;
    if let (Encoding::Learned(_), Past::Last) = (&checkpoint.config.encoding, arguments.past) {
        model.set_encoding(Encoding::Learned(Learned {
            past_end: PastEnd::LastRow,
        }));
    }
    let (curve, undefined) = pollster::block_on(measure(&mut model, &plan, &encoded.ids))?;
    let points: Vec<Measured> = curve
        .points()
        .into_iter()
        .map(|point| Measured {
            by_position: curve.by_position(point.length),
            point,
        })
        .collect();
    if let (true, Some(first)) = (points.is_empty(), undefined.first()) {
        bail!("at {} tokens: {} (--past last)", first.length, first.reason);
    }
    let report = Report {
        encoding: model.config().encoding.clone(),
        trained_length: checkpoint.config.trained_length,
        engine: verdict,
        text_tokens: encoded.ids.len(),
        dropped_characters: encoded.dropped,
        points,
        undefined,
    };
    match arguments.format {
        Format::Json => files::write_json(&report),
        Format::Text => write_text(&report),
    }
}

/// The engine of choice with the model in it.
async fn start(name: EngineName, checkpoint: &Checkpoint) -> Result<(Model, Verdict)> {
    let choice = match name {
        EngineName::Auto => Choice::Auto,
        EngineName::Cpu => Choice::Cpu,
        EngineName::Gpu => Choice::Gpu,
    };
    let (engine, verdict) = Engine::start(choice).await;
    // Who asks for the GPU by name wants its numbers or none.
    ensure!(
        choice != Choice::Gpu || verdict.engine == "gpu",
        "{} Take --engine cpu, or auto",
        verdict.message
    );
    Ok((engine.load(&checkpoint.config, &checkpoint.weights)?, verdict))
}

/// Runs all steps of a plan. A length that the encoding does not define is left out and said.
async fn measure(model: &mut Model, plan: &Plan, tokens: &[u32]) -> Result<(Curve, Vec<Undefined>)> {
    let mut curve = Curve::default();
    let mut undefined: Vec<Undefined> = Vec::new();
    let count = plan.steps().count();
    let progress = std::io::stderr().is_terminal();
    for (index, step) in plan.steps().enumerate() {
        if undefined.iter().any(|skip| skip.length == step.length) {
            continue;
        }
        if progress {
            eprint!("\rstep {} of {count}, length {}   ", index + 1, step.length);
        }
        match model.forward(&step.batch(tokens)?, &Captures::default()).await {
            Ok(output) => curve.add(&step, &output.nll),
            Err(EngineError::Encoding(error @ EncodingError::Undefined { .. })) => {
                undefined.push(Undefined {
                    length: step.length,
                    reason: error.to_string(),
                });
            }
            Err(error) => return Err(error.into()),
        }
    }
    if progress {
        eprintln!();
    }
    Ok((curve, undefined))
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
