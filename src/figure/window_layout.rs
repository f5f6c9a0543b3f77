//! The arithmetic of windows: which token which window predicts, with how much context, and at what cost.

/// Windows of `length` tokens that move on by `stride`: each predicts its last `stride` tokens, the first
/// window all of its own. Windows side by side are those that move on by their length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    pub length: usize,
    pub stride: usize,
    pub sliding: bool,
}

impl Layout {
    /// The window that predicts the token at `position`, from 0.
    pub fn window(self, position: usize) -> usize {
        match position.checked_sub(self.length) {
            None => 0,
            Some(past) => past / self.stride + 1,
        }
    }

    /// The tokens of context of that prediction, 1 to T: the t-th of a window sees t tokens.
    pub fn context(self, position: usize) -> usize {
        position - self.window(position) * self.stride + 1
    }

    /// The positions that a window predicts.
    pub fn scored(self, window: usize) -> [usize; 2] {
        let end = window * self.stride + self.length;
        [if window == 0 { 0 } else { end - self.stride }, end]
    }

    /// Mean context over a long text.
    pub fn mean(self) -> f64 {
        self.length as f64 - (self.stride as f64 - 1.0) / 2.0
    }

    /// The share of predictions with at most so many tokens of context, over a long text.
    pub fn share(self, most: usize) -> f64 {
        let below = most.min(self.length).saturating_sub(self.length - self.stride);
        below as f64 / self.stride as f64
    }

    /// Tokens that a model reads for each one that is predicted, over a long text.
    pub fn cost(self) -> f64 {
        self.length as f64 / self.stride as f64
    }

    /// Whether the windows stand side by side.
    pub fn is_apart(self) -> bool {
        self.stride == self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(length: usize, stride: usize) -> Layout {
        Layout {
            length,
            stride,
            sliding: stride < length,
        }
    }

    #[test]
    fn tenths_of_the_predictions_are_starved_as_the_alibi_paper_says() {
        assert_eq!(layout(1000, 1000).share(100), 0.10);
        assert_eq!(layout(2000, 2000).share(100), 0.05);
        assert_eq!(layout(1000, 1000).mean(), 500.5);
        assert_eq!(layout(1000, 1000).cost(), 1.0);
        assert_eq!(layout(1000, 1).mean(), 1000.0);
        assert_eq!(layout(1000, 1).share(999), 0.0);
        assert_eq!(layout(1000, 1).cost(), 1000.0);
    }

    /// Cuts the text as a program would, window by window.
    #[test]
    fn every_token_is_predicted_once_and_the_long_run_is_what_counting_gives() {
        for (length, stride) in [(10, 10), (10, 1), (10, 4), (7, 3), (1, 1), (12, 6)] {
            let layout = layout(length, stride);
            let windows = 50;
            let mut contexts = Vec::new();
            for window in 0..windows {
                let first = if window == 0 { 0 } else { length - stride };
                for place in first..length {
                    let position = window * stride + place;
                    assert_eq!(position, contexts.len(), "{length} {stride}");
                    assert_eq!(layout.window(position), window);
                    assert_eq!(layout.context(position), place + 1);
                    contexts.push(place + 1);
                }
            }
            let late = &contexts[length..];
            let mean = late.iter().sum::<usize>() as f64 / late.len() as f64;
            assert!((mean - layout.mean()).abs() < 1e-9, "{length} {stride}: {mean}");
            for most in 1..=length + 2 {
                let few = late.iter().filter(|context| **context <= most).count();
                let share = few as f64 / late.len() as f64;
                assert!(
                    (share - layout.share(most)).abs() < 1e-9,
                    "{length} {stride} {most}"
                );
            }
        }
    }
}
