//! The laboratory that lives in the worker: an engine, the loaded models, the text, and the experiment.
//!
//! The worker calls one method at a time and waits for it; errors cross as messages.

use crate::encoding::{Encoding, Learned, PastEnd};
use crate::engine::{Batch, Captures, Choice, Engine, HeadId, Model, Output, Verdict};
use crate::experiment::{Curve, Plan, Step};
use crate::model::{Checkpoint, Tokenizer, Weights};
use serde_json::json;
use wasm_bindgen::prelude::*;

/// An engine with models, a text and what was measured so far.
#[wasm_bindgen]
pub struct Laboratory {
    engine: Engine,
    verdict: Verdict,
    /// By name.
    models: Vec<(String, Loaded)>,
    tokenizer: Option<Tokenizer>,
    tokens: Vec<u32>,
    steps: Vec<Step>,
}

struct Loaded {
    model: Model,
    /// Only the encoding's own tensors.
    weights: Weights,
    curve: Curve,
    /// How many steps of the plan are done.
    done: usize,
}

/// What was captured of one window.
#[wasm_bindgen]
pub struct Captured {
    output: Output,
}

#[wasm_bindgen]
impl Captured {
    /// Cells along a side of the raster.
    #[wasm_bindgen(getter)]
    pub fn side(&self) -> usize {
        self.output.attention.as_ref().map_or(0, |raster| raster.side)
    }

    /// `[side][side]`: query, key.
    pub fn raster(&mut self) -> Vec<f32> {
        self.output
            .attention
            .take()
            .map_or(Vec::new(), |raster| raster.data)
    }

    /// `[layers][heads][length]`: mean attention by distance.
    pub fn profile(&mut self) -> Vec<f32> {
        self.output
            .profile
            .take()
            .map_or(Vec::new(), |profile| profile.data)
    }
}

fn error(message: impl ToString) -> JsError {
    JsError::new(&message.to_string())
}

#[wasm_bindgen]
impl Laboratory {
    /// Starts the engine of choice: "auto", "cpu" or "gpu".
    ///
    /// # Errors
    /// Another word.
    pub async fn start(choice: String) -> Result<Self, JsError> {
        let choice: Choice = serde_json::from_value(choice.into())?;
        let (engine, verdict) = Engine::start(choice).await;
        Ok(Self {
            engine,
            verdict,
            models: Vec::new(),
            tokenizer: None,
            tokens: Vec::new(),
            steps: Vec::new(),
        })
    }

