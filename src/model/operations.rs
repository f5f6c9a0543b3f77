use super::Config;
use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign};

/// Multiply-adds, in the two parts that run at different speeds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operations {
    /// Linear layers and vocabulary: grows with the tokens.
    pub linear: u64,
    /// Queries with keys, and probabilities with values: grows with the tokens and their context.
    pub attention: u64,
}

impl Operations {
    /// Both parts.
    pub fn total(self) -> u64 {
        self.linear + self.attention
    }
}

impl Add for Operations {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            linear: self.linear + other.linear,
            attention: self.attention + other.attention,
        }
    }
}

impl AddAssign for Operations {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Config {
    /// What a forward of `windows` windows of `length` tokens computes, for estimates: norms, activations
    /// and softmax are left out, and what a window hides is counted in, since engines skip it by blocks.
    pub fn operations(&self, windows: usize, length: usize) -> Operations {
        let wide = |count: usize| count as u64;
        let (d, layers) = (wide(self.d_model), wide(self.layers));
        let (tokens, length) = (wide(windows) * wide(length), wide(length));
        // q, k, v and the output; the MLP up and down.
        let layer = 4 * d * d + 2 * d * wide(self.d_ff);
        // A query has itself and all keys before it, each once for its score and once for its value.
        let pairs = wide(windows) * (length * (length + 1) / 2);
        Operations {
            linear: tokens * (layers * layer + d * wide(self.vocabulary)),
            attention: layers * pairs * 2 * d,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;

    #[test]
    fn operations_are_those_counted_by_hand() {
        let config = Config::base(Encoding::from_name("alibi").unwrap(), 4);
        // A layer: q, k, v and output 4·96² = 36,864, MLP 2·96·384 = 73,728; vocabulary 512·96 = 49,152.
        let token = 3 * (36_864 + 73_728) + 49_152;
        // Windows of 3: queries see 1, 2 and 3 keys, 6 pairs of 96 for the score and 96 for the value.
        let found = config.operations(2, 3);
        assert_eq!((found.linear, found.attention), (6 * token, 2 * 3 * 6 * 192));
        assert_eq!(found.total(), 6 * token + 6912);
        // How heads share the width changes nothing.
        let eight = Config::base(Encoding::from_name("alibi").unwrap(), 8);
        assert_eq!(eight.operations(2, 3), found);
    }
}
