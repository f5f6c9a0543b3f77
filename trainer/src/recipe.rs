use longview::encoding::Encoding;
use longview::model::Config;
use serde::{Deserialize, Serialize};

/// All that decides a training run; equal recipes on one machine give equal bits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    pub config: Config,
    pub seed: u64,
    pub steps: usize,
    /// Windows of the trained length in a step.
    pub windows: usize,
    pub learning_rate: f64,
    /// Steps over which the learning rate climbs; then it falls along a cosine.
    pub warm_up_steps: usize,
    /// The share of the learning rate that is left at the end.
    pub final_share: f64,
    pub beta1: f64,
    pub beta2: f64,
    pub epsilon: f64,
    /// On the four linear weights of a layer only.
    pub weight_decay: f64,
    /// The largest norm of a step's gradients.
    pub clip: f64,
    /// Passages that come twice are written into the windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<Copies>,
}

/// Which passages come twice, in two stages: shuffled ones in every window until copying has been found, then
/// mostly natural ones in some windows, so that natural text is learned too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Copies {
    pub first_steps: usize,
    pub first: Mix,
    pub then: Mix,
}

/// A stage of [`Copies`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mix {
    /// The share of windows that hold a passage twice.
    pub share: f64,
    /// Tokens of a passage.
    pub shortest: usize,
    pub longest: usize,
    /// The share of passages that are tokens drawn by their frequency; the others are the window's own text.
    pub shuffled: f64,
}

impl Default for Copies {
    fn default() -> Self {
        Self {
            first_steps: 500,
            first: Mix {
                share: 1.0,
                shortest: 32,
                longest: 64,
                shuffled: 1.0,
            },
            then: Mix {
                share: 0.5,
                shortest: 12,
                longest: 32,
                shuffled: 0.3,
            },
        }
    }
}

impl Recipe {
    /// The recipe of the shipped models.
    pub fn base(encoding: Encoding, seed: u64) -> Self {
        Self {
            config: Config::base(encoding, 4),
            seed,
            steps: 1200,
            windows: 16,
            learning_rate: 3e-3,
            warm_up_steps: 100,
            final_share: 0.05,
            beta1: 0.9,
            beta2: 0.98,
            epsilon: 1e-8,
            weight_decay: 0.1,
            clip: 1.0,
            copies: None,
        }
    }

    /// The recipe of the models that copy: keys are smeared, and passages come twice.
    pub fn copying(encoding: Encoding, seed: u64) -> Self {
        let base = Self::base(encoding, seed);
        Self {
            config: Config {
                smeared_keys: true,
                ..base.config
            },
            steps: 1600,
            copies: Some(Copies::default()),
            ..base
        }
    }

    /// The same with windows of another length, as many tokens a step.
    #[must_use]
    pub fn with_length(mut self, length: usize) -> Self {
        self.windows = self.windows * self.config.trained_length / length;
        self.config.trained_length = length;
        self
    }

    /// The same with another number of heads, of the same width together.
    #[must_use]
    pub fn with_heads(mut self, heads: usize) -> Self {
        self.config = Config {
            heads,
            score_scale: (heads as f32 / self.config.d_model as f32).sqrt(),
            ..self.config
        };
        self
    }

    /// A very small model that trains in about a minute; for tests.
    pub fn quick(encoding: Encoding, seed: u64) -> Self {
        let mut config = Config::base(encoding, 2);
        (config.d_model, config.layers, config.d_ff, config.trained_length) = (48, 2, 192, 64);
        config.embedding_scale = (config.d_model as f32).sqrt();
        config.score_scale = 1.0 / (config.d_head() as f32).sqrt();
        Self {
            config,
            steps: 300,
            windows: 16,
            warm_up_steps: 30,
            ..Self::base(Encoding::None(Default::default()), seed)
        }
    }

    /// The learning rate of a step, counted from 0.
    pub fn rate(&self, step: usize) -> f64 {
        if step < self.warm_up_steps {
            return self.learning_rate * (step + 1) as f64 / self.warm_up_steps as f64;
        }
        let along = (step - self.warm_up_steps) as f64 / (self.steps - self.warm_up_steps).max(1) as f64;
        let cosine = 0.5 * (1.0 + (std::f64::consts::PI * along).cos());
        self.learning_rate * (self.final_share + (1.0 - self.final_share) * cosine)
    }
}
