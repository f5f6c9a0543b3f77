use crate::engine::{Captures, RASTER_SIDE_MAX};
use crate::experiment::{CopyProbe, Cost, Plan, Protocol, STEP_TOKENS, Step};
use crate::model::{Config, Operations};
use std::fmt;

/// One measurement of one variant of a model. Claims that need the same one share it: equal tasks have
/// equal [keys](Task::key).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// A model, perhaps with changes at inference: `rotary?scaling=yarn`.
    pub variant: String,
    pub kind: Kind,
}

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Losses in windows of `length` on the first `tokens` predictions of a text, or as many as it has.
    Losses {
        text: String,
        protocol: Protocol,
        length: usize,
        tokens: usize,
    },
    /// The loss of a token in a window of `length` minus the loss of the same token in a window of `base`,
    /// by position in the longer window; `length` is a multiple of `base`.
    Paired {
        text: String,
        length: usize,
        base: usize,
        tokens: usize,
    },
    /// What a model makes of a passage that it has seen `gap` tokens before, over `windows` windows.
    Copy {
        text: String,
        gap: usize,
        windows: usize,
    },
    /// The time that a token takes in windows of `length` on an engine, by its [name](super::engine_name):
    /// times of another one are another measurement.
    Speed { length: usize, engine: String },
}

/// Tokens that a sample of speed computes, at least.
const SPEED_TOKENS: usize = 2048;
/// Samples of a speed; the first only warms up.
pub const SPEED_SAMPLES: usize = 6;
/// The trained length of the models that were taught to copy.
const COPY_TRAINED: usize = 128;
/// Positions of a window that the paired losses are pooled over.
pub const PAIRED_CELL: usize = 16;

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variant = &self.variant;
        match &self.kind {
            Kind::Losses {
                text,
                protocol,
                length,
                tokens,
            } => {
                write!(f, "losses {variant} {text} {length} {tokens}")?;
                match protocol {
                    Protocol::NonOverlapping => Ok(()),
                    Protocol::Sliding { stride } => write!(f, " sliding {stride}"),
                }
            }
            Kind::Paired {
                text,
                length,
                base,
                tokens,
            } => write!(f, "paired {variant} {text} {length} {base} {tokens}"),
            Kind::Copy { text, gap, windows } => write!(f, "copy {variant} {text} {gap} {windows}"),
            Kind::Speed { length, engine } => write!(f, "speed {variant} {length} {engine}"),
        }
    }
}

/// What a task's key says of the files that it was measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The name of the checkpoint.
    pub model: &'a str,
    /// The text; none of speed.
    pub text: Option<&'a str>,
}

impl<'a> Key<'a> {
    /// Reads what [`Task::key`] wrote; `None` where it is no key of a task.
    pub fn read(key: &'a str) -> Option<Self> {
        let mut words = key.split(' ');
        let (kind, variant) = (words.next()?, words.next()?);
        let text = match kind {
            "losses" | "paired" | "copy" => Some(words.next()?),
            // The length, and the engine that once was not there.
            "speed" => words.nth(1).map(|_| None)?,
            _ => return None,
        };
        Some(Self {
            model: model_of(variant),
            text,
        })
    }
}

/// The model that a variant changes.
pub fn model_of(variant: &str) -> &str {
    variant.split_once('?').map_or(variant, |(model, _)| model)
}

impl Task {
    /// Names the task in results.
    pub fn key(&self) -> String {
        self.to_string()
    }

    /// The name of the checkpoint.
    pub fn model(&self) -> &str {
        model_of(&self.variant)
    }

