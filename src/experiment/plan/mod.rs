use super::Protocol;
use crate::engine::{Batch, EngineError};
use crate::model::{Config, Operations};
use serde::{Deserialize, Serialize};
use std::iter::Sum;
use thiserror::Error;

/// Tokens that a step computes at most (a longer window is a step of its own, or as many as the engine computes
/// [together](Plan::together)): short enough that a reader can cancel between two steps.
pub const STEP_TOKENS: usize = 4096;

/// The order in which perplexity is measured.
///
/// Every length scores the same predictions, the first N of the text, each once. At the length T windows
/// begin every T tokens (non-overlapping) or every S (sliding); each makes T predictions (the target is the
/// token after), the last one fewer where the text ends. The first window scores all of its predictions,
/// every later one those that no window before it has scored.
///
/// It goes in rounds, each of which takes the next block of the text at every length: a window belongs to
/// the block in which its scored part begins. So a first point shows after few steps, and all points grow
/// more exact together. Where windows do not overlap, a block is a common multiple of the lengths, so that
/// after each round the lengths have scored the same tokens; where they overlap, or the lengths have no
/// common multiple in the text, it is as long as the longest window, and they agree at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    lengths: Vec<usize>,
    protocol: Protocol,
    block: usize,
    scored: usize,
    /// How many windows a step may have however long they are.
    together: usize,
}

/// One piece of work: `windows` windows, of which the first begins at token `start` of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub round: usize,
    /// T, the length that is measured.
    pub length: usize,
    pub start: usize,
    pub windows: usize,
    /// Tokens in each window: T, or fewer where the text ends.
    pub window: usize,
    /// Tokens from the start of a window to the start of the next.
    pub stride: usize,
    /// How many predictions at the end of each window are scored.
    pub counted: usize,
}

/// What a plan or a step computes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub operations: Operations,
    /// Tokens that run through the model; with windows that overlap more than are scored.
    pub tokens: usize,
}

impl Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), |sum, cost| Self {
            operations: sum.operations + cost.operations,
            tokens: sum.tokens + cost.tokens,
        })
    }
}

/// Why nothing can be measured.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ExperimentError {
    #[error(
        "the text has {tokens} tokens, and lengths up to {longest} need {need}; give a longer text, or stay below"
    )]
    TooShort {
        tokens: usize,
        longest: usize,
        need: usize,
    },
    #[error("there is no length to measure at; give at least one, each from 1 up")]
    NoLength,
    #[error("two passages of {passage} tokens overlap at a gap of {gap}; choose a gap of {passage} at least")]
    Overlap { gap: usize, passage: usize },
    #[error("windows cannot slide by 0 tokens; give a stride of at least 1")]
    NoStride,
    #[error(
        "windows of {length} tokens that slide by {stride} would leave tokens out; give a stride of at most {length}, or longer windows"
    )]
    Stride { length: usize, stride: usize },
}

/// A block has so many tokens at least: shorter ones would make steps of few windows.
const BLOCK_MIN: usize = 1024;

fn common_multiple(a: usize, b: usize) -> Option<usize> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b)
}

/// Whether windows of these lengths can be cut by a protocol.
fn check(lengths: &[usize], protocol: Protocol) -> Result<(), ExperimentError> {
    if lengths.contains(&0) {
        return Err(ExperimentError::NoLength);
    }
    let Protocol::Sliding { stride } = protocol else {
        return Ok(());
    };
    if stride == 0 {
        return Err(ExperimentError::NoStride);
    }
    match lengths.iter().find(|&&length| length < stride) {
        Some(&length) => Err(ExperimentError::Stride { length, stride }),
        None => Ok(()),
    }
}

impl Plan {
    /// A plan for a text of `tokens` tokens, of windows that do not overlap; at most `scored_max` of the
    /// tokens are scored (but one longest window at least).
    ///
    /// # Errors
    /// No length, or a text too short for the longest.
    pub fn new(tokens: usize, lengths: &[usize], scored_max: usize) -> Result<Self, ExperimentError> {
        Self::with(tokens, lengths, scored_max, Protocol::NonOverlapping)
    }

    /// As [`new`](Self::new), by a protocol of choice.
    ///
    /// # Errors
    /// Also a stride of 0, or one that is greater than a length.
    pub fn with(
        tokens: usize,
        lengths: &[usize],
        scored_max: usize,
        protocol: Protocol,
    ) -> Result<Self, ExperimentError> {
        let longest = lengths.iter().copied().max().ok_or(ExperimentError::NoLength)?;
        check(lengths, protocol)?;
        // The last token is only ever a target.
        if tokens < longest + 1 {
            return Err(ExperimentError::TooShort {
                tokens,
                longest,
                need: longest + 1,
            });
        }
        let most = (tokens - 1).min(scored_max.max(longest));
        let multiple = lengths
            .iter()
            .try_fold(1, |multiple, &length| common_multiple(multiple, length))
            .filter(|&multiple| multiple <= most && protocol == Protocol::NonOverlapping);
        // A length given twice would count its tokens twice.
        let mut distinct: Vec<usize> = Vec::new();
        for &length in lengths {
            if !distinct.contains(&length) {
                distinct.push(length);
            }
        }
        Ok(Self {
            lengths: distinct,
            protocol,
            block: multiple.map_or(longest.max(BLOCK_MIN), |multiple| {
                BLOCK_MIN.div_ceil(multiple) * multiple
            }),
            scored: multiple.map_or(most, |multiple| most / multiple * multiple),
            together: 1,
        })
    }

