//! Held-out perplexity by length, for the record of a checkpoint.

use anyhow::{Result, ensure};
use longview::encoding::{Encoding, Learned, PastEnd};
use longview::engine::cpu::Model;
use longview::engine::{Batch, Captures};
use longview::model::{Config, Weights};
use serde::Serialize;

/// Tokens that every length is scored on.
pub const TOKENS: usize = 65_536;
/// Tokens in one forward.
const BATCH_TOKENS: usize = 8192;

/// Perplexity at one length.
#[derive(Clone, Debug, Serialize)]
pub struct HeldOut {
    pub length: usize,
    pub perplexity: f64,
    /// How many tokens were scored: the same ones at every length.
    pub tokens: usize,
    /// A choice without which there were no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

/// Perplexity over non-overlapping windows of each length (T predictions a window, weighted by token).
/// A learned table repeats its last row past its end, and the points say so.
///
/// # Errors
/// A text too short, or what the engine cannot run.
pub fn held_out(
    config: &Config,
    weights: &Weights,
    tokens: &[u32],
    lengths: &[usize],
) -> Result<Vec<HeldOut>> {
    let longest = lengths.iter().copied().max().unwrap_or(1);
    let scored = TOKENS.min(tokens.len().saturating_sub(1)) / longest * longest;
    ensure!(
        scored > 0,
        "the held-out text has {} tokens, a window of {longest} needs one more",
        tokens.len()
    );
    let mut model = Model::new(config, weights)?;
    let learned = matches!(config.encoding, Encoding::Learned(_));
    if learned {
        let repeated = Encoding::Learned(Learned {
            past_end: PastEnd::LastRow,
        });
        model.set_positions(repeated, None);
    }
    let mut points = Vec::new();
    for &length in lengths {
        ensure!(
            scored.is_multiple_of(length),
            "{length} does not divide the {scored} scored tokens; choose powers of two"
        );
        let mut sum = 0.0;
        let starts: Vec<usize> = (0..scored).step_by(length).collect();
        for windows in starts.chunks((BATCH_TOKENS / length).max(1)) {
            let batch = windows
                .iter()
                .flat_map(|&start| &tokens[start..=start + length])
                .copied()
                .collect();
            let batch = Batch::new(batch, windows.len(), length)?;
            let nll = model.forward(&batch, &Captures::default())?.nll;
            sum += nll.iter().map(|&value| f64::from(value)).sum::<f64>();
        }
        let note = (learned && length > config.trained_length)
            .then_some("last row repeated past the trained length");
        points.push(HeldOut {
            length,
            perplexity: (sum / scored as f64).exp(),
            tokens: scored,
            note,
        });
    }
    Ok(points)
}
