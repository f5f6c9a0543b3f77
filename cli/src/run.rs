//! A model that runs on a text, for `evaluate` and `figure`.

use crate::encoding::count;
use crate::files;
use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use longview::encoding::{Encoding, EncodingError, PastEnd};
use longview::engine::{Batch, Captures, Choice, Engine, EngineError, Model, Output, Verdict};
use longview::experiment::{Changes, Curve, Plan, Protocol};
use longview::model::{Checkpoint, clean};
use serde::Serialize;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// How a model runs.
#[derive(Args)]
pub struct RunArguments {
    /// The checkpoint's tokenizer [default: tokenizer.json beside the checkpoint]
    #[arg(long)]
    tokenizer: Option<PathBuf>,
    /// Score at most that many tokens, the same ones at every length (at least one window of each)
    #[arg(long, default_value = "65536", value_parser = count::<1_073_741_824>)]
    pub tokens: usize,
    /// Clean the text first as the training text was: paragraphs unwrapped, quotes and dashes to ASCII
    #[arg(long)]
    clean: bool,
    /// Change the model without training it again; may be repeated, and `&` stands between several in one:
    /// window=W with sinks=N (any encoding); scaling=pi|ntk|dynamic_ntk|by_parts|yarn|llama3 with factor=S,
    /// beta_fast=B and beta_slow=B; log_n=1; rerope=W; self_extend=W,G (rotary); past=last|random (learned)
    #[arg(long, value_name = "KEY=VALUE")]
    change: Vec<String>,
    /// What a learned table gives past its end
    #[arg(long, value_enum, default_value = "undefined")]
    past: Past,
    /// What computes; `auto` takes a GPU where there is a real one that agrees with the CPU
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
}

#[derive(Clone, Copy, ValueEnum)]
enum Past {
    /// Nothing: such lengths are reported as undefined
    Undefined,
    /// Its last row again
    Last,
    /// Random rows, as an untrained table has
    Random,
}

/// What computes.
#[derive(Clone, Copy, ValueEnum)]
pub enum EngineName {
    Auto,
    Cpu,
    Gpu,
}

impl EngineName {
    /// Starts it, and says what runs.
    ///
    /// # Errors
    /// A GPU that was asked for by name and is not there.
    pub fn start(self) -> Result<(Engine, Verdict)> {
        let choice = match self {
            Self::Auto => Choice::Auto,
            Self::Cpu => Choice::Cpu,
            Self::Gpu => Choice::Gpu,
        };
        let (engine, verdict) = pollster::block_on(Engine::start(choice));
        // Who asks for the GPU by name wants its numbers or none.
        ensure!(
            choice != Choice::Gpu || verdict.engine == "gpu",
            "{} Take --engine cpu, or auto",
            verdict.message
        );
        Ok((engine, verdict))
    }
}

/// A length that the encoding has no value for.
#[derive(Serialize)]
pub struct Undefined {
    pub length: usize,
    pub reason: String,
}

/// A text in tokens.
pub struct Text {
    path: PathBuf,
    pub tokens: Vec<u32>,
    /// Characters that the vocabulary has no token for.
    pub dropped: usize,
}

impl Text {
    /// Reads a text with the tokenizer that belongs to a checkpoint.
    ///
    /// # Errors
    /// Files that cannot be read or do not belong together.
    pub fn read(path: &Path, checkpoint: (&Path, &Checkpoint), arguments: &RunArguments) -> Result<Self> {
        let (checkpoint_path, checkpoint) = checkpoint;
        let tokenizer = files::tokenizer(arguments.tokenizer.as_deref(), checkpoint_path)?;
        ensure!(
            tokenizer.vocabulary() == checkpoint.config.vocabulary,
            "the tokenizer has {} tokens and the checkpoint {}; give the tokenizer that belongs to it",
            tokenizer.vocabulary(),
            checkpoint.config.vocabulary
        );
        let mut text = files::text(path)?;
        if arguments.clean {
            text = clean(&text);
        }
        let encoded = tokenizer.encode(&text);
        Ok(Self {
            path: path.into(),
            tokens: encoded.ids,
            dropped: encoded.dropped,
        })
    }

    /// The plan that measures at these lengths.
    ///
    /// # Errors
    /// A text that is too short, or a stride that does not go with the lengths.
    pub fn plan(&self, lengths: &[usize], protocol: Protocol, arguments: &RunArguments) -> Result<Plan> {
        Plan::with(self.tokens.len(), lengths, arguments.tokens, protocol)
            .with_context(|| format!("{} at these lengths", self.path.display()))
    }

    /// The text's first window of `length` tokens.
    ///
    /// # Errors
    /// A text that is too short.
    pub fn window(&self, length: usize) -> Result<Batch> {
        // The last one is only ever a target.
        let Some(window) = self.tokens.get(..=length) else {
            bail!(
                "{} has {} tokens, a window of {length} needs {length} + 1; choose a shorter --length or a longer text",
                self.path.display(),
                self.tokens.len()
            );
        };
        Ok(Batch::new(window.to_vec(), 1, length)?)
    }
}

/// A model in an engine.
pub struct Run {
    pub model: Model,
    /// What was changed of it at inference.
    pub changes: Changes,
    pub verdict: Verdict,
}

impl Run {
    /// The engine of choice with the model in it.
    ///
    /// # Errors
    /// A GPU that was asked for by name and is not there, or an engine that fails.
    pub fn start(checkpoint: &Checkpoint, arguments: &RunArguments) -> Result<Self> {
        let (engine, verdict) = arguments.engine.start()?;
        let mut changes: Changes = arguments.change.join("&").parse().context("--change")?;
        if let Encoding::Learned(_) = checkpoint.config.encoding
            && changes.past == PastEnd::Undefined
        {
            changes.past = match arguments.past {
                Past::Undefined => PastEnd::Undefined,
                Past::Last => PastEnd::LastRow,
                Past::Random => PastEnd::Random,
            };
        }
        let mut config = checkpoint.config.clone();
        changes.apply(&mut config).context("--change")?;
        let model = engine.load(&config, &checkpoint.weights)?;
        Ok(Self {
            model,
            changes,
            verdict,
        })
    }

    /// Runs all steps of a plan. A length that the encoding does not define is left out and said.
    ///
    /// # Errors
    /// An engine that fails, or an encoding that defines none of the lengths.
    pub fn measure(&mut self, plan: &Plan, tokens: &[u32]) -> Result<(Curve, Vec<Undefined>)> {
        let mut curve = Curve::keeping_tokens();
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
            match pollster::block_on(self.model.forward(&step.batch(tokens)?, &Captures::default())) {
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
        if let (true, Some(first)) = (curve.points().is_empty(), undefined.first()) {
            bail!("at {} tokens: {} (--past last)", first.length, first.reason);
        }
        Ok((curve, undefined))
    }

    /// Runs one window and keeps what is asked for.
    ///
    /// # Errors
    /// An engine that fails, or an encoding that does not define the length.
    pub fn capture(&mut self, window: &Batch, captures: &Captures) -> Result<Output> {
        pollster::block_on(self.model.forward(window, captures)).map_err(|error| match error {
            EngineError::Encoding(error @ EncodingError::Undefined { .. }) => {
                anyhow::anyhow!("at {} tokens: {error} (--past last)", window.length())
            }
            error => error.into(),
        })
    }
}