    /// The text that it is measured on; none for speed.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Losses { text, .. } | Kind::Paired { text, .. } | Kind::Copy { text, .. } => Some(text),
            Kind::Speed { .. } => None,
        }
    }

    /// The length T of its windows.
    pub fn length(&self) -> usize {
        match self.kind {
            Kind::Losses { length, .. } | Kind::Paired { length, .. } | Kind::Speed { length, .. } => length,
            Kind::Copy { .. } => self.probe().map_or(0, |probe| probe.length()),
        }
    }

    /// What a step captures: of a copy probe the attention of every head, where it is not pooled.
    pub fn captures(&self) -> Captures {
        let is_probe = matches!(self.kind, Kind::Copy { .. });
        Captures {
            thumbnails: Some(self.length()).filter(|length| is_probe && *length <= RASTER_SIDE_MAX),
            ..Captures::default()
        }
    }

    /// The probe of a copy score, at its beginning.
    pub fn probe(&self) -> Option<CopyProbe> {
        match self.kind {
            Kind::Copy { gap, windows, .. } => CopyProbe::new(gap, COPY_TRAINED, windows).ok(),
            _ => None,
        }
    }

    /// How many predictions (windows, of a copy score) are scored in a text of `text_tokens` tokens; 0 where
    /// it is too short for one window.
    pub fn scored(&self, text_tokens: usize) -> usize {
        // The last token is only ever a target.
        let available = text_tokens.saturating_sub(1);
        match self.kind {
            Kind::Losses { length, tokens, .. } => {
                let scored = tokens.min(available);
                if scored < length { 0 } else { scored }
            }
            Kind::Paired { length, tokens, .. } => tokens.min(available) / length * length,
            Kind::Copy { windows, .. } => {
                // The probe's windows begin at unlike places.
                let is_enough = available >= self.length() + windows;
                if is_enough { windows } else { 0 }
            }
            Kind::Speed { .. } => available,
        }
    }

    /// Its steps for a text of `text_tokens` tokens, each a few forwards; none where the text is too short.
    pub fn steps(&self, text_tokens: usize) -> Vec<Vec<Step>> {
        let scored = self.scored(text_tokens);
        if scored == 0 {
            return Vec::new();
        }
        match self.kind {
            Kind::Losses { protocol, length, .. } => {
                let plan = Plan::whole(length, scored, protocol);
                plan.map_or(Vec::new(), |plan| plan.steps().map(|step| vec![step]).collect())
            }
            Kind::Paired { length, base, .. } => {
                let window = |begin| {
                    vec![
                        Step::whole(begin, length, 1),
                        Step::whole(begin, base, length / base),
                    ]
                };
                (0..scored).step_by(length).map(window).collect()
            }
            Kind::Copy { .. } => {
                let length = self.length();
                let most = (STEP_TOKENS / (2 * length)).max(1);
                // Two forwards a step, with the passage and without; where they begin is the probe's matter.
                let step = |first| vec![Step::whole(0, length, most.min(scored - first)); 2];
                (0..scored).step_by(most).map(step).collect()
            }
            Kind::Speed { length, .. } => {
                let windows = (SPEED_TOKENS / length).max(1);
                vec![vec![Step::whole(0, length, windows)]; SPEED_SAMPLES]
            }
        }
    }

    /// What its steps from `done` on compute.
    pub fn operations_left(&self, config: &Config, text_tokens: usize, done: usize) -> Operations {
        let steps = self.steps(text_tokens);
        operations(config, steps.iter().skip(done).flatten())
    }
}

/// What forwards compute.
pub fn operations<'a>(config: &Config, steps: impl IntoIterator<Item = &'a Step>) -> Operations {
    let cost: Cost = steps.into_iter().map(|step| step.cost(config)).sum();
    cost.operations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(length: usize, tokens: usize) -> Task {
        Task {
            variant: "rotary-l64?window=8".into(),
            kind: Kind::Losses {
                text: "persuasion".into(),
                protocol: Protocol::Sliding { stride: 4 },
                length,
                tokens,
            },
        }
    }

    #[test]
    fn equal_tasks_have_equal_keys_and_others_not() {
        assert_eq!(losses(8, 100).key(), losses(8, 100).key());
        assert_ne!(losses(8, 100).key(), losses(8, 101).key());
        assert_eq!(
            losses(8, 100).key(),
            "losses rotary-l64?window=8 persuasion 8 100 sliding 4"
        );
        assert_eq!(losses(8, 100).model(), "rotary-l64");
    }

    #[test]
    fn a_key_tells_its_model_and_its_text() {
        let kinds = [
            losses(8, 100).kind,
            Kind::Paired {
                text: "own".into(),
                length: 64,
                base: 16,
                tokens: 1000,
            },
            Kind::Copy {
                text: "hamlet".into(),
                gap: 16,
                windows: 2,
            },
            Kind::Speed {
                length: 128,
                engine: "cpu".into(),
            },
        ];
        for kind in kinds {
            let task = Task {
                variant: "rotary-l64?window=8".into(),
                kind,
            };
            let key = task.key();
            let read = Key::read(&key).unwrap();
            assert_eq!((read.model, read.text), (task.model(), task.text()), "{key}");
        }
        for other in [
            "",
            "losses",
            "losses alibi",
            "speed alibi 128",
            "weights alibi persuasion",
        ] {
            assert_eq!(Key::read(other), None, "{other}");
        }
    }

    #[test]
    fn a_short_text_gives_no_steps() {
        assert_eq!((losses(64, 100).scored(65), losses(64, 100).scored(64)), (64, 0));
        assert!(losses(64, 100).steps(64).is_empty());
        let paired = Task {
            variant: "alibi".into(),
            kind: Kind::Paired {
                text: "own".into(),
                length: 64,
                base: 16,
                tokens: 1000,
            },
        };
        assert_eq!((paired.scored(64), paired.scored(200)), (0, 192));
        let steps = paired.steps(200);
        assert_eq!(steps.len(), 3);
        assert_eq!((steps[1][0].start, steps[1][1].windows), (64, 4));
    }
}
