//! What perplexity hides: does a model use a passage that it has seen `gap` tokens before?
//!
//! A window holds a passage of natural text twice; the score is the loss on the second occurrence minus the
//! loss of the same tokens where the first occurrence is replaced by other text. The plain difference between
//! the two occurrences would not do: past the trained length it turns positive from damage by position alone.

use super::ExperimentError;
use crate::engine::{Batch, Thumbnails};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Tokens of the passage.
pub const PASSAGE: usize = 16;
/// Its first tokens are not scored: a reader cannot know yet that it comes again.
const SKIPPED: usize = 4;
/// Tokens before the first occurrence and after the second, in all.
const AROUND: usize = 8;

/// A probe at one gap: its windows, and what their losses add up to.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyProbe {
    gap: usize,
    /// Tokens before the first occurrence.
    lead: usize,
    /// T
    length: usize,
    windows: usize,
    /// By window done: the mean loss of the second occurrence, of its control, and of the first occurrence.
    losses: Vec<[f64; 3]>,
}

/// How much less a token costs that was there `gap` tokens before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyScore {
    /// From a token of the first occurrence to the same of the second.
    pub gap: usize,
    /// T of the windows: at a fixed gap a longer window hurts too.
    pub length: usize,
    pub windows: usize,
    /// `second − control` in nats a token; negative where the model copies.
    pub score: f64,
    /// Over windows.
    pub standard_error: f64,
    /// Mean loss of the first occurrence, of the second, and of the second's tokens without the first, in
    /// nats a token.
    pub first: f64,
    pub second: f64,
    pub control: f64,
}

/// The windows of one forward: with the passage twice, and with its first occurrence replaced.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyBatches {
    pub repeated: Batch,
    pub control: Batch,
}

impl CopyProbe {
    /// A probe of `windows` windows (2 at least, for an error). Where only the tokens around the passages
    /// would lead past `trained_length`, they are left out.
    ///
    /// # Errors
    /// Occurrences that would overlap.
    pub fn new(gap: usize, trained_length: usize, windows: usize) -> Result<Self, ExperimentError> {
        if gap < PASSAGE {
            return Err(ExperimentError::Overlap {
                gap,
                passage: PASSAGE,
            });
        }
        let bare = gap + PASSAGE;
        let around = if bare <= trained_length && trained_length < bare + AROUND {
            0
        } else {
            AROUND
        };
        Ok(Self {
            gap,
            lead: around,
            length: bare + around,
            windows: windows.max(2),
            losses: Vec::new(),
        })
    }

    /// Tokens in a window, T.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Tokens that a whole probe computes.
    pub fn tokens(&self) -> usize {
        2 * self.windows * self.length
    }

    /// How many windows are done, and of how many.
    pub fn progress(&self) -> (usize, usize) {
        (self.losses.len(), self.windows)
    }

    /// The next windows, at most `most` and at least one; `None` after the last. They lie evenly over the
    /// text, and a window's other passage is from the text half a round away: the same ones for every model.
    ///
    /// # Errors
    /// A text that is too short for windows that differ.
    pub fn next(&self, tokens: &[u32], most: usize) -> Result<Option<CopyBatches>, ExperimentError> {
        let need = self.length + 1 + self.windows;
        if tokens.len() < need {
            return Err(ExperimentError::TooShort {
                tokens: tokens.len(),
                longest: self.length,
                need,
            });
        }
        let windows = self.losses.len()..self.windows.min(self.losses.len() + most.max(1));
        if windows.is_empty() {
            return Ok(None);
        }
        let room = tokens.len() - self.length - 1;
        let start = |window: usize| window % self.windows * room / self.windows;
        let count = windows.len();
        let (mut repeated, mut control) = (Vec::new(), Vec::new());
        for window in windows {
            let mut text = tokens[start(window)..=start(window) + self.length].to_vec();
            text.copy_within(self.first(), self.second().start);
            repeated.extend_from_slice(&text);
            let other = start(window + self.windows / 2) + self.lead;
            text[self.first()].copy_from_slice(&tokens[other..other + PASSAGE]);
            control.extend_from_slice(&text);
        }
        let batch = |tokens| Batch::new(tokens, count, self.length);
        match (batch(repeated), batch(control)) {
            (Ok(repeated), Ok(control)) => Ok(Some(CopyBatches { repeated, control })),
            // Windows were cut to fit.
            _ => Ok(None),
        }
    }

    /// Adds the losses of the windows that [`next`](Self::next) gave, each `[windows][T]` in nats.
    pub fn add(&mut self, repeated: &[f32], control: &[f32]) {
        let windows = repeated
            .chunks_exact(self.length)
            .zip(control.chunks_exact(self.length));
        for (repeated, control) in windows {
            let mean = |losses: &[f32], passage: Range<usize>| {
                // The loss of a token stands at the place before it.
                let scored = &losses[passage.start + SKIPPED - 1..passage.end - 1];
                scored.iter().map(|&loss| f64::from(loss)).sum::<f64>() / scored.len() as f64
            };
            self.losses.push([
                mean(repeated, self.second()),
                mean(control, self.second()),
                mean(repeated, self.first()),
            ]);
        }
    }

    /// Of each window done, the mean losses that its score is made of; for [`resume`](Self::resume).
    pub fn losses(&self) -> &[[f64; 3]] {
        &self.losses
    }

    /// Goes on after windows that a probe of the same settings has done.
    pub fn resume(&mut self, losses: Vec<[f64; 3]>) {
        self.losses = losses;
    }

