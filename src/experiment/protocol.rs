use serde::{Deserialize, Serialize};

/// How a text is cut into windows of T tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// One after another; every prediction counts, so the first ones of each window have little context.
    #[default]
    NonOverlapping,
    /// Each begins `stride` tokens after the one before, and only what that one has not scored counts: all
    /// but the first window's predictions have at least T − S + 1 tokens of context, at T/S times the cost.
    Sliding {
        /// S, from 1 to T.
        stride: usize,
    },
}

impl Protocol {
    /// Tokens from the start of a window of `length` tokens to the start of the next.
    pub fn stride(self, length: usize) -> usize {
        match self {
            Self::NonOverlapping => length,
            Self::Sliding { stride } => stride,
        }
    }
}
