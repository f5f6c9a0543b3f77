use super::EncodingError;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Other frequencies for a rotary encoding that is to serve T tokens after it was trained on L; s is the
/// factor, r = L·θ/2π how often a pair turns within L.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scaling {
    pub method: ScalingMethod,
    /// L, the length that the model was trained on.
    pub original_length: usize,
    /// s; absent it follows the sequence at hand: max(1, T/L). For dynamic NTK, which follows it anyway, it is
    /// then 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// β: pairs that turn more often than this within L keep their frequency (by parts, YaRN). The paper's 32
    /// is meant for L of thousands; within 128 no pair turns as often as 21 times, hence 8.
    pub beta_fast: f64,
    /// α: pairs that turn less often than this are interpolated in full (by parts, YaRN). The paper has 1.
    pub beta_slow: f64,
    /// LLaMA 3's β.
    pub high_freq_factor: f64,
    /// LLaMA 3's α.
    pub low_freq_factor: f64,
    /// How the pairs between α and β are blended (by parts, YaRN).
    pub ramp: Ramp,
    /// Multiplies cosines and sines, hence scores by its square; absent it is 0.1·ln s + 1 for YaRN, else 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attention_factor: Option<f64>,
}

/// How frequencies are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScalingMethod {
    /// Position interpolation: θ/s, as if position p were p/s (Chen et al. 2023, arXiv 2306.15595).
    #[default]
    Pi,
    /// NTK-aware: the base becomes base·s^(d/(d−2)), which divides the lowest frequency by s and leaves the
    /// highest (bloc97 2023; section 3.1 of arXiv 2309.00071).
    Ntk,
    /// Dynamic NTK: base·(f·l/L − (f − 1))^(d/(d−2)) with l = max(T, L) and the factor f, so that sequences of
    /// up to L tokens have the base itself (emozilla 2023; `_compute_dynamic_ntk_parameters` in transformers).
    DynamicNtk,
    /// NTK-by-parts: (1 − γ)·θ/s + γ·θ with γ = clamp((r − α)/(β − α), 0, 1) (section 3.2 of arXiv 2309.00071).
    ByParts,
    /// By parts, and cosines and sines times 0.1·ln s + 1 (Peng et al. 2023, YaRN, arXiv 2309.00071).
    Yarn,
    /// As by parts, with LLaMA 3.1's bounds: wavelengths below L/4 stay, those above L are divided by s
    /// (`_compute_llama3_parameters` in transformers).
    Llama3,
}

/// How pairs between those that stay and those that are interpolated are blended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ramp {
    /// Linear in the number of turns r: the paper's.
    #[default]
    Turns,
    /// Linear in the number of the pair, between whole numbers: `_compute_yarn_parameters` in transformers.
    WholePairs,
    /// The same between the exact bounds (`truncate: false` there).
    Pairs,
}

impl Default for Scaling {
    fn default() -> Self {
        Self {
            method: ScalingMethod::default(),
            original_length: 128,
            factor: None,
            beta_fast: 8.0,
            beta_slow: 0.5,
            high_freq_factor: 4.0,
            low_freq_factor: 1.0,
            ramp: Ramp::default(),
            attention_factor: None,
        }
    }
}

