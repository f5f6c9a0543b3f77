use super::rotary::{frequencies, turns};
use super::{EncodingError, Pairing, Positional, Rotation, Shape, Tables};
use crate::model::Weights;
use serde::{Deserialize, Serialize};

/// Randomized positions, on rotary: in training a window's tokens stand at random positions of a range that
/// is longer than the window, in increasing order, so that far positions are no news later
/// (Ruoss et al. 2023, arXiv 2305.16843).
///
/// Two things differ from the paper. One draw serves all windows of a step. And after training nothing is
/// drawn, so that a measurement has one result: T tokens are spread evenly over the range, and where T is
/// greater than the range, they stand at 0, 1, 2, … and run past it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Randomized {
    pub pairing: Pairing,
    pub base: f64,
    /// Positions are drawn from 0 up to but without this one.
    pub range: usize,
}

impl Default for Randomized {
    fn default() -> Self {
        Self {
            pairing: Pairing::default(),
            base: 10_000.0,
            range: 1024,
        }
    }
}

impl Randomized {
    /// The positions of `length` tokens after training.
    pub fn positions(&self, length: usize) -> Vec<usize> {
        // ⌊token · range / length⌋ without the product, which a file's range might make overflow.
        let (each, rest) = (self.range / length.max(1), self.range % length.max(1));
        let spread = |token: usize| each * token + rest * token / length;
        let within = length <= self.range;
        (0..length)
            .map(|token| if within { spread(token) } else { token })
            .collect()
    }

    /// Random positions for `length` tokens, in increasing order, every choice as likely as any other;
    /// `draw(n)` gives a uniform number below n.
    ///
    /// # Errors
    /// More tokens than positions.
    pub fn drawn(
        &self,
        length: usize,
        draw: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Vec<usize>, EncodingError> {
        if length > self.range {
            return Err(EncodingError::Size {
                encoding: "randomized",
                what: "the range of positions",
                value: self.range,
                need: "a range of at least the trained length",
            });
        }
        let mut positions = Vec::with_capacity(length);
        for position in 0..self.range {
            // Of the positions left, so many are still to be taken.
            if draw(self.range - position) < length - positions.len() {
                positions.push(position);
            }
        }
        Ok(positions)
    }

    fn at(&self, positions: &[usize], shape: &Shape) -> Result<Tables, EncodingError> {
        let inv_freq = frequencies("randomized", self.base, shape.d_head)?;
        let position = |row: usize| positions[row] as f64;
        let [cos, sin] = turns(positions.len(), &inv_freq, position, |_, _| 1.0);
        Ok(Tables {
            rotation: Some(Rotation {
                pairing: self.pairing,
                cos,
                sin,
                keys: None,
            }),
            ..Tables::default()
        })
    }
}

impl Positional for Randomized {
    fn tables(&self, shape: &Shape, _: &Weights) -> Result<Tables, EncodingError> {
        self.at(&self.positions(shape.length), shape)
    }

    fn training_tables(
        &self,
        shape: &Shape,
        _: &Weights,
        draw: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Tables, EncodingError> {
        self.at(&self.drawn(shape.length, draw)?, shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_after_training_fill_the_range_and_then_run_past_it() {
        let randomized = Randomized::default();
        let at_128 = randomized.positions(128);
        assert_eq!((at_128[1], at_128[127]), (8, 1016));
        assert_eq!(randomized.positions(1000)[999], 1022);
        assert_eq!(randomized.positions(1024), (0..1024).collect::<Vec<_>>());
        assert_eq!(randomized.positions(1025)[1024], 1024);
    }

    #[test]
    fn every_choice_of_positions_is_as_likely() {
        let randomized = Randomized {
            range: 4,
            ..Randomized::default()
        };
        // All that `draw` may answer for the range 4: 4·3·2·1 answers, each as likely.
        let mut counts = std::collections::BTreeMap::new();
        for code in 0..24 {
            let mut rest = code;
            let mut draw = |n: usize| {
                let answer = rest % n;
                rest /= n;
                answer
            };
            *counts.entry(randomized.drawn(2, &mut draw).unwrap()).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|&count| count == 4), "{counts:?}");
        assert!(randomized.drawn(5, &mut |_| 0).is_err());
    }
}
