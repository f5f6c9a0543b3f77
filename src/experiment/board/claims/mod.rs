//! One file a claim, or a family of claims: its source and the source's figures, what is measured, and the
//! rule that makes a verdict of the numbers. The words stand in the page's files, under `board.claims`.

mod copying;
mod curse;
mod extrapolation;
mod heads;
mod learned;
mod longer_training;
mod masking;
mod newcomers;
mod other_text;
mod paper;
mod rescue;
mod scale;
mod sliding;
mod speed;
mod trained_slopes;

use super::estimate::encoding_of;
use super::finding::{Cell, CurvePoint, Finding, Series, Table};
use super::results::Results;
use super::statistics::{Estimate, Losses};
use super::task::{Kind, Task};
use crate::experiment::Protocol;
use serde::{Deserialize, Serialize};

/// What is measured, and how exactly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// The text of most claims.
    pub text: String,
    /// Whether there is a text of the reader's, named `own`, beside it.
    pub own: bool,
    /// A quarter of the tokens and fewer lengths.
    pub quick: bool,
    /// What computes, by its [name](super::engine_name); whoever has the engine says so.
    #[serde(skip_deserializing)]
    pub engine: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            text: "persuasion".into(),
            own: false,
            quick: false,
            engine: "cpu".into(),
        }
    }
}

/// Where a claim is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    pub url: &'static str,
    /// Within the source; the same in every language.
    pub place: &'static str,
}

/// A claim.
pub trait Claim: Sync {
    /// Its name in addresses, files of words and results.
    fn id(&self) -> &'static str;

    /// Its number in the list of claims; some are measured in two ways.
    fn number(&self) -> u8;

    fn source(&self) -> Source;

    /// The source's own figures, where it has some of this kind.
    fn paper(&self) -> Table {
        Table::default()
    }

    /// What is measured, in this order.
    fn tasks(&self, options: &Options) -> Vec<Task>;

    /// What the numbers say, as far as they are there.
    fn finding(&self, options: &Options, results: &Results) -> Finding;
}

/// All claims, in the order in which they are told.
pub const CLAIMS: &[&dyn Claim] = &[
    &learned::Learned,
    &extrapolation::SINUSOIDAL,
    &extrapolation::ROTARY,
    &extrapolation::T5_BIAS,
    &extrapolation::ALIBI,
    &longer_training::LongerTraining,
    &curse::Curse,
    &sliding::Sliding,
    &masking::Masking,
    &trained_slopes::TrainedSlopes,
    &speed::Speed,
    &other_text::OtherText,
    &scale::Scale,
    &heads::Heads,
    &copying::Copying,
    &rescue::Rescue,
    &newcomers::Newcomers,
];

/// The claim of a name.
pub fn claim(id: &str) -> Option<&'static dyn Claim> {
    CLAIMS.iter().copied().find(|claim| claim.id() == id)
}

/// The ALiBi paper.
const ALIBI_PAPER: &str = "https://arxiv.org/abs/2108.12409";

/// The trained length L of the base models.
const TRAINED: usize = 128;

/// The encodings of the base models, in the order of the article.
const ENCODINGS: [&str; 6] = ["learned", "sinusoidal", "rotary", "t5_bias", "alibi", "none"];

/// The same, but first the one that most verdicts hang on.
const ALIBI_FIRST: [&str; 6] = ["alibi", "learned", "sinusoidal", "rotary", "t5_bias", "none"];

/// Predictions scored at each length.
fn scored(options: &Options) -> usize {
    if options.quick { 4096 } else { 16_384 }
}

/// Those of `lengths` that are measured.
fn lengths<'a>(options: &Options, all: &'a [usize], quick: &'a [usize]) -> &'a [usize] {
    if options.quick { quick } else { all }
}

/// The perplexity of a variant in windows of `length` tokens that do not overlap.
fn losses(variant: impl Into<String>, options: &Options, length: usize) -> Task {
    losses_on(variant, &options.text, options, length)
}

fn losses_on(variant: impl Into<String>, text: &str, options: &Options, length: usize) -> Task {
    Task {
        variant: variant.into(),
        kind: Kind::Losses {
            text: text.into(),
            protocol: Protocol::NonOverlapping,
            length,
            tokens: scored(options),
        },
    }
}

/// A measurement on the first `most` predictions at most: where the error that leaves is still small beside
/// what the claim's rule looks for.
fn on_first(most: usize, mut task: Task) -> Task {
    if let Kind::Losses { tokens, .. } = &mut task.kind {
        *tokens = most.min(*tokens);
    }
    task
}

/// Windows that slide by [`STRIDE`]. As every prediction has a long context the text's ups and downs cancel
/// well: the perplexity of ALiBi at 2 L over that at L has an error of 0.1 %.
fn losses_sliding(encoding: &str, options: &Options, length: usize) -> Task {
    Task {
        variant: defined_at(encoding, length),
        kind: Kind::Losses {
            text: options.text.clone(),
            protocol: Protocol::Sliding { stride: STRIDE },
            length,
            tokens: if options.quick { 1024 } else { 2048 },
        },
    }
}

/// The stride of windows that slide.
const STRIDE: usize = 16;

/// A base model by its encoding that can be measured at a length: past its end a learned table repeats its
/// last row.
fn defined_at(encoding: &str, length: usize) -> String {
    if encoding == "learned" && length > TRAINED {
        "learned?past=last".into()
    } else {
        encoding.into()
    }
}

/// A curve by tasks, as far as they are measured.
fn curve<'a>(results: &'a Results, tasks: &[Task]) -> Vec<(usize, &'a Losses)> {
    let measured = tasks.iter();
    measured
        .filter_map(|task| Some((task.length(), results.losses(task)?)))
        .collect()
}

/// The same as a figure draws it.
fn series(name: &str, curve: &[(usize, &Losses)]) -> Series {
    let points = curve.iter().filter_map(|(length, losses)| {
        let Estimate { value, error } = losses.perplexity()?;
        Some(CurvePoint {
            length: *length,
            perplexity: value,
            standard_error: error,
            tokens: losses.tokens(),
        })
    });
    Series {
        name: name.into(),
        encoding: encoding_of(name).into(),
        points: points.collect(),
    }
}

/// The perplexity of a task.
fn perplexity(results: &Results, task: &Task) -> Option<Estimate> {
    results.losses(task)?.perplexity()
}

/// The perplexity of one task over that of another, paired.
fn ratio(results: &Results, task: &Task, base: &Task) -> Option<Estimate> {
    results.losses(task)?.ratio(results.losses(base)?)
}

/// `T = 64` and so on: columns that need no words.
fn length_columns(first: &[&str], lengths: &[usize]) -> Table {
    let mut table = Table::new(first);
    table
        .columns
        .extend(lengths.iter().map(|length| format!("T = {length}")));
    table
}

/// A row of a variant's perplexity at each of the tasks.
fn row(first: impl Into<Cell>, results: &Results, tasks: &[Task]) -> Vec<Cell> {
    let mut row = vec![first.into()];
    row.extend(tasks.iter().map(|task| Cell::from(perplexity(results, task))));
    row
}

#[cfg(test)]
mod tests;
