use crate::engine::{Batch, EngineError};
use crate::experiment::{Protocol, STEP_TOKENS};

/// Windows of one length that are run together, and how much of each is scored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// The first token of the first window.
    pub begin: usize,
    /// From the beginning of a window to that of the next.
    pub stride: usize,
    pub windows: usize,
    /// Predictions of a window.
    pub length: usize,
    /// So many predictions at the end of each window are scored.
    pub scored: usize,
}

/// The passes that score `tokens` predictions in windows of `length`, in the text's order; each computes at
/// most [`STEP_TOKENS`] tokens, or one window.
///
/// Each window begins a stride after the one before it; the first scores all of its predictions, each other
/// those that none before it has scored. So every token is scored once, whatever the length: lengths without a
/// common multiple score the same tokens too. The last window ends where the scored tokens end, and is shorter
/// where they do not fill it.
pub fn passes(protocol: Protocol, length: usize, tokens: usize) -> Vec<Pass> {
    // A wider stride than the window would leave tokens unscored.
    let stride = protocol.stride(length).clamp(1, length);
    let most = (STEP_TOKENS / length).max(1);
    let mut passes: Vec<Pass> = Vec::new();
    let (mut begin, mut scored_to) = (0, 0);
    while scored_to < tokens {
        let end = (begin + length).min(tokens);
        let window = Pass {
            begin,
            stride,
            windows: 1,
            length: end - begin,
            scored: end - scored_to,
        };
        match passes.last_mut().filter(|last| {
            (last.length, last.scored) == (window.length, window.scored) && last.windows < most
        }) {
            Some(last) => last.windows += 1,
            None => passes.push(window),
        }
        (begin, scored_to) = (begin + stride, end);
    }
    passes
}

impl Pass {
    /// The windows of this pass, cut from a text.
    ///
    /// # Errors
    /// A text that ends before.
    pub fn batch(&self, tokens: &[u32]) -> Result<Batch, EngineError> {
        let windows = (0..self.windows).filter_map(|window| {
            let begin = self.begin + window * self.stride;
            tokens.get(begin..=begin + self.length)
        });
        Batch::new(windows.flatten().copied().collect(), self.windows, self.length)
    }

    /// Of the losses of this pass, `[windows][length]`, the scored ones: the place of the prediction in the
    /// text, the tokens of context that it had, and its loss.
    pub fn scored<'a>(&'a self, nll: &'a [f32]) -> impl Iterator<Item = (usize, usize, f64)> + 'a {
        let windows = nll.chunks_exact(self.length).enumerate();
        windows.flat_map(move |(window, losses)| {
            let begin = self.begin + window * self.stride;
            let scored = losses.iter().enumerate().skip(self.length - self.scored);
            scored.map(move |(place, &loss)| (begin + place, place + 1, f64::from(loss)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_is_scored_once_at_every_length_and_stride() {
        let text: Vec<u32> = (0..=5000).collect();
        for (protocol, length, tokens) in [
            (Protocol::NonOverlapping, 16, 1024),
            (Protocol::NonOverlapping, 136, 1024),
            (Protocol::NonOverlapping, 5000, 5000),
            (Protocol::Sliding { stride: 16 }, 64, 1000),
            (Protocol::Sliding { stride: 7 }, 50, 333),
            (Protocol::Sliding { stride: 99 }, 50, 333),
            (Protocol::Sliding { stride: 1 }, 8, 20),
        ] {
            let mut counts = vec![0; tokens];
            for pass in passes(protocol, length, tokens) {
                assert!(pass.windows * pass.length <= STEP_TOKENS.max(length));
                let batch = pass.batch(&text).unwrap();
                let targets: Vec<f32> = (0..pass.windows)
                    .flat_map(|window| batch.targets(window))
                    .map(|&token| token as f32)
                    .collect();
                for (place, context, target) in pass.scored(&targets) {
                    // The text counts upwards: a prediction's target is the token after its place.
                    assert_eq!(target, (place + 1) as f64);
                    assert!(context <= length && context <= place + 1);
                    counts[place] += 1;
                }
            }
            assert!(
                counts.iter().all(|&count| count == 1),
                "{protocol:?} {length} {tokens}"
            );
        }
    }

    #[test]
    fn sliding_keeps_a_long_context() {
        let passes = passes(Protocol::Sliding { stride: 16 }, 64, 4096);
        let first = passes[0];
        assert_eq!((first.begin, first.windows, first.scored), (0, 1, 64));
        assert!(
            passes[1..]
                .iter()
                .all(|pass| pass.scored == 16 && pass.length == 64)
        );
        let windows: usize = passes.iter().map(|pass| pass.windows).sum();
        assert_eq!(windows, (4096 - 64) / 16 + 1);
    }
}