    /// Which engine runs and why, as JSON.
    ///
    /// # Errors
    /// None in practice.
    pub fn verdict(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string(&self.verdict)?)
    }

    /// Reads the bytes of a tokenizer.json.
    ///
    /// # Errors
    /// Bytes that are no such file.
    pub fn set_tokenizer(&mut self, bytes: &[u8]) -> Result<(), JsError> {
        self.tokenizer = Some(Tokenizer::from_json(bytes)?);
        Ok(())
    }

    /// Takes the text to evaluate on, and forgets what was measured on another; gives JSON
    /// `{tokens, dropped}`: its tokens, and characters that the vocabulary lacks.
    ///
    /// # Errors
    /// No tokenizer.
    pub fn set_text(&mut self, text: &str) -> Result<String, JsError> {
        let tokenizer = self
            .tokenizer
            .as_ref()
            .ok_or_else(|| error("load the tokenizer before the text"))?;
        let encoding = tokenizer.encode(text);
        self.tokens = encoding.ids;
        self.steps.clear();
        for loaded in self.models.iter_mut().map(|(_, loaded)| loaded) {
            (loaded.curve, loaded.done) = (Curve::default(), 0);
        }
        Ok(json!({"tokens": self.tokens.len(), "dropped": encoding.dropped}).to_string())
    }

    /// Loads a checkpoint's bytes under a name and gives its configuration as JSON.
    ///
    /// # Errors
    /// Bytes that are no checkpoint, or one that belongs to another tokenizer.
    pub fn load(&mut self, name: String, bytes: &[u8]) -> Result<String, JsError> {
        let Checkpoint { config, weights, .. } = Checkpoint::from_bytes(bytes)?;
        if let Some(tokenizer) = &self.tokenizer
            && tokenizer.vocabulary() != config.vocabulary
        {
            let (found, need) = (config.vocabulary, tokenizer.vocabulary());
            return Err(error(format!(
                "the checkpoint has {found} tokens, the page's tokenizer {need}; they belong to different trainings"
            )));
        }
        let model = self.engine.load(&config, &weights)?;
        let mut own = Weights::new();
        for (name, tensor) in weights {
            if ["position_embedding.weight", "relative_bias.weight"].contains(&&name[..]) {
                own.insert(name, tensor);
            }
        }
        let loaded = Loaded {
            model,
            weights: own,
            curve: Curve::default(),
            done: 0,
        };
        match self.models.iter_mut().find(|(known, _)| *known == name) {
            Some((_, place)) => *place = loaded,
            None => self.models.push((name, loaded)),
        }
        Ok(serde_json::to_string(&config)?)
    }

    /// What the encoding of a model was trained to: the learned table `[L][d_model]`, or T5's biases
    /// `[buckets][heads]`; empty for the others.
    ///
    /// # Errors
    /// A model that is not loaded.
    pub fn encoding_weights(&self, name: &str) -> Result<Vec<f32>, JsError> {
        let loaded = self.model(name).ok_or_else(|| not_loaded(name))?;
        Ok(loaded
            .weights
            .values()
            .next()
            .map_or(Vec::new(), |tensor| tensor.data.clone()))
    }

    /// Whether positions past a learned table repeat its last row, or are undefined.
    pub fn repeat_last_row(&mut self, repeat: bool) {
        let past_end = if repeat {
            PastEnd::LastRow
        } else {
            PastEnd::Undefined
        };
        for loaded in self.models.iter_mut().map(|(_, loaded)| loaded) {
            let encoding = Encoding::Learned(Learned { past_end });
            let now = &loaded.model.config().encoding;
            if matches!(now, Encoding::Learned(_)) && *now != encoding {
                loaded.model.set_encoding(encoding);
                (loaded.curve, loaded.done) = (Curve::default(), 0);
            }
        }
    }

    /// Plans the measurement at powers of two from `shortest` to `longest`, as far as the text reaches, on
    /// at most `scored_max` tokens; gives JSON `{lengths, scored, steps}`.
    ///
    /// # Errors
    /// A text too short for the shortest length.
    pub fn plan(&mut self, shortest: usize, longest: usize, scored_max: usize) -> Result<String, JsError> {
        let mut lengths = Plan::lengths(shortest, longest, self.tokens.len());
        if lengths.is_empty() {
            lengths.push(shortest);
        }
        let plan = Plan::new(self.tokens.len(), &lengths, scored_max)?;
        self.steps = plan.steps().collect();
        for loaded in self.models.iter_mut().map(|(_, loaded)| loaded) {
            (loaded.curve, loaded.done) = (Curve::default(), 0);
        }
        Ok(json!({"lengths": lengths, "scored": plan.scored(), "steps": self.steps.len()}).to_string())
    }

    /// How many steps a model has left; 0 for one that is not loaded.
    pub fn steps_left(&self, name: &str) -> usize {
        self.model(name)
            .map_or(0, |loaded| self.steps.len() - loaded.done)
    }

    /// The round of a model's next step: models that are behind go first.
    pub fn next_round(&self, name: &str) -> usize {
        let next = self.model(name).and_then(|loaded| self.steps.get(loaded.done));
        next.map_or(usize::MAX, |step| step.round)
    }

    /// Runs a model's next step; gives JSON `{tokens, length, points}`: tokens computed, the length, and
    /// all points of the model so far. A length past a learned table gives `undefined: true`.
    ///
    /// # Errors
    /// A model that is not loaded, or an engine that failed.
    pub async fn step(&mut self, name: String) -> Result<String, JsError> {
        let loaded = find(&mut self.models, &name)?;
        let Some(step) = self.steps.get(loaded.done).copied() else {
            return Ok(json!({"tokens": 0, "points": loaded.curve.points()}).to_string());
        };
        let is_undefined = is_undefined(&loaded.model, step.length);
        if !is_undefined {
            let output = loaded
                .model
                .forward(&step.batch(&self.tokens)?, &Captures::default())
                .await?;
            loaded.curve.add(&step, &output.nll);
        }
        loaded.done += 1;
        let tokens = if is_undefined {
            0
        } else {
            step.windows * step.length
        };
        Ok(json!({
            "tokens": tokens,
            "length": step.length,
            "undefined": is_undefined,
            "points": loaded.curve.points(),
        })
        .to_string())
    }

    /// The mean loss by position of a model at a length, in nats; empty where it was not measured.
    pub fn by_position(&self, name: &str, length: usize) -> Vec<f32> {
        let losses = self
            .model(name)
            .map_or(Vec::new(), |loaded| loaded.curve.by_position(length));
        losses.into_iter().map(|loss| loss as f32).collect()
    }

    /// Runs the first `length` tokens of the text and captures one head's attention and every head's
    /// attention by distance.
    ///
    /// # Errors
    /// A model that is not loaded, a text too short, or an engine that failed.
    pub async fn attention(
        &mut self,
        name: String,
        length: usize,
        layer: usize,
        head: usize,
    ) -> Result<Captured, JsError> {
        let tokens = self.tokens.len();
        let window = self.tokens.get(..=length).ok_or_else(|| {
            error(format!("the text has {tokens} tokens, a window of {length} needs {}; choose a shorter length or a longer text", length + 1))
        })?;
        let loaded = find(&mut self.models, &name)?;
        let batch = Batch::new(window.to_vec(), 1, length)?;
        let captures = Captures {
            attention: Some(HeadId { layer, head }),
            profile: true,
            ..Captures::default()
        };
        Ok(Captured {
            output: loaded.model.forward(&batch, &captures).await?,
        })
    }
}

impl Laboratory {
    fn model(&self, name: &str) -> Option<&Loaded> {
        let found = self.models.iter().find(|(known, _)| known == name);
        found.map(|(_, loaded)| loaded)
    }
}

/// Not a method: the text stays readable while the model is borrowed.
fn find<'a>(models: &'a mut [(String, Loaded)], name: &str) -> Result<&'a mut Loaded, JsError> {
    let found = models.iter_mut().find(|(known, _)| known == name);
    found.map(|(_, loaded)| loaded).ok_or_else(|| not_loaded(name))
}

fn not_loaded(name: &str) -> JsError {
    error(format!("the model \"{name}\" is not loaded"))
}

/// Whether the model has no positions for that length: a learned table that ends before.
fn is_undefined(model: &Model, length: usize) -> bool {
    let config = model.config();
    let ends = matches!(
        &config.encoding,
        Encoding::Learned(Learned {
            past_end: PastEnd::Undefined
        })
    );
    ends && length > config.trained_length
}
