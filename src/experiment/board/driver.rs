use super::claims::{Claim, Options};
use super::estimate::Rates;
use super::results::{Record, Results};
use super::task::{Key, Kind, Task};
use crate::engine::EngineError;
use crate::model::Config;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use thiserror::Error;

/// What was measured, and what is to be measured next.
#[derive(Debug, Default)]
pub struct Board {
    pub(super) options: Options,
    pub(super) results: Results,
    /// Keys of results that were changed since changes were last told.
    pub(super) touched: Vec<String>,
    /// Fingerprints of checkpoints that are known before these are loaded.
    pub(super) expected: Vec<(String, String)>,
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

/// FNV-1a over bytes, as 16 hexadecimal digits: tells whether a file is the one that results belong to.
pub fn fingerprint(bytes: impl IntoIterator<Item = u8>) -> String {
    let hash = bytes.into_iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}")
}

/// What computes, in one word: times are kept by it. `adapter` is the GPU's own description, where there is one.
pub fn engine_name(engine: &str, adapter: Option<&str>) -> String {
    let words = adapter
        .filter(|_| engine != "cpu")
        .unwrap_or_default()
        .split_whitespace();
    std::iter::once(engine).chain(words).collect::<Vec<_>>().join("_")
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

    /// A checkpoint was loaded; `fingerprint` tells it from another under its name, whose results are
    /// forgotten.
    pub fn set_model(&mut self, name: &str, config: Config, fingerprint: &str) {
        self.keep_results(|key, record| key.model != name || record.model == fingerprint);
        self.ask_again(name);
        let fingerprint = fingerprint.into();
        self.models
            .insert(name.into(), LoadedModel { config, fingerprint });
    }

    /// A text was read. Results on another one under its name are forgotten.
    pub fn set_text(&mut self, name: &str, tokens: &[u32]) {
        let fingerprint = fingerprint(tokens.iter().flat_map(|token| token.to_le_bytes()));
        self.keep_results(|key, record| {
            key.text != Some(name) || record.text.as_deref() == Some(&fingerprint)
        });
        self.ask_again(name);
        let tokens = tokens.into();
        self.texts.insert(name.into(), LoadedText { tokens, fingerprint });
    }

    /// Keeps what `is_kept` says of results; the others are forgotten, as are those of no task.
    pub(super) fn keep_results(&mut self, is_kept: impl Fn(Key, &Record) -> bool) {
        let mut dropped = Vec::new();
        self.results.retain(|key, record| {
            let stays = Key::read(key).is_some_and(|read| is_kept(read, record));
            if !stays {
                dropped.push(key.into());
            }
            stays
        });
        for key in dropped {
            self.touch(key);
        }
    }

    /// Notes that the results of a key were changed.
    pub(super) fn touch(&mut self, key: String) {
        if !self.touched.contains(&key) {
            self.touched.push(key);
        }
    }

    /// A model or a text cannot be had: what needs it is left out until it is given after all.
    pub fn skip(&mut self, name: &str) {
        if !self.is_skipped(name) {
            self.skipped.push(name.into());
        }
    }

    /// A model or a text that could not be had is to be asked for again, and so is what of it could not be
    /// measured.
    pub fn ask_again(&mut self, name: &str) {
        self.skipped.retain(|known| known != name);
        self.left_out
            .retain(|key, _| Key::read(key).is_some_and(|key| key.model != name && key.text != Some(name)));
    }

    pub(super) fn is_skipped(&self, name: &str) -> bool {
        self.skipped.iter().any(|known| known == name)
    }

    /// The task that a claim's next step belongs to cannot be measured.
    pub fn leave_out(&mut self, id: &str, reason: &str) -> Result<(), BoardError> {
        if let Some(task) = self.next_task(known(id)?) {
            self.left_out.insert(task.key(), reason.into());
        }
        Ok(())
    }

    /// The text that a task runs on; speed runs on any.
    pub(super) fn text_of<'a>(&'a self, task: &'a Task) -> &'a str {
        task.text().unwrap_or(&self.options.text)
    }

    /// Whether a task can be measured, as far as is known.
    pub(super) fn is_open(&self, task: &Task) -> bool {
        let is_skipped = self.is_skipped(task.model()) || self.is_skipped(self.text_of(task));
        !is_skipped && !self.left_out.contains_key(&task.key())
    }

    pub(super) fn done(&self, task: &Task) -> usize {
        self.results.get(task).map_or(0, |record| record.done)
    }

    /// The first task that is not finished. Of speeds the one with the fewest samples, so that whatever slows
    /// the machine for a while slows all of them.
    pub(super) fn next_task(&self, claim: &dyn Claim) -> Option<Task> {
        let left = || {
            let tasks = claim.tasks(&self.options).into_iter();
            tasks.filter(|task| self.is_open(task) && self.steps_left(task) > 0)
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
        let text = self.text_of(&task);
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
}
