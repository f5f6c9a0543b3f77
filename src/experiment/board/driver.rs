use super::claims::{CLAIMS, Claim, Options};
use super::estimate::{Rates, config_by_name};
use super::finding::{Finding, Verdict};
use super::results::Results;
use super::task::{Kind, Task, model_of};
use crate::engine::EngineError;
use crate::model::{Config, Operations};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// What was measured, and what is to be measured next.
#[derive(Debug, Default)]
pub struct Board {
    pub(super) options: Options,
    pub(super) results: Results,
    pub(super) models: BTreeMap<String, LoadedModel>,
    pub(super) texts: BTreeMap<String, LoadedText>,
    /// Models and texts that cannot be had.
    skipped: Vec<String>,
    /// Tasks that cannot be measured, by key, and why.
    pub(super) left_out: BTreeMap<String, String>,
    pub(super) rates: Option<Rates>,
}

#[derive(Debug)]
pub(super) struct LoadedModel {
    pub(super) config: Config,
    pub(super) fingerprint: String,
}

#[derive(Debug)]
pub(super) struct LoadedText {
    pub(super) tokens: Arc<[u32]>,
    pub(super) fingerprint: String,
}

/// What a claim needs next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Next {
    /// A checkpoint is to be loaded, by the name of its file without ending.
    Load {
        model: String,
    },
    /// A text is to be given.
    Text {
        text: String,
    },
    /// A step is to be run with the model of this variant.
    Step {
        variant: String,
    },
    Done,
}

/// How far a claim has come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Progress {
    /// From 0 to 1, by operations.
    pub progress: f64,
    /// Multiply-adds, in all and done.
    pub operations: u64,
    pub operations_done: u64,
    /// What is left, once the engine's speed is known.
    pub seconds: Option<f64>,
}