    /// The score so far; `None` while fewer than two windows are done.
    pub fn score(&self) -> Option<CopyScore> {
        let count = self.losses.len() as f64;
        if count < 2.0 {
            return None;
        }
        let mean = |of: &dyn Fn(&[f64; 3]) -> f64| self.losses.iter().map(of).sum::<f64>() / count;
        let difference = |[second, control, _]: &[f64; 3]| second - control;
        let score = mean(&difference);
        let variance = mean(&|losses| (difference(losses) - score).powi(2)) * count / (count - 1.0);
        Some(CopyScore {
            gap: self.gap,
            length: self.length,
            windows: self.losses.len(),
            score,
            standard_error: (variance / count).sqrt(),
            first: mean(&|losses| losses[2]),
            second: mean(&|losses| losses[0]),
            control: mean(&|losses| losses[1]),
        })
    }

    /// What each head gives to the token that is to be copied, `[layers][heads]`: the mean over the scored
    /// tokens of the second occurrence of the attention from the place that predicts the token to the same
    /// token of the first occurrence. `attention` is that of a window of [`next`](Self::next), one cell a
    /// token; `None` where it is pooled.
    pub fn attention_on_copied(&self, attention: &Thumbnails) -> Option<Vec<f32>> {
        let side = attention.side;
        if side != self.length {
            return None;
        }
        let targets = self.second().skip(SKIPPED);
        let of_head = |head: &[f32]| {
            let sum: f32 = targets
                .clone()
                .map(|token| head[(token - 1) * side + token - self.gap])
                .sum();
            sum / (PASSAGE - SKIPPED) as f32
        };
        Some(attention.data.chunks_exact(side * side).map(of_head).collect())
    }

    fn first(&self) -> Range<usize> {
        self.lead..self.lead + PASSAGE
    }

    fn second(&self) -> Range<usize> {
        self.lead + self.gap..self.lead + self.gap + PASSAGE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Losses of a model that knows a token if it stood `gap` tokens before: 1 then, else 3.
    fn copier(batch: &Batch, gap: usize) -> Vec<f32> {
        let mut losses = Vec::new();
        for window in 0..batch.windows() {
            let (sources, targets) = (batch.sources(window), batch.targets(window));
            for (place, &target) in targets.iter().enumerate() {
                let is_known = (place + 1)
                    .checked_sub(gap)
                    .is_some_and(|at| sources[at] == target);
                losses.push(if is_known { 1.0 } else { 3.0 });
            }
        }
        losses
    }

    fn run(probe_gap: usize, model_gap: usize) -> CopyScore {
        // All tokens differ.
        let text: Vec<u32> = (0..5000).collect();
        let mut probe = CopyProbe::new(probe_gap, 128, 10).unwrap();
        let mut forwards = 0;
        while let Some(CopyBatches { repeated, control }) = probe.next(&text, 4).unwrap() {
            assert_eq!(repeated.length(), probe.length());
            probe.add(&copier(&repeated, model_gap), &copier(&control, model_gap));
            forwards += 1;
        }
        assert_eq!((forwards, probe.progress()), (3, (10, 10)));
        probe.score().unwrap()
    }

    #[test]
    fn a_model_that_copies_is_told_from_one_that_does_not() {
        for gap in [16, 64, 112, 256] {
            let score = run(gap, gap);
            assert_eq!(
                (score.score, score.second, score.control, score.first),
                (-2.0, 1.0, 3.0, 3.0)
            );
            assert_eq!(score.standard_error, 0.0);
            assert_eq!(run(gap, gap + 1).score, 0.0);
        }
    }

    #[test]
    fn what_is_around_is_left_out_where_it_alone_would_pass_the_trained_length() {
        let length = |gap| CopyProbe::new(gap, 128, 8).unwrap().length();
        assert_eq!(
            [length(16), length(104), length(112), length(113)],
            [40, 128, 128, 137]
        );
    }

    #[test]
    fn windows_differ_and_only_the_first_passage_is_replaced() {
        let text: Vec<u32> = (0..5000).collect();
        let probe = CopyProbe::new(32, 128, 8).unwrap();
        let CopyBatches { repeated, control } = probe.next(&text, 8).unwrap().unwrap();
        for window in 0..8 {
            let pairs = repeated.sources(window).iter().zip(control.sources(window));
            let differ: Vec<usize> = pairs
                .enumerate()
                .filter(|(_, (a, b))| a != b)
                .map(|(at, _)| at)
                .collect();
            assert_eq!(differ, (AROUND..AROUND + PASSAGE).collect::<Vec<_>>());
            assert_eq!(repeated.sources(window)[8..24], repeated.sources(window)[40..56]);
            assert!(window == 0 || repeated.sources(window)[0] > repeated.sources(window - 1)[0]);
        }
    }

    #[test]
    fn the_attention_on_the_copied_token_is_read_at_its_cell() {
        let probe = CopyProbe::new(20, 128, 2).unwrap();
        let side = probe.length();
        let mut data = vec![0.0; 2 * side * side];
        // The second head looks from the place before each token of the second occurrence to the first's.
        for token in 28..44 {
            data[side * side + (token - 1) * side + token - 20] = 0.5;
        }
        let mut thumbnails = Thumbnails {
            layers: 1,
            heads: 2,
            side,
            data,
        };
        assert_eq!(probe.attention_on_copied(&thumbnails), Some(vec![0.0, 0.5]));
        thumbnails.side -= 1;
        assert_eq!(probe.attention_on_copied(&thumbnails), None);
    }

    #[test]
    fn what_cannot_be_probed_is_said() {
        let message = CopyProbe::new(15, 128, 8).unwrap_err().to_string();
        assert!(message.contains("15") && message.contains("16"), "{message}");
        let probe = CopyProbe::new(16, 128, 8).unwrap();
        assert!(probe.next(&[0; 48], 8).is_err());
        assert!(probe.next(&[0; 49], 8).is_ok());
    }
}
