use crate::files::{self, Format};
use anyhow::Result;
use clap::Args;
use longview::model::Checkpoint;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// Show what a checkpoint holds: its configuration, tensors, and how it was trained
#[derive(Args)]
#[command(after_help = "Examples:
  longview inspect www/checkpoints/alibi.safetensors
  longview inspect www/checkpoints/rotary.safetensors --format json")]
pub struct Arguments {
    /// A checkpoint that Longview's trainer wrote
    checkpoint: PathBuf,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Serialize)]
struct Report<'a> {
    size_bytes: u64,
    parameters: usize,
    config: &'a longview::model::Config,
    tensors: Vec<Row<'a>>,
    record: &'a serde_json::Value,
}

/// One tensor.
#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    shape: &'a [usize],
    /// Root of the mean square.
    rms: f64,
    largest: f32,
}

fn report(checkpoint: &Checkpoint, size_bytes: u64) -> Report<'_> {
    let tensors = checkpoint.weights.iter().map(|(name, tensor)| {
        let squares: f64 = tensor.data.iter().map(|&value| f64::from(value).powi(2)).sum();
        Row {
            name,
            shape: &tensor.shape,
            rms: (squares / tensor.data.len().max(1) as f64).sqrt(),
            largest: tensor.data.iter().fold(0.0, |most, value| most.max(value.abs())),
        }
    });
    Report {
        size_bytes,
        parameters: checkpoint.weights.values().map(|tensor| tensor.data.len()).sum(),
        config: &checkpoint.config,
        tensors: tensors.collect(),
        record: &checkpoint.record,
    }
}

/// # Errors
/// A file that is no checkpoint.
pub fn run(arguments: &Arguments) -> Result<()> {
    let checkpoint = files::checkpoint(&arguments.checkpoint)?;
    let report = report(&checkpoint, std::fs::metadata(&arguments.checkpoint)?.len());
    if matches!(arguments.format, Format::Json) {
        return files::write_json(&report);
    }
    let config = &checkpoint.config;
    let mut out = files::output();
    writeln!(
        out,
        "{}: {}, trained on windows of {} tokens",
        arguments.checkpoint.display(),
        config.encoding.title(),
        config.trained_length
    )?;
    writeln!(
        out,
        "{} layers, {} heads of {}, d_model {}, d_ff {}, {} tokens in the vocabulary",
        config.layers,
        config.heads,
        config.d_head(),
        config.d_model,
        config.d_ff,
        config.vocabulary
    )?;
    writeln!(
        out,
        "{} parameters, {} bytes\n",
        report.parameters, report.size_bytes
    )?;
    writeln!(out, "configuration {}\n", serde_json::to_string_pretty(config)?)?;
    writeln!(
        out,
        "{:<32} {:>12} {:>9} {:>9}",
        "tensor", "shape", "rms", "largest"
    )?;
    for row in &report.tensors {
        let shape: Vec<String> = row.shape.iter().map(ToString::to_string).collect();
        let shape = shape.join(" × ");
        writeln!(
            out,
            "{:<32} {shape:>12} {:>9.4} {:>9.4}",
            row.name, row.rms, row.largest
        )?;
    }
    writeln!(
        out,
        "\nrecord {}",
        serde_json::to_string_pretty(&checkpoint.record)?
    )?;
    Ok(out.flush()?)
}
