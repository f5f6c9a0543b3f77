//! The laboratory that lives in the worker: an engine, the loaded models, texts, and runs on them. It serves
//! many views at once; what it keeps for whom is in [`Runs`].
//!
//! The worker calls one method at a time and waits for it; errors cross as messages.

use crate::encoding::{Encoding, Learned, PastEnd, Positional};
use crate::engine::{Captures, Choice, Engine, HeadId, Model, Output, Verdict};
use crate::experiment::{RunSettings, Runs};
use crate::model::{Checkpoint, Tokenizer, Weights};
use serde_json::json;
use wasm_bindgen::prelude::*;

/// An engine with models, texts and what was measured so far.
#[wasm_bindgen]
pub struct Laboratory {
    engine: Engine,
    verdict: Verdict,
    /// By name.
    models: Vec<(String, Loaded)>,
    tokenizer: Option<Tokenizer>,
    runs: Runs,
}

struct Loaded {
    model: Model,
    /// Only the encoding's own tensors.
    weights: Weights,
}

/// What was captured of one window; each array is handed over once.
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
        let raster = self.output.attention.as_mut();
        raster.map_or(Vec::new(), |raster| std::mem::take(&mut raster.data))
    }

    /// `[layers][heads][length]`: mean attention by distance.
    pub fn profile(&mut self) -> Vec<f32> {
        let profile = self.output.profile.as_mut();
        profile.map_or(Vec::new(), |profile| std::mem::take(&mut profile.data))
    }

    /// `[layers][heads]`, in nats: the mean entropy of the rows of attention.
    pub fn entropy(&mut self) -> Vec<f32> {
        let profile = self.output.profile.as_mut();
        profile.map_or(Vec::new(), |profile| std::mem::take(&mut profile.entropy))
    }

    /// Cells along a side of a thumbnail; 0 where none were asked for.
    #[wasm_bindgen(getter)]
    pub fn thumbnail_side(&self) -> usize {
        self.output.thumbnails.as_ref().map_or(0, |all| all.side)
    }

    /// `[layers][heads][side][side]`: query, key.
    pub fn thumbnails(&mut self) -> Vec<f32> {
        let thumbnails = self.output.thumbnails.as_mut();
        thumbnails.map_or(Vec::new(), |all| std::mem::take(&mut all.data))
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
            runs: Runs::default(),
        })
    }

    /// Which engine runs and why, as JSON.
    ///
    /// # Errors
    /// None in practice.
    pub fn verdict(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string(&self.verdict)?)
    }

    /// Reads the bytes of a tokenizer.json, and forgets the texts and runs of another.
    ///
    /// # Errors
    /// Bytes that are no such file.
    pub fn set_tokenizer(&mut self, bytes: &[u8]) -> Result<(), JsError> {
        self.tokenizer = Some(Tokenizer::from_json(bytes)?);
        self.runs = Runs::default();
        Ok(())
    }

    /// Takes a text under a name; gives JSON `{tokens, dropped}`: its tokens, and characters that the
    /// vocabulary lacks. A text that is there already is not tokenized again; another under its name closes
    /// the runs on it.
    ///
    /// # Errors
    /// No tokenizer.
    pub fn set_text(&mut self, name: &str, text: &str) -> Result<String, JsError> {
        let tokenizer = tokenizer(self.tokenizer.as_ref())?;
        Ok(serde_json::to_string(&self.runs.set_text(name, text, tokenizer))?)
    }

    /// The first tokens of a text, `length` or as many as it has, as JSON: a list of strings as readers see
    /// them. Bytes that are no whole character become U+FFFD.
    ///
    /// # Errors
    /// A text that is not loaded.
    pub fn words(&self, text: &str, length: usize) -> Result<String, JsError> {
        let tokenizer = tokenizer(self.tokenizer.as_ref())?;
        let tokens = self.runs.tokens(text)?.iter().take(length);
        let words: Vec<String> = tokens.map(|&token| tokenizer.decode(&[token])).collect();
        Ok(serde_json::to_string(&words)?)
    }

    /// Loads a checkpoint's bytes under the name of its encoding and gives its configuration as JSON.
    ///
    /// # Errors
    /// Bytes that are no checkpoint, one of another encoding, or one that belongs to another tokenizer.
    pub fn load(&mut self, name: String, bytes: &[u8]) -> Result<String, JsError> {
        let Checkpoint { config, weights, .. } = Checkpoint::from_bytes(bytes)?;
        let found = config.encoding.name();
        if found != name {
            return Err(error(format!(
                "the file holds a model with the encoding {found}, not {name}; choose the checkpoint of {name}"
            )));
        }
        if let Some(tokenizer) = &self.tokenizer
            && tokenizer.vocabulary() != config.vocabulary
        {
            let (found, need) = (config.vocabulary, tokenizer.vocabulary());
            return Err(error(format!(
                "the checkpoint has {found} tokens, the page's tokenizer {need}; they belong to different trainings"
            )));
        }
        let model = self.engine.load(&config, &weights)?;
        let parameters = config.encoding.parameters(&config.shape(config.trained_length));
        let own: Weights = weights
            .into_iter()
            .filter(|(name, _)| parameters.iter().any(|parameter| parameter.name == *name))
            .collect();
        let loaded = Loaded { model, weights: own };
        self.runs.forget_model(&name);
        match self.models.iter_mut().find(|(known, _)| *known == name) {
            Some((_, place)) => *place = loaded,
            None => self.models.push((name, loaded)),
        }
        Ok(serde_json::to_string(&config)?)
    }

    /// What the encoding of a model was trained to: the learned table `[L][d_model]`, T5's biases
    /// `[buckets][heads]`, or trained slopes `[heads]`; empty for the others.
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

    /// Opens a run: the measurement of models on a text, at powers of two from `shortest` to `longest`, as
    /// far as the text reaches, on at most `scored_max` tokens; gives JSON `{lengths, scored, steps}`.
    /// `repeat_last_row` tells whether positions past a learned table repeat its last row, or are undefined.
    /// A run that is open already keeps all it measured.
    ///
    /// # Errors
    /// A text that is not loaded, or too short for the shortest length; a key that is open with other
    /// settings.
    pub fn open_run(
        &mut self,
        key: &str,
        text: &str,
        repeat_last_row: bool,
        shortest: usize,
        longest: usize,
        scored_max: usize,
    ) -> Result<String, JsError> {
        let settings = RunSettings {
            text: text.into(),
            repeat_last_row,
            shortest,
            longest,
            scored_max,
        };
        Ok(serde_json::to_string(&self.runs.open(key, settings)?)?)
    }

    /// How many steps a model has left in a run; 0 for one that is not loaded, or a run that is not open.
    pub fn steps_left(&self, run: &str, model: &str) -> usize {
        self.model(model).map_or(0, |_| self.runs.steps_left(run, model))
    }

    /// The round of a model's next step in a run: models that are behind go first.
    pub fn next_round(&self, run: &str, model: &str) -> usize {
        let round = self.model(model).and_then(|_| self.runs.next_round(run, model));
        round.unwrap_or(usize::MAX)
    }

    /// Runs a model's next step in a run; gives JSON `{tokens, length, points}`: tokens computed, the
    /// length, and all points of the model so far. A length past a learned table gives `undefined: true`.
    ///
    /// # Errors
    /// A model that is not loaded, a run that is not open, or an engine that failed.
    pub async fn step(&mut self, run: String, model: String) -> Result<String, JsError> {
        let loaded = find(&mut self.models, &model)?;
        let Some(step) = self.runs.next_step(&run, &model)? else {
            return Ok(json!({"tokens": 0, "points": self.runs.points(&run, &model)}).to_string());
        };
        set_past_end(&mut loaded.model, self.runs.settings(&run)?.repeat_last_row);
        let is_undefined = is_undefined(&loaded.model, step.length);
        let tokens = if is_undefined {
            self.runs.finish_step(&run, &model, None)?;
            0
        } else {
            let batch = self.runs.batch(&run, &step)?;
            let output = loaded.model.forward(&batch, &Captures::default()).await?;
            self.runs.finish_step(&run, &model, Some(&output.nll))?;
            step.tokens()
        };
        Ok(json!({
            "tokens": tokens,
            "length": step.length,
            "undefined": is_undefined,
            "points": self.runs.points(&run, &model),
        })
        .to_string())
    }

    /// The mean loss by position of a model at a length, in nats; empty where the run has not measured it.
    pub fn by_position(&self, run: &str, model: &str, length: usize) -> Vec<f32> {
        let losses = self.runs.by_position(run, model, length);
        losses.into_iter().map(|loss| loss as f32).collect()
    }

    /// Runs the first `length` tokens of a text and captures one head's attention, every head's attention
    /// by distance and its entropy, and thumbnails of every head of at most `thumbnail_side` cells (0 asks
    /// for none).
    ///
    /// # Errors
    /// A model or text that is not loaded, a text too short, or an engine that failed.
    #[allow(clippy::too_many_arguments)]
    pub async fn attention(
        &mut self,
        model: String,
        text: String,
        repeat_last_row: bool,
        length: usize,
        layer: usize,
        head: usize,
        thumbnail_side: usize,
    ) -> Result<Captured, JsError> {
        let batch = self.runs.window(&text, length)?;
        let loaded = find(&mut self.models, &model)?;
        set_past_end(&mut loaded.model, repeat_last_row);
        let captures = Captures {
            attention: Some(HeadId { layer, head }),
            thumbnails: (thumbnail_side > 0).then_some(thumbnail_side),
            profile: true,
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

/// Not a method: the runs stay at hand while the model is borrowed.
fn find<'a>(models: &'a mut [(String, Loaded)], name: &str) -> Result<&'a mut Loaded, JsError> {
    let found = models.iter_mut().find(|(known, _)| known == name);
    found.map(|(_, loaded)| loaded).ok_or_else(|| not_loaded(name))
}

fn not_loaded(name: &str) -> JsError {
    error(format!("the model \"{name}\" is not loaded"))
}

fn tokenizer(loaded: Option<&Tokenizer>) -> Result<&Tokenizer, JsError> {
    loaded.ok_or_else(|| error("the tokenizer is not loaded; load it before a text"))
}

/// Says what stands past the end of a learned table. Only a change is passed on, as the model then drops
/// the tables and plans it has made.
fn set_past_end(model: &mut Model, repeat_last_row: bool) {
    let past_end = if repeat_last_row {
        PastEnd::LastRow
    } else {
        PastEnd::Undefined
    };
    let encoding = Encoding::Learned(Learned { past_end });
    let now = &model.config().encoding;
    if matches!(now, Encoding::Learned(_)) && *now != encoding {
        model.set_positions(encoding, model.config().window);
    }
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
