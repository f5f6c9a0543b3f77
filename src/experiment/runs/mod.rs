use super::{Curve, ExperimentError, Plan, Point, Pooled, Protocol, Step};
use crate::engine::{Batch, EngineError};
use crate::model::{Tokenizer, tokenizer};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Texts by name, and measurements on them by key: each run has its own plan, and for each model its own
/// curve. So several views can be served at once, and one that comes back finds what was measured.
#[derive(Debug, Default)]
pub struct Runs {
    texts: Vec<(String, Text)>,
    runs: Vec<(String, Run)>,
}

#[derive(Debug)]
struct Text {
    source: String,
    encoding: tokenizer::Encoding,
}

/// What a text became.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TextSummary {
    pub tokens: usize,
    /// Characters that the vocabulary lacks.
    pub dropped: usize,
}

/// What a run measures; in JSON only `text`, `scored_max` and the lengths must be given.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSettings {
    /// The name of its text.
    pub text: String,
    #[serde(default)]
    pub protocol: Protocol,
    /// The lengths to measure at, in this order; without them `shortest` and `longest` say which.
    #[serde(default)]
    pub lengths: Option<Vec<usize>>,
    /// The powers of two from `shortest` to `longest`, as far as the text reaches.
    #[serde(default)]
    pub shortest: usize,
    #[serde(default)]
    pub longest: usize,
    /// At most so many tokens are scored at each length.
    pub scored_max: usize,
    /// How many windows the engine computes side by side; 0 is one.
    #[serde(default)]
    pub together: usize,
    /// Whether each token's loss is kept, for differences by position: 4 bytes a token, model and length.
    #[serde(default)]
    pub keep_tokens: bool,
}

/// The plan of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunSummary {
    pub lengths: Vec<usize>,
    /// Tokens that are scored at every length.
    pub scored: usize,
    pub steps: usize,
}

#[derive(Debug)]
struct Run {
    settings: RunSettings,
    lengths: Vec<usize>,
    scored: usize,
    steps: Vec<Step>,
    /// By model.
    measured: Vec<(String, Measured)>,
}

#[derive(Debug)]
struct Measured {
    curve: Curve,
    /// How many steps are done.
    done: usize,
    /// The points as the last whole round left them.
    settled: Vec<Point>,
}

/// Why a run cannot be had.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum RunError {
    #[error("the text \"{0}\" is not loaded; load it before it is measured on")]
    NoText(String),
    #[error("the run \"{0}\" is not open; open it before its steps")]
    NoRun(String),
    #[error("the run \"{0}\" is open with other settings; close it first, or choose another key")]
    OtherSettings(String),
    #[error(
        "the text has {tokens} tokens, a window of {length} needs {length} + 1; choose a shorter length or a longer text"
    )]
    Window { tokens: usize, length: usize },
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

fn find<'a, T>(list: &'a [(String, T)], name: &str) -> Option<&'a T> {
    list.iter()
        .find(|(known, _)| known == name)
        .map(|(_, value)| value)
}

impl Runs {
    /// Takes a text; the same one again is not tokenized again. Another text under a known name takes its
    /// place, and closes the runs on the old one.
    pub fn set_text(&mut self, name: &str, source: &str, tokenizer: &Tokenizer) -> TextSummary {
        let is_known = find(&self.texts, name).is_some_and(|text| text.source == source);
        if !is_known {
            self.texts.retain(|(known, _)| known != name);
            self.runs.retain(|(_, run)| run.settings.text != name);
            let text = Text {
                source: source.into(),
                encoding: tokenizer.encode(source),
            };
            self.texts.push((name.into(), text));
        }
        let encoding = find(&self.texts, name).map(|text| &text.encoding);
        TextSummary {
            tokens: encoding.map_or(0, |encoding| encoding.ids.len()),
            dropped: encoding.map_or(0, |encoding| encoding.dropped),
        }
    }

    /// The tokens of a text.
    ///
    /// # Errors
    /// A text that is not there.
    pub fn tokens(&self, text: &str) -> Result<&[u32], RunError> {
        match find(&self.texts, text) {
            Some(text) => Ok(&text.encoding.ids),
            None => Err(RunError::NoText(text.into())),
        }
    }

    /// The first window of a text.
    ///
    /// # Errors
    /// A text that is not there, or too short.
    pub fn window(&self, text: &str, length: usize) -> Result<Batch, RunError> {
        let tokens = self.tokens(text)?;
        let window = tokens.get(..=length).ok_or(RunError::Window {
            tokens: tokens.len(),
            length,
        })?;
        Ok(Batch::new(window.to_vec(), 1, length)?)
    }

    /// Opens a run. One that is open with these settings stays as it is, with all it measured.
    ///
    /// # Errors
    /// A key that is open with other settings, a text that is not there, or one too short for the shortest
    /// length.
    pub fn open(&mut self, key: &str, settings: RunSettings) -> Result<RunSummary, RunError> {
        if let Some(run) = find(&self.runs, key) {
            return if run.settings == settings {
                Ok(run.summary())
            } else {
                Err(RunError::OtherSettings(key.into()))
            };
        }
        let tokens = self.tokens(&settings.text)?.len();
        let lengths = match &settings.lengths {
            Some(lengths) => lengths.clone(),
            None => {
                let mut powers = Plan::lengths(settings.shortest, settings.longest, tokens);
                if powers.is_empty() {
                    // The plan then says what is missing.
                    powers.push(settings.shortest);
                }
                powers
            }
        };
        let plan =
            Plan::with(tokens, &lengths, settings.scored_max, settings.protocol)?.together(settings.together);
        let run = Run {
            settings,
            lengths,
            scored: plan.scored(),
            steps: plan.steps().collect(),
            measured: Vec::new(),
        };
        let summary = run.summary();
        self.runs.push((key.into(), run));
        Ok(summary)
    }