impl Scaling {
    /// The frequencies of the pairs of `rotated` dimensions, `[rotated/2]`, for sequences of `length` tokens,
    /// and what cosines and sines are multiplied by.
    ///
    /// # Errors
    /// Settings that make no sense.
    pub fn frequencies(
        &self,
        base: f64,
        rotated: usize,
        length: usize,
    ) -> Result<(Vec<f64>, f64), EncodingError> {
        self.validate()?;
        let longer = (length as f64 / self.original_length as f64).max(1.0);
        let factor = match (self.factor, self.method) {
            (Some(factor), _) => factor,
            (None, ScalingMethod::DynamicNtk) => 1.0,
            (None, _) => longer,
        };
        let rebased = |growth: f64| {
            // θ_c/growth^(2c/(d − 2)): the same as another base, and defined for the one pair of d = 2.
            let last = (rotated / 2).saturating_sub(1).max(1) as f64;
            super::rotary::powers(base, rotated)
                .into_iter()
                .enumerate()
                .map(|(pair, theta)| theta * growth.powf(-(pair as f64) / last))
                .collect()
        };
        let inv_freq = match self.method {
            ScalingMethod::Pi => super::rotary::powers(base, rotated)
                .into_iter()
                .map(|theta| theta / factor)
                .collect(),
            ScalingMethod::Ntk => rebased(factor),
            ScalingMethod::DynamicNtk => rebased(factor * longer - (factor - 1.0)),
            ScalingMethod::ByParts | ScalingMethod::Yarn | ScalingMethod::Llama3 => {
                self.blended(base, rotated, factor)
            }
        };
        let attention_factor = match (self.attention_factor, self.method) {
            (Some(given), _) => given,
            (None, ScalingMethod::Yarn) => 0.1 * factor.ln() + 1.0,
            (None, _) => 1.0,
        };
        Ok((inv_freq, attention_factor))
    }

    /// (1 − γ)·θ/s + γ·θ
    fn blended(&self, base: f64, rotated: usize, factor: f64) -> Vec<f64> {
        let length = self.original_length as f64;
        // The number, not whole, of the pair that turns so often within L.
        let pair_of = |turns: f64| rotated as f64 * (length / (turns * TAU)).ln() / (2.0 * base.ln());
        let (ramp, slow, fast) = match self.method {
            ScalingMethod::Llama3 => (Ramp::Turns, self.low_freq_factor, self.high_freq_factor),
            _ => (self.ramp, self.beta_slow, self.beta_fast),
        };
        let (low, high) = match ramp {
            Ramp::WholePairs => (pair_of(fast).floor(), pair_of(slow).ceil()),
            _ => (pair_of(fast), pair_of(slow)),
        };
        // As there: clamped to d − 1, not to the last pair, and never a ramp of no length.
        let (low, mut high) = (low.max(0.0), high.min(rotated as f64 - 1.0));
        if low == high {
            high += 0.001;
        }
        let kept = |pair: usize, theta: f64| match ramp {
            Ramp::Turns => (length * theta / TAU - slow) / (fast - slow),
            Ramp::WholePairs | Ramp::Pairs => 1.0 - (pair as f64 - low) / (high - low),
        };
        super::rotary::powers(base, rotated)
            .into_iter()
            .enumerate()
            .map(|(pair, theta)| {
                let kept = kept(pair, theta).clamp(0.0, 1.0);
                (1.0 - kept) * theta / factor + kept * theta
            })
            .collect()
    }

    fn validate(&self) -> Result<(), EncodingError> {
        let wrong = |what: &'static str, value: f64, need: &'static str| {
            Err(EncodingError::Setting {
                encoding: "rotary",
                what,
                value,
                need,
            })
        };
        let is_usable = |value: f64| value.is_finite() && value > 0.0;
        if self.original_length == 0 {
            return wrong("the original length", 0.0, "the length of training, at least 1");
        }
        if let Some(factor) = self
            .factor
            .filter(|factor| !(factor.is_finite() && *factor >= 1.0))
        {
            return wrong(
                "the scaling factor",
                factor,
                "a finite number from 1 up, or none for T/L",
            );
        }
        if let Some(value) = self.attention_factor.filter(|value| !is_usable(*value)) {
            return wrong("the attention factor", value, "a finite number above 0");
        }
        if !(is_usable(self.beta_slow) && self.beta_fast.is_finite() && self.beta_fast > self.beta_slow) {
            return wrong(
                "beta_fast",
                self.beta_fast,
                "a finite number above beta_slow, and both above 0 (8 and 0.5 fit short lengths, 32 and 1 are YaRN's)",
            );
        }
        if !(is_usable(self.low_freq_factor)
            && self.high_freq_factor.is_finite()
            && self.high_freq_factor > self.low_freq_factor)
        {
            return wrong(
                "high_freq_factor",
                self.high_freq_factor,
                "a finite number above low_freq_factor, and both above 0 (4 and 1 are LLaMA's)",
            );
        }
        Ok(())
    }
}