    /// One length in one round, so that its steps are as large as they may be: exactly the first `scored`
    /// predictions, whatever the length, so that plans of several lengths score the same ones.
    ///
    /// # Errors
    /// No length, or a stride of 0 or one that is greater than the length.
    pub fn whole(length: usize, scored: usize, protocol: Protocol) -> Result<Self, ExperimentError> {
        check(&[length], protocol)?;
        Ok(Self {
            lengths: vec![length],
            protocol,
            block: scored.max(1),
            scored,
            together: 1,
        })
    }

    /// The same for an engine that computes so many windows side by side: blocks are long enough for steps of
    /// that many of the longest.
    pub fn together(mut self, windows: usize) -> Self {
        self.together = windows.max(1);
        let longest = self.lengths.iter().copied().max().unwrap_or(1);
        let blocks = (self.together * longest).div_ceil(self.block);
        self.block *= blocks.min(self.scored.div_ceil(self.block)).max(1);
        self
    }

    /// The powers of two from `shortest` to `longest` that a text of `tokens` tokens can fill.
    pub fn lengths(shortest: usize, longest: usize, tokens: usize) -> Vec<usize> {
        let powers = std::iter::successors(Some(shortest.max(1).next_power_of_two()), |length| {
            length.checked_mul(2)
        });
        powers
            .take_while(|&length| length <= longest && length < tokens)
            .collect()
    }

    /// Tokens that a whole run scores at every length.
    pub fn scored(&self) -> usize {
        self.scored
    }

    /// What all steps compute with a model of this configuration.
    pub fn cost(&self, config: &Config) -> Cost {
        self.steps().map(|step| step.cost(config)).sum()
    }

    /// All steps, in order: round by round, in a round length by length as they were given.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        (0..self.scored.div_ceil(self.block)).flat_map(move |round| {
            self.lengths
                .iter()
                .flat_map(move |&length| self.steps_of(round, length))
        })
    }

    /// The steps of a round at a length. Windows go together that are of one size and score as much: the
    /// first of a sliding plan and one that the text cuts short are steps of their own.
    fn steps_of(&self, round: usize, length: usize) -> Vec<Step> {
        let stride = self.protocol.stride(length);
        let end = ((round + 1) * self.block).min(self.scored);
        let mut steps: Vec<Step> = Vec::new();
        // The first window scores from 0 on, the next from T, those after it from T + S, T + 2S …
        let begin = round * self.block;
        let mut scored = match begin {
            0 => 0,
            _ => length + begin.saturating_sub(length).div_ceil(stride) * stride,
        };
        while scored < end {
            let start = if scored == 0 { 0 } else { scored + stride - length };
            let stop = (start + length).min(self.scored);
            let (window, counted) = (stop - start, stop - scored);
            match steps.last_mut() {
                Some(step)
                    if (step.window, step.counted) == (window, counted)
                        && (step.windows < self.together || (step.windows + 1) * window <= STEP_TOKENS) =>
                {
                    step.windows += 1;
                }
                _ => steps.push(Step {
                    round,
                    length,
                    start,
                    windows: 1,
                    window,
                    stride,
                    counted,
                }),
            }
            scored = stop;
        }
        steps
    }
}

impl Step {
    /// Windows one after another, all of whose predictions are scored.
    pub fn whole(start: usize, length: usize, windows: usize) -> Self {
        Self {
            round: 0,
            length,
            start,
            windows,
            window: length,
            stride: length,
            counted: length,
        }
    }

    /// Tokens that are computed.
    pub fn tokens(&self) -> usize {
        self.windows * self.window
    }

    /// What it computes with a model of this configuration.
    pub fn cost(&self, config: &Config) -> Cost {
        Cost {
            operations: config.operations(self.windows, self.window),
            tokens: self.tokens(),
        }
    }

    /// The windows of this step, cut from the text that the plan was made for.
    ///
    /// # Errors
    /// A text that is shorter than that one.
    pub fn batch(&self, tokens: &[u32]) -> Result<Batch, EngineError> {
        let windows = (0..self.windows).filter_map(|window| {
            let start = self.start + window * self.stride;
            tokens.get(start..=start + self.window)
        });
        let batch = Batch::new(windows.flatten().copied().collect(), self.windows, self.window)?;
        Ok(batch.scoring(self.counted))
    }

    /// The scored losses of `nll`, `[windows][window]`: each with the place of its prediction in the text
    /// (the target is the token after), its position in the window, and the loss.
    pub fn scored<'a>(&self, nll: &'a [f32]) -> impl Iterator<Item = (usize, usize, f32)> + use<'a> {
        let Self {
            start,
            window,
            stride,
            counted,
            ..
        } = *self;
        let rows = nll.chunks_exact(window).enumerate();
        rows.flat_map(move |(row, losses)| {
            let losses = losses.iter().enumerate().skip(window - counted);
            losses.map(move |(position, &loss)| (start + row * stride + position, position, loss))
        })
    }
}

#[cfg(test)]
mod tests;
