use crate::engine::{Batch, EngineError};
use thiserror::Error;

/// Tokens that a step computes at most (a longer window is a step of its own): short enough that a reader
/// can cancel between two steps.
pub const STEP_TOKENS: usize = 4096;

/// The order in which perplexity is measured over non-overlapping windows.
///
/// A round scores one block of the text at every length: windows of T tokens follow each other without a
/// gap, each makes T predictions (the target is the token after), so every token of the block is scored
/// once and at every length the same ones. The next round takes the next block. So a first point shows
/// after one step, and all points grow more exact together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    lengths: Vec<usize>,
    block: usize,
    rounds: usize,
}

/// One piece of work: `windows` windows of `length` tokens from token `start` of the text on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    pub round: usize,
    pub length: usize,
    pub start: usize,
    pub windows: usize,
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
    #[error(
        "lengths that are to score the same tokens must have a common multiple of at most {most} tokens; {lengths:?} have not: choose powers of two"
    )]
    NoCommonBlock { lengths: Vec<usize>, most: usize },
}

/// The largest block, in tokens.
const BLOCK_MAX: usize = 1 << 24;

fn common_multiple(a: usize, b: usize) -> Option<usize> {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).checked_mul(b).filter(|&multiple| multiple <= BLOCK_MAX)
}

impl Plan {
    /// A plan for a text of `tokens` tokens; at most `scored_max` of them are scored (but one block at
    /// least).
    ///
    /// # Errors
    /// No length, lengths without a common multiple, or a text too short for one block.
    pub fn new(tokens: usize, lengths: &[usize], scored_max: usize) -> Result<Self, ExperimentError> {
        let longest = lengths.iter().copied().max().ok_or(ExperimentError::NoLength)?;
        if lengths.contains(&0) {
            return Err(ExperimentError::NoLength);
        }
        let block = lengths
            .iter()
            .try_fold(1, |multiple, &length| common_multiple(multiple, length))
            .ok_or_else(|| ExperimentError::NoCommonBlock {
                lengths: lengths.to_vec(),
                most: BLOCK_MAX,
            })?;
        // The last token is only ever a target.
        if tokens < block + 1 {
            return Err(ExperimentError::TooShort {
                tokens,
                longest,
                need: block + 1,
            });
        }
        let rounds = ((tokens - 1) / block).min((scored_max / block).max(1));
        // A length given twice would count its tokens twice.
        let mut distinct: Vec<usize> = Vec::new();
        for &length in lengths {
            if !distinct.contains(&length) {
                distinct.push(length);
            }
        }
        Ok(Self {
            lengths: distinct,
            block,
            rounds,
        })
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
        self.block * self.rounds
    }

    /// All steps, in order: round by round, in a round length by length as they were given.
    pub fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        (0..self.rounds).flat_map(move |round| {
            self.lengths.iter().flat_map(move |&length| {
                let most = (STEP_TOKENS / length).max(1);
                let windows = self.block / length;
                (0..windows).step_by(most).map(move |first| Step {
                    round,
                    length,
                    start: round * self.block + first * length,
                    windows: most.min(windows - first),
                })
            })
        })
    }
}

impl Step {
    /// The windows of this step, cut from the text that the plan was made for.
    ///
    /// # Errors
    /// A text that is shorter than that one.
    pub fn batch(&self, tokens: &[u32]) -> Result<Batch, EngineError> {
        let windows = (0..self.windows).filter_map(|window| {
            let start = self.start + window * self.length;
            tokens.get(start..=start + self.length)
        });
        Batch::new(windows.flatten().copied().collect(), self.windows, self.length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_scores_the_same_tokens_once() {
        for (lengths, tokens) in [
            (vec![16, 32, 4096, 128], 10_000),
            (vec![6, 4], 40),
            (vec![1], 2),
            (vec![5000], 5001),
        ] {
            let plan = Plan::new(tokens, &lengths, usize::MAX).unwrap();
            for &length in &lengths {
                let mut targets = vec![0; tokens];
                for step in plan.steps().filter(|step| step.length == length) {
                    assert!(step.windows * step.length <= STEP_TOKENS.max(length));
                    let text: Vec<u32> = (0..tokens as u32).collect();
                    let batch = step.batch(&text).unwrap();
                    for window in 0..batch.windows() {
                        assert_eq!(batch.sources(window)[0] as usize % length, 0);
                        batch
                            .targets(window)
                            .iter()
                            .for_each(|&target| targets[target as usize] += 1);
                    }
                }
                assert_eq!(targets.iter().sum::<usize>(), plan.scored(), "{length}");
                assert!(
                    targets[1..=plan.scored()].iter().all(|&count| count == 1),
                    "{length}"
                );
            }
        }
    }

    #[test]
    fn a_first_point_needs_one_step_and_rounds_follow() {
        let plan = Plan::new(100_000, &[16, 4096], 20_000).unwrap();
        assert_eq!(plan.scored(), 16_384);
        let steps: Vec<Step> = plan.steps().collect();
        assert_eq!(
            steps[0],
            Step {
                round: 0,
                length: 16,
                start: 0,
                windows: 256
            }
        );
        assert_eq!(
            steps[1],
            Step {
                round: 0,
                length: 4096,
                start: 0,
                windows: 1
            }
        );
        assert_eq!(
            steps.last().unwrap(),
            &Step {
                round: 3,
                length: 4096,
                start: 3 * 4096,
                windows: 1
            }
        );
        assert_eq!(Plan::lengths(16, 4096, 600), [16, 32, 64, 128, 256, 512]);
        assert_eq!(Plan::lengths(16, 100, 1 << 20), [16, 32, 64]);
    }

    #[test]
    fn a_length_given_twice_is_measured_once() {
        let once = Plan::new(1000, &[64, 16], 128).unwrap();
        assert_eq!(Plan::new(1000, &[64, 16, 64, 16], 128).unwrap(), once);
    }

    #[test]
    fn what_cannot_be_measured_is_said() {
        let message = |tokens, lengths: &[usize]| Plan::new(tokens, lengths, 100).unwrap_err().to_string();
        assert!(message(128, &[64, 128]).contains("128 tokens, and lengths up to 128 need 129"));
        assert!(message(128, &[]).contains("no length"));
        assert!(message(128, &[0]).contains("no length"));
        assert!(message(1 << 30, &[4093, 4096, 4091]).contains("powers of two"));
    }
}