/// Why the board cannot go on.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BoardError {
    #[error("there is no claim \"{0}\"; the names are in the list of claims")]
    NoClaim(String),
    #[error("the claim \"{0}\" has no step to run now; ask what comes next first")]
    NoStep(String),
    #[error("{0}")]
    Results(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Tokens of a text that is not there yet, for estimates: enough for every task.
const UNKNOWN_TEXT_TOKENS: usize = 1 << 17;

/// FNV-1a over bytes, as 16 hexadecimal digits: tells whether a file is the one that results belong to.
fn fingerprint(bytes: impl IntoIterator<Item = u8>) -> String {
    let hash = bytes.into_iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// The claim of a name.
///
/// # Errors
/// Another name.
pub(super) fn known(id: &str) -> Result<&'static dyn Claim, BoardError> {
    super::claims::claim(id).ok_or_else(|| BoardError::NoClaim(id.into()))
}

impl Board {
    /// What is measured, and how exactly. What was measured stays.
    pub fn set_options(&mut self, options: Options) {
        self.options = options;
    }

    pub fn options(&self) -> &Options {
        &self.options
    }

    pub fn results(&self) -> &Results {
        &self.results
    }

    /// A checkpoint was loaded. Results of another one under its name are forgotten.
    pub fn set_model(&mut self, name: &str, config: Config, bytes: &[u8]) {
        let fingerprint = fingerprint(bytes.iter().copied());
        self.results.retain(|key, record| {
            key.split(' ').nth(1).map(model_of) != Some(name) || record.model == fingerprint
        });
        self.skipped.retain(|known| known != name);
        self.left_out
            .retain(|key, _| key.split(' ').nth(1).map(model_of) != Some(name));
        self.models
            .insert(name.into(), LoadedModel { config, fingerprint });
    }

    /// A text was read. Results on another one under its name are forgotten.
    pub fn set_text(&mut self, name: &str, tokens: &[u32]) {
        let fingerprint = fingerprint(tokens.iter().flat_map(|token| token.to_le_bytes()));
        self.results.retain(|key, record| {
            let is_on_it = record.text.is_some() && key.split(' ').nth(2) == Some(name);
            !is_on_it || record.text.as_ref() == Some(&fingerprint)
        });
        self.skipped.retain(|known| known != name);
        self.left_out.retain(|key, _| key.split(' ').nth(2) != Some(name));
        let tokens = tokens.into();
        self.texts.insert(name.into(), LoadedText { tokens, fingerprint });
    }

    /// A model or a text cannot be had: what needs it is left out until it is given after all.
    pub fn skip(&mut self, name: &str) {
        if !self.is_skipped(name) {
            self.skipped.push(name.into());
        }
    }

    fn is_skipped(&self, name: &str) -> bool {
        self.skipped.iter().any(|known| known == name)
    }

    /// The task that a claim's next step belongs to cannot be measured.
    pub fn leave_out(&mut self, id: &str, reason: &str) -> Result<(), BoardError> {
        if let Some(task) = self.next_task(known(id)?) {
            self.left_out.insert(task.key(), reason.into());
        }
        Ok(())
    }

    /// The tasks of a claim that can be measured.
    fn tasks(&self, claim: &dyn Claim) -> Vec<Task> {
        let mut tasks = claim.tasks(&self.options);
        tasks.retain(|task| {
            let is_skipped =
                self.is_skipped(task.model()) || task.text().is_some_and(|text| self.is_skipped(text));
            !is_skipped && !self.left_out.contains_key(&task.key())
        });
        tasks
    }

    /// Tokens of the text that a task runs on; speed runs on any.
    fn text_tokens(&self, task: &Task) -> usize {
        let text = task.text().unwrap_or(&self.options.text);
        self.texts
            .get(text)
            .map_or(UNKNOWN_TEXT_TOKENS, |text| text.tokens.len())
    }

    pub(super) fn done(&self, task: &Task) -> usize {
        self.results.get(task).map_or(0, |record| record.done)
    }

    fn steps_left(&self, task: &Task) -> usize {
        let steps = task.steps(self.text_tokens(task)).len();
        steps.saturating_sub(self.done(task))
    }

    /// The first task that is not finished. Of speeds the one with the fewest samples, so that whatever slows
    /// the machine for a while slows all of them.
    pub(super) fn next_task(&self, claim: &dyn Claim) -> Option<Task> {
        let left = || {
            self.tasks(claim)
                .into_iter()
                .filter(|task| self.steps_left(task) > 0)
        };
        let first = left().next()?;
        match first.kind {
            Kind::Speed { .. } => left()
                .filter(|task| matches!(task.kind, Kind::Speed { .. }))
                .min_by_key(|task| self.done(task)),
            _ => Some(first),
        }
    }

    /// What a claim needs next.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn next(&self, id: &str) -> Result<Next, BoardError> {
        let Some(task) = self.next_task(known(id)?) else {
            return Ok(Next::Done);
        };
        let text = task.text().unwrap_or(&self.options.text);
        Ok(if !self.texts.contains_key(text) {
            Next::Text { text: text.into() }
        } else if !self.models.contains_key(task.model()) {
            Next::Load {
                model: task.model().into(),
            }
        } else {
            Next::Step {
                variant: task.variant,
            }
        })
    }

    /// Whether the engine's speed is known.
    pub fn is_calibrated(&self) -> bool {
        self.rates.is_some()
    }

    /// How far a claim has come.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn progress(&self, id: &str) -> Result<Progress, BoardError> {
        Ok(self.progress_of(&self.tasks(known(id)?)))
    }

    /// How far all claims have come together: tasks that they share count once.
    pub fn progress_of_all(&self) -> Progress {
        let mut distinct: Vec<Task> = Vec::new();
        for task in CLAIMS.iter().flat_map(|claim| self.tasks(*claim)) {
            if !distinct.contains(&task) {
                distinct.push(task);
            }
        }
        self.progress_of(&distinct)
    }

    fn progress_of(&self, tasks: &[Task]) -> Progress {
        let (mut all, mut left) = (0, Operations::default());
        for task in tasks {
            let by_name = || config_by_name(task.model());
            let Some(config) = self
                .models
                .get(task.model())
                .map(|model| model.config.clone())
                .or_else(by_name)
            else {
                continue;
            };
            let tokens = self.text_tokens(task);
            all += task.operations_left(&config, tokens, 0).total();
            left += task.operations_left(&config, tokens, self.done(task));
        }
        let operations_done = all - left.total();
        Progress {
            progress: if all > 0 {
                operations_done as f64 / all as f64
            } else {
                // Nothing of it can be measured.
                0.0
            },
            operations: all,
            operations_done,
            seconds: self.rates.map(|rates| rates.seconds(left)),
        }
    }

    /// What a claim makes of what was measured so far; a verdict only when all of it is measured that can be.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn finding(&self, id: &str) -> Result<Finding, BoardError> {
        let mut finding = known(id)?.finding(&self.options, &self.results);
        if self.progress(id)?.progress < 1.0 {
            finding.verdict = Verdict::Unmeasured;
        }
        Ok(finding)
    }

    /// What a claim had to do without: models and texts, and variants with the reason.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn missing(&self, id: &str) -> Result<Vec<String>, BoardError> {
        let mut missing: Vec<String> = Vec::new();
        let mut note = |what: String| {
            if !missing.contains(&what) {
                missing.push(what);
            }
        };
        for task in known(id)?.tasks(&self.options) {
            for name in [Some(task.model()), task.text()].into_iter().flatten() {
                if self.is_skipped(name) {
                    note(name.to_string());
                }
            }
            if let Some(reason) = self.left_out.get(&task.key()) {
                note(format!("{} (T = {}): {reason}", task.variant, task.length()));
            } else if self.texts.contains_key(task.text().unwrap_or(&self.options.text))
                && task.steps(self.text_tokens(&task)).is_empty()
            {
                let text = task.text().unwrap_or_default();
                note(format!("{text} (T = {})", task.length()));
            }
        }
        Ok(missing)
    }

    /// The checkpoints and the texts that a claim's tasks need, in the order of their use.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn needs(&self, id: &str) -> Result<(Vec<String>, Vec<String>), BoardError> {
        let (mut models, mut texts) = (Vec::new(), Vec::new());
        for task in known(id)?.tasks(&self.options) {
            let text = task.text().unwrap_or(&self.options.text);
            for (list, name) in [(&mut models, task.model()), (&mut texts, text)] {
                if !list.iter().any(|listed| listed == name) {
                    list.push(name.to_string());
                }
            }
        }
        Ok((models, texts))
    }

    /// Forgets what a claim measured, for all claims that share it.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn forget(&mut self, id: &str) -> Result<(), BoardError> {
        for task in known(id)?.tasks(&self.options) {
            self.results.remove(&task);
            self.left_out.remove(&task.key());
        }
        Ok(())
    }

    /// All that was measured, as JSON.
    ///
    /// # Errors
    /// None in practice.
    pub fn export(&self) -> Result<String, BoardError> {
        self.results
            .to_json()
            .map_err(|error| BoardError::Results(error.to_string()))
    }

    /// Takes back what was exported; how many results that were. Those of another checkpoint or text than
    /// the loaded one are left.
    ///
    /// # Errors
    /// Another text, or results of another version.
    pub fn restore(&mut self, json: &str) -> Result<usize, BoardError> {
        let mut restored = Results::from_json(json).map_err(BoardError::Results)?;
        restored.retain(|key, record| {
            let mut words = key.split(' ').skip(1);
            let model = words
                .next()
                .and_then(|variant| self.models.get(model_of(variant)));
            let text = words.next().and_then(|text| self.texts.get(text));
            let is_models = model.is_none_or(|model| model.fingerprint == record.model);
            let is_texts = record.text.is_none()
                || text.is_none_or(|text| Some(&text.fingerprint) == record.text.as_ref());
            is_models && is_texts
        });
        Ok(self.results.restore(restored))
    }
}
