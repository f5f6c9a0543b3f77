//! Which windows a step trains on.

use crate::copies;
use crate::recipe::Copies;
use anyhow::{Result, ensure};
use longview::engine::Batch;
use rand::RngExt;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

/// Epochs of non-overlapping windows in random order, each epoch with another offset, so that over the
/// epochs a token stands at different positions. Any step can be asked for at any time: an interrupted
/// run goes on exactly.
pub struct Batches<'a> {
    tokens: &'a [u32],
    length: usize,
    windows: usize,
    seed: u64,
    epoch: u64,
    /// The step that the epoch begins with.
    first_step: usize,
    /// Where the epoch's windows begin, in their random order.
    starts: Vec<usize>,
}

impl<'a> Batches<'a> {
    /// Batches of `windows` windows of `length` tokens.
    ///
    /// # Errors
    /// A text that is too short for one batch.
    pub fn new(tokens: &'a [u32], length: usize, windows: usize, seed: u64) -> Result<Self> {
        // An offset of up to `length` and the target after the last window may be lost.
        let need = (windows + 1) * length + 1;
        ensure!(
            tokens.len() >= need,
            "the training text has {} tokens, one step needs {need}; give a longer text",
            tokens.len()
        );
        let mut batches = Self {
            tokens,
            length,
            windows,
            seed,
            epoch: 0,
            first_step: 0,
            starts: Vec::new(),
        };
        batches.begin(0, 0);
        Ok(batches)
    }

    fn begin(&mut self, epoch: u64, first_step: usize) {
        let mut random = Pcg64::seed_from_u64(self.seed.wrapping_mul(1_000_003).wrapping_add(epoch));
        let offset = random.random_range(0..self.length);
        let count = (self.tokens.len() - 1 - offset) / self.length;
        self.starts = (0..count).map(|window| offset + window * self.length).collect();
        self.starts.shuffle(&mut random);
        (self.epoch, self.first_step) = (epoch, first_step);
    }

    /// The batch of a step, counted from 0, with what `copies` writes into it.
    ///
    /// # Errors
    /// None for the sizes that [`new`](Self::new) accepted.
    pub fn at(&mut self, step: usize, copies: Option<&Copies>) -> Result<Batch> {
        if step < self.first_step {
            self.begin(0, 0);
        }
        // The windows that do not fill a last batch wait for another epoch.
        while step - self.first_step >= self.starts.len() / self.windows {
            self.begin(self.epoch + 1, self.first_step + self.starts.len() / self.windows);
        }
        let at = (step - self.first_step) * self.windows;
        let windows = self.starts[at..at + self.windows].iter();
        let mut tokens: Vec<u32> = windows
            .flat_map(|&start| &self.tokens[start..=start + self.length])
            .copied()
            .collect();
        if let Some(copies) = copies {
            copies::write(copies, (self.seed, step), &mut tokens, self.length, self.tokens);
        }
        Ok(Batch::new(tokens, self.windows, self.length)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_visits_every_window_once_and_steps_can_be_asked_in_any_order() {
        let tokens: Vec<u32> = (0..1000).collect();
        let mut batches = Batches::new(&tokens, 10, 4, 7).unwrap();
        let per_epoch = batches.starts.len() / 4;
        let all: Vec<Batch> = (0..3 * per_epoch)
            .map(|step| batches.at(step, None).unwrap())
            .collect();
        let mut starts: Vec<u32> = all[..per_epoch]
            .iter()
            .flat_map(|batch| (0..4).map(|window| batch.sources(window)[0]))
            .collect();
        starts.sort_unstable();
        starts.dedup();
        assert_eq!(starts.len(), 4 * per_epoch);
        assert!(starts.windows(2).all(|pair| (pair[1] - pair[0]) % 10 == 0));
        assert_ne!(all[0], all[per_epoch]);
        for step in [5, 0, per_epoch + 1, per_epoch - 1] {
            assert_eq!(batches.at(step, None).unwrap(), all[step]);
        }
        assert!(Batches::new(&tokens[..50], 10, 4, 7).is_err());
    }
}