    /// Forgets a run and what it measured.
    pub fn close(&mut self, key: &str) {
        self.runs.retain(|(known, _)| known != key);
    }

    /// Forgets what was measured of a model and its variants, in every run: another stands under its name.
    pub fn forget_model(&mut self, model: &str) {
        let is_another = |variant: &str| variant.split('?').next() != Some(model);
        for (_, run) in &mut self.runs {
            run.measured.retain(|(variant, _)| is_another(variant));
        }
    }

    /// How many steps a model has left; 0 in a run that is not open.
    pub fn steps_left(&self, key: &str, model: &str) -> usize {
        find(&self.runs, key).map_or(0, |run| run.steps.len() - run.done(model))
    }

    /// The round of a model's next step (models that are behind go first), `None` after the last.
    pub fn next_round(&self, key: &str, model: &str) -> Option<usize> {
        self.next_step(key, model).ok().flatten().map(|step| step.round)
    }

    /// A model's next step; `None` after the last.
    ///
    /// # Errors
    /// A run that is not open.
    pub fn next_step(&self, key: &str, model: &str) -> Result<Option<Step>, RunError> {
        let run = self.run(key)?;
        Ok(run.steps.get(run.done(model)).copied())
    }

    /// The settings of a run.
    ///
    /// # Errors
    /// A run that is not open.
    pub fn settings(&self, key: &str) -> Result<&RunSettings, RunError> {
        Ok(&self.run(key)?.settings)
    }

    /// The windows of a step of a run.
    ///
    /// # Errors
    /// A run that is not open, or a step that is another's.
    pub fn batch(&self, key: &str, step: &Step) -> Result<Batch, RunError> {
        Ok(step.batch(self.tokens(&self.run(key)?.settings.text)?)?)
    }

    /// Notes that a model's next step is done: with its losses, `[windows][T]` in nats, or without where
    /// they are undefined.
    ///
    /// # Errors
    /// A run that is not open.
    pub fn finish_step(&mut self, key: &str, model: &str, nll: Option<&[f32]>) -> Result<(), RunError> {
        let found = self.runs.iter_mut().find(|(known, _)| known == key);
        let run = found
            .map(|(_, run)| run)
            .ok_or_else(|| RunError::NoRun(key.into()))?;
        let place = run.measured.iter().position(|(known, _)| known == model);
        let place = place.unwrap_or_else(|| {
            let curve = if run.settings.keep_tokens {
                Curve::keeping_tokens()
            } else {
                Curve::default()
            };
            let new = Measured {
                curve,
                done: 0,
                settled: Vec::new(),
            };
            run.measured.push((model.into(), new));
            run.measured.len() - 1
        });
        let measured = &mut run.measured[place].1;
        if let Some(step) = run.steps.get(measured.done) {
            if let Some(nll) = nll {
                measured.curve.add(step, nll);
            }
            measured.done += 1;
            let next = run.steps.get(measured.done);
            if next.is_none_or(|next| next.round != step.round) {
                measured.settled = measured.curve.points();
            }
        }
        Ok(())
    }

    /// The points of a model, by length; none in a run that is not open. In the first round each comes as it is
    /// measured; from then on they are those of the last whole round: were some of a later one, they would stand for
    /// other tokens than their neighbours, and a curve would bend where the text is harder.
    pub fn points(&self, key: &str, model: &str) -> Vec<Point> {
        let run = find(&self.runs, key);
        match run.and_then(|run| find(&run.measured, model)) {
            Some(measured) if measured.settled.is_empty() => measured.curve.points(),
            Some(measured) => measured.settled.clone(),
            None => Vec::new(),
        }
    }

    /// The mean loss by position of a model at a length, in nats, `[T]`; empty where it was not measured.
    pub fn by_position(&self, key: &str, model: &str, length: usize) -> Vec<f64> {
        let curve = self.curve(key, model);
        curve.map_or(Vec::new(), |curve| curve.by_position(length))
    }

    /// The losses of a model so far at a length, in at most `groups` groups; `None` where it was not measured.
    pub fn pooled(&self, key: &str, model: &str, length: usize, groups: usize) -> Option<Pooled> {
        self.curve(key, model)?.pooled(length, groups)
    }

    /// The loss of a model at a length by place in the text; empty where it was not measured, and in a run
    /// that keeps no tokens.
    pub fn by_token(&self, key: &str, model: &str, length: usize) -> &[f32] {
        let curve = self.curve(key, model);
        curve.map_or(&[], |curve| curve.by_token(length))
    }

    fn run(&self, key: &str) -> Result<&Run, RunError> {
        find(&self.runs, key).ok_or_else(|| RunError::NoRun(key.into()))
    }

    fn curve(&self, key: &str, model: &str) -> Option<&Curve> {
        let run = find(&self.runs, key)?;
        find(&run.measured, model).map(|measured| &measured.curve)
    }
}

impl Run {
    fn done(&self, model: &str) -> usize {
        find(&self.measured, model).map_or(0, |measured| measured.done)
    }

    fn summary(&self) -> RunSummary {
        RunSummary {
            lengths: self.lengths.clone(),
            scored: self.scored,
            steps: self.steps.len(),
        }
    }
}

#[cfg(test)]
mod tests;
