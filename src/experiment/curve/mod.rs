use super::Step;
use super::paired::Pooled;
use serde::{Deserialize, Serialize};

/// Tokens of a segment. Losses of neighbouring tokens go together, so the standard error is that of sums
/// over segments of the text (a cluster-robust estimate); the segments are the same at every length.
pub const SEGMENT_TOKENS: usize = 64;

/// Perplexity at one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// T
    pub length: usize,
    /// exp(Σ nll / tokens): weighted by token, never the mean of windows' perplexities.
    pub perplexity: f64,
    /// Of the perplexity, by the delta method; `None` while fewer than two segments were scored.
    pub standard_error: Option<f64>,
    /// How many tokens were scored.
    pub tokens: usize,
}

/// What the losses of one model add up to, by length.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// By length, ascending.
    lengths: Vec<(usize, Losses)>,
    keeps_tokens: bool,
}

#[derive(Clone, Debug, Default)]
struct Losses {
    /// By segment of the text: the sum of losses and their count, 0 where nothing was scored.
    segments: Vec<(f64, usize)>,
    /// By position in the window, `[T]`: the sum of losses and their count.
    positions: Vec<(f64, usize)>,
    /// By place of the prediction in the text; NaN where it was not scored. Empty unless asked for.
    tokens: Vec<f32>,
}

impl Curve {
    /// A curve that also keeps each token's loss, which takes 4 bytes a token and length.
    pub fn keeping_tokens() -> Self {
        Self {
            keeps_tokens: true,
            ..Self::default()
        }
    }

    /// Adds the losses of a step, `[windows][window]` in nats; those that the step does not score are passed
    /// over.
    pub fn add(&mut self, step: &Step, nll: &[f32]) {
        let place = self.lengths.partition_point(|&(length, _)| length < step.length);
        if self
            .lengths
            .get(place)
            .is_none_or(|&(length, _)| length != step.length)
        {
            self.lengths.insert(place, (step.length, Losses::default()));
        }
        let losses = &mut self.lengths[place].1;
        losses.positions.resize(step.length, (0.0, 0));
        let last = step.start + (step.windows - 1) * step.stride + step.window;
        if self.keeps_tokens {
            losses.tokens.resize(last.max(losses.tokens.len()), f32::NAN);
        }
        let segments = last.div_ceil(SEGMENT_TOKENS).max(losses.segments.len());
        losses.segments.resize(segments, (0.0, 0));
        for (token, position, loss) in step.scored(nll) {
            for (sum, count) in [
                &mut losses.segments[token / SEGMENT_TOKENS],
                &mut losses.positions[position],
            ] {
                *sum += f64::from(loss);
                *count += 1;
            }
            if self.keeps_tokens {
                losses.tokens[token] = loss;
            }
        }
    }

    /// The points so far, by length.
    pub fn points(&self) -> Vec<Point> {
        self.lengths
            .iter()
            .filter_map(|(length, losses)| losses.point(*length))
            .collect()
    }

    /// The mean loss by position in the window, in nats, `[T]`: the prediction at position `t` has t + 1
    /// tokens of context. NaN where nothing was scored; empty for a length not measured.
    pub fn by_position(&self, length: usize) -> Vec<f64> {
        self.losses(length).map_or(Vec::new(), |losses| {
            let mean = |&(sum, count): &(f64, usize)| sum / count as f64;
            losses.positions.iter().map(mean).collect()
        })
    }

    /// The loss by place of the prediction in the text (the target is the token after), in nats; NaN where
    /// it was not scored. Empty for a length not measured, and in a curve that keeps no tokens.
    pub fn by_token(&self, length: usize) -> &[f32] {
        self.losses(length).map_or(&[], |losses| &losses.tokens)
    }

    /// The losses at a length in at most `groups` contiguous groups, for differences on the same tokens;
    /// `None` for a length not measured.
    pub fn pooled(&self, length: usize, groups: usize) -> Option<Pooled> {
        let losses = self.losses(length)?;
        Some(Pooled::new(SEGMENT_TOKENS, &losses.segments, groups))
    }

    fn losses(&self, length: usize) -> Option<&Losses> {
        let found = self.lengths.iter().find(|(measured, _)| *measured == length);
        found.map(|(_, losses)| losses)
    }
}

impl Losses {
    fn point(&self, length: usize) -> Option<Point> {
        let (mean, error) = clustered(self.segments.iter().copied())?;
        let perplexity = mean.exp();
        Some(Point {
            length,
            perplexity,
            standard_error: error.map(|error| perplexity * error),
            tokens: self.segments.iter().map(|(_, count)| count).sum(),
        })
    }
}

/// The mean of what clusters of values add up to, given as (sum, count), and its standard error where there
/// are two clusters at least; nothing without values. Empty clusters are passed over.
pub(super) fn clustered(clusters: impl Iterator<Item = (f64, usize)> + Clone) -> Option<(f64, Option<f64>)> {
    let filled = || clusters.clone().filter(|(_, count)| *count > 0);
    let tokens: usize = filled().map(|(_, count)| count).sum();
    if tokens == 0 {
        return None;
    }
    let mean = filled().map(|(sum, _)| sum).sum::<f64>() / tokens as f64;
    let number = filled().count() as f64;
    let squares: f64 = filled()
        .map(|(sum, count)| (sum - mean * count as f64).powi(2))
        .sum();
    let variance = squares * number / (number - 1.0) / (tokens as f64).powi(2);
    Some((mean, (number > 1.0).then(|| variance.sqrt())))
}

#[cfg(test)]
mod tests;
