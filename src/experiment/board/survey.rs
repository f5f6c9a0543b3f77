//! How the claims stand: what each needs, how far it is, what was found, and what it had to do without.

use super::claims::{CLAIMS, Claim};
use super::driver::{Board, BoardError, known};
use super::estimate::config_by_name;
use super::finding::{Finding, Verdict};
use super::task::{Task, operations};
use crate::model::Operations;
use serde::Serialize;

/// Tokens of a text that is not there yet, for estimates: enough for every task.
const UNKNOWN_TEXT_TOKENS: usize = 1 << 17;

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

/// What a claim had to do without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Missing {
    /// A checkpoint that could not be had.
    Model { name: String },
    /// A text that could not be had.
    Text { name: String },
    /// A text that is too short for windows of these lengths.
    Short { text: String, lengths: Vec<usize> },
    /// Lengths at which a variant cannot be measured, and why not at the first.
    Variant {
        variant: String,
        lengths: Vec<usize>,
        reason: String,
    },
}

/// A claim as it stands.
pub struct Standing {
    pub claim: &'static dyn Claim,
    /// The checkpoints and the texts that its tasks need, in the order of their use.
    pub models: Vec<String>,
    pub texts: Vec<String>,
    pub progress: Progress,
    pub finding: Finding,
    pub missing: Vec<Missing>,
}

/// What a task takes.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    steps: usize,
    /// Multiply-adds in all.
    all: u64,
    left: Operations,
}

/// The work of tasks by their keys: those that claims share are planned once.
type Planned = Vec<(String, Work)>;

impl Board {
    /// Tokens of the text that a task runs on.
    fn text_tokens(&self, task: &Task) -> usize {
        self.texts
            .get(self.text_of(task))
            .map_or(UNKNOWN_TEXT_TOKENS, |text| text.tokens.len())
    }

    pub(super) fn steps_left(&self, task: &Task) -> usize {
        let steps = task.steps(self.text_tokens(task)).len();
        steps.saturating_sub(self.done(task))
    }

    fn work(&self, task: &Task) -> Work {
        let steps = task.steps(self.text_tokens(task));
        let loaded = self.models.get(task.model()).map(|model| model.config.clone());
        let Some(config) = loaded.or_else(|| config_by_name(task.model())) else {
            return Work {
                steps: steps.len(),
                ..Work::default()
            };
        };
        let (done, left) = steps.split_at(self.done(task).min(steps.len()));
        let [done, left] = [done, left].map(|steps| operations(&config, steps.iter().flatten()));
        Work {
            steps: steps.len(),
            all: (done + left).total(),
            left,
        }
    }

    fn planned(&self, planned: &mut Planned, task: &Task) -> Work {
        let key = task.key();
        if let Some((_, work)) = planned.iter().find(|(known, _)| *known == key) {
            return *work;
        }
        let work = self.work(task);
        planned.push((key, work));
        work
    }

    fn progress_of(&self, works: impl Iterator<Item = Work>) -> Progress {
        let (all, left) = works.fold((0, Operations::default()), |(all, left), work| {
            (all + work.all, left + work.left)
        });
        let operations_done = all - left.total();
        Progress {
            // Where nothing of it can be measured, nothing is done.
            progress: if all > 0 {
                operations_done as f64 / all as f64
            } else {
                0.0
            },
            operations: all,
            operations_done,
            seconds: self.rates.map(|rates| rates.seconds(left)),
        }
    }

    /// What keeps a task from being measured; a text that is not read yet does not.
    fn obstacle(&self, task: &Task, work: Work) -> Option<Missing> {
        let text = self.text_of(task);
        if self.is_skipped(task.model()) {
            let name = task.model().into();
            return Some(Missing::Model { name });
        }
        if self.is_skipped(text) {
            return Some(Missing::Text { name: text.into() });
        }
        let lengths = vec![task.length()];
        if let Some(reason) = self.left_out.get(&task.key()) {
            return Some(Missing::Variant {
                variant: task.variant.clone(),
                lengths,
                reason: reason.clone(),
            });
        }
        let is_short = work.steps == 0 && self.texts.contains_key(text);
        is_short.then(|| Missing::Short {
            text: text.into(),
            lengths,
        })
    }

    fn standing_of(&self, claim: &'static dyn Claim, planned: &mut Planned) -> Standing {
        let (mut models, mut texts, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        let mut works = Vec::new();
        for task in claim.tasks(&self.options) {
            for (list, name) in [(&mut models, task.model()), (&mut texts, self.text_of(&task))] {
                if !list.iter().any(|listed| listed == name) {
                    list.push(name.to_string());
                }
            }
            let work = self.planned(planned, &task);
            if self.is_open(&task) {
                works.push(work);
            }
            if let Some(obstacle) = self.obstacle(&task, work) {
                note(&mut missing, obstacle);
            }
        }
        let progress = self.progress_of(works.into_iter());
        let mut finding = claim.finding(&self.options, &self.results);
        // A verdict only when all of it is measured that can be.
        if progress.progress < 1.0 {
            finding.verdict = Verdict::Unmeasured;
        }
        Standing {
            claim,
            models,
            texts,
            progress,
            finding,
            missing,
        }
    }

    /// How a claim stands.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn standing(&self, id: &str) -> Result<Standing, BoardError> {
        Ok(self.standing_of(known(id)?, &mut Planned::new()))
    }

    /// How all claims stand, and how far they have come together: tasks that they share count once.
    pub fn survey(&self) -> (Vec<Standing>, Progress) {
        let mut planned = Planned::new();
        let standings = CLAIMS.iter().map(|claim| self.standing_of(*claim, &mut planned));
        let standings = standings.collect();
        // Each once, where it can be measured.
        let mut open = Planned::new();
        for task in CLAIMS.iter().flat_map(|claim| claim.tasks(&self.options)) {
            let key = task.key();
            if self.is_open(&task) && !open.iter().any(|(known, _)| *known == key) {
                open.push((key, self.planned(&mut planned, &task)));
            }
        }
        let works = open.into_iter().map(|(_, work)| work);
        (standings, self.progress_of(works))
    }

    /// How far a claim has come.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn progress(&self, id: &str) -> Result<Progress, BoardError> {
        let tasks = known(id)?.tasks(&self.options);
        let open = tasks.iter().filter(|task| self.is_open(task));
        Ok(self.progress_of(open.map(|task| self.work(task))))
    }
}

/// Adds what is missing; lengths of one text or variant go together.
fn note(missing: &mut Vec<Missing>, more: Missing) {
    for known in missing.iter_mut() {
        let lengths = match (known, &more) {
            (Missing::Short { text, lengths }, Missing::Short { text: of, .. }) if text == of => lengths,
            (Missing::Variant { variant, lengths, .. }, Missing::Variant { variant: of, .. })
                if variant == of =>
            {
                lengths
            }
            (known, more) if known == more => return,
            _ => continue,
        };
        if let Missing::Short { lengths: more, .. } | Missing::Variant { lengths: more, .. } = more {
            lengths.extend(more);
            lengths.sort_unstable();
            lengths.dedup();
        }
        return;
    }
    missing.push(more);
}
