//! The laboratory that lives in the worker: an engine, the loaded models, texts, and runs on them. It serves
//! many views at once; what it keeps for whom is in [`Runs`].
//!
//! The worker calls one method at a time and waits for it; errors cross as messages.

use super::captured::Captured;
use super::helpers::Helpers;
use super::pictures::{Pictures, Sample};
use crate::engine::{Captures, Choice, Engine, HeadId, Painted, Verdict};
use crate::experiment::board::{Board, Options, engine_name, fingerprint};
use crate::experiment::{Models, RunSettings, Runs};
use crate::json;
use crate::model::{Checkpoint, Tokenizer};
use serde_json::json;
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// An engine with models, texts and what was measured so far.
#[wasm_bindgen]
pub struct Laboratory {
    pub(super) engine: Engine,
    verdict: Verdict,
    pub(super) models: Models,
    tokenizer: Option<Tokenizer>,
    runs: Runs,
    /// The claims and what was measured for them.
    pub(super) board: Board,
    pictures: Pictures,
}

pub(super) fn error(message: impl ToString) -> JsError {
    JsError::new(&message.to_string())
}

#[wasm_bindgen]
impl Laboratory {
    /// Starts the engine of choice: "auto", "cpu" or "gpu". Where it is the CPU, helpers take a share of what
    /// comes in several windows, as soon as there are any.
    ///
    /// # Errors
    /// Another word.
    pub async fn start(choice: String, helpers: Helpers) -> Result<Self, JsError> {
        let choice: Choice = serde_json::from_value(choice.into())?;
        let (engine, verdict) = Engine::start(choice).await;
        let engine = with_helpers(engine, helpers);
        let mut board = Board::default();
        board.set_options(Options {
            engine: engine_name(verdict.engine, verdict.adapter.as_deref()),
            ..Options::default()
        });
        Ok(Self {
            engine,
            verdict,
            models: Models::default(),
            tokenizer: None,
            runs: Runs::default(),
            board,
            pictures: Pictures::default(),
        })
    }

    /// Starts anew after a GPU that failed: with the engine of choice, or, where `cause` says why the GPU is to be
    /// left alone, with the CPU. Models, texts and all that was measured stay.
    ///
    /// # Errors
    /// As for [`start`](Self::start).
    pub async fn renew(
        &mut self,
        choice: String,
        cause: Option<String>,
        helpers: Helpers,
    ) -> Result<(), JsError> {
        let choice: Choice = serde_json::from_value(choice.into())?;
        // First the models, whose buffers are on the device.
        self.models.leave_engine();
        self.pictures = Pictures::default();
        self.engine = Engine::Cpu;
        let (engine, verdict) = match cause {
            Some(cause) => Engine::after_loss(&cause),
            None => Engine::start(choice).await,
        };
        self.board.set_options(Options {
            engine: engine_name(verdict.engine, verdict.adapter.as_deref()),
            ..self.board.options().clone()
        });
        (self.engine, self.verdict) = (with_helpers(engine, helpers), verdict);
        Ok(())
    }

    /// A promise that is kept when the GPU fails, with the error's text, or without when the GPU was let go; nothing
    /// where there is none, or where it was asked for before.
    pub fn failure(&self) -> Option<js_sys::Promise> {
        #[cfg(feature = "gpu")]
        if let Engine::Gpu(device) = &self.engine {
            let failed = device.failed()?;
            // Who waits must not keep a device that was let go.
            let device = std::sync::Arc::downgrade(device);
            return Some(wasm_bindgen_futures::future_to_promise(async move {
                failed.await;
                let failure = device.upgrade().and_then(|device| device.check().err());
                Ok(failure.map_or(JsValue::UNDEFINED, |failure| failure.to_string().into()))
            }));
        }
        None
    }

    /// What is held now: how many checkpoints, models that are ready to run, and buffers on the GPU; bytes of those
    /// buffers, and bytes that came back from the GPU so far.
    pub fn held(&self) -> Vec<f64> {
        let (checkpoints, models) = self.models.count();
        let (buffers, bytes) = match &self.engine {
            #[cfg(feature = "gpu")]
            Engine::Gpu(device) => device.buffers_held(),
            _ => (0, 0),
        };
        let counts = [checkpoints, models, buffers].map(|count| count as f64);
        [&counts[..], &[bytes as f64, self.bytes_read()]].concat()
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
        let summary = self.runs.set_text(name, text, tokenizer);
        self.board.set_text(name, self.runs.tokens(name)?);
        Ok(serde_json::to_string(&summary)?)
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

    /// Loads a checkpoint's bytes under the name of its file without the ending (`rotary-l64`), and gives its
    /// configuration as JSON. What was measured of another under that name, and of its variants, is
    /// forgotten; `hash` is its SHA-256, where the browser computes one.
    ///
    /// # Errors
    /// Bytes that are no checkpoint, one of another encoding than its name says, or one that belongs to
    /// another tokenizer.
    pub fn load(&mut self, name: String, bytes: &[u8], hash: Option<String>) -> Result<String, JsError> {
        let Checkpoint { config, weights, .. } = Checkpoint::from_bytes(bytes)?;
        let (found, need) = (config.encoding.name(), name.split('-').next().unwrap_or_default());
        if found != need {
            return Err(error(format!(
                "the file holds a model with the encoding {found}, not {need}; choose the checkpoint of {name}"
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
        let configuration = serde_json::to_string(&config)?;
        self.models.load(&self.engine, &name, config.clone(), weights)?;
        let known = hash
            .as_deref()
            .map(|hash| super::board::shortened(hash).to_string());
        let known = known.unwrap_or_else(|| fingerprint(bytes.iter().copied()));
        self.board.set_model(&name, config, &known);
        self.runs.forget_model(&name);
        Ok(configuration)
    }

    /// What the encoding of a model was trained to: the learned table `[L][d_model]`, T5's biases
    /// `[buckets][heads]`, or trained slopes `[heads]`; empty for the others.
    ///
    /// # Errors
    /// A model that is not loaded.
    pub fn encoding_weights(&self, name: &str) -> Result<Vec<f32>, JsError> {
        self.models.encoding_weights(name).map_err(error)
    }

    /// What a variant's encoding adds to the scores of each head, by distance, `[heads][length]`; empty where
    /// it adds nothing.
    ///
    /// # Errors
    /// A model that is not loaded, or a length that its encoding cannot serve.
    pub fn biases(&self, variant: &str, length: usize) -> Result<Vec<f32>, JsError> {
        Ok(self.models.biases(variant, length)?)
    }

    /// Opens a run: the measurement of models on a text. Its settings are JSON: `{text, shortest, longest,
    /// scored_max}` measures at powers of two, as far as the text reaches, on at most `scored_max` tokens;
    /// `lengths: [16, 136]` takes the place of `shortest` and `longest`; `together` is how many windows the
    /// engine computes side by side; `protocol` is `"non_overlapping"`,
    /// as without it, or `{"sliding": {"stride": 16}}`. Gives JSON `{lengths, scored, steps}`. A run that is
    /// open already keeps all it measured.
    ///
    /// # Errors
    /// Settings that are none, a text that is not loaded, or too short for the shortest length; a key that
    /// is open with other settings.
    pub fn open_run(&mut self, key: &str, settings: &str) -> Result<String, JsError> {
        let settings: RunSettings = json::read(settings)?;
        Ok(serde_json::to_string(&self.runs.open(key, settings)?)?)
    }

    /// Closes a run and forgets what it measured.
    pub fn close_run(&mut self, key: &str) {
        self.runs.close(key);
    }

    /// The string by which a variant of a loaded model is known (equal ones have equal strings), after a look
    /// whether it can be had: to be asked before its steps.
    ///
    /// # Errors
    /// A change that there is not, or that the model does not have; a model that is not loaded.
    pub fn check_variant(&self, variant: &str) -> Result<String, JsError> {
        self.models.canonical(variant).map_err(error)
    }

    /// How many steps a variant of a model (`rotary`, or `rotary?scaling=yarn`) has left in a run; 0 where
    /// the model is not loaded, or the run not open.
    pub fn steps_left(&self, run: &str, variant: &str) -> usize {
        let variant = self.models.canonical(variant);
        variant.map_or(0, |variant| self.runs.steps_left(run, &variant))
    }

    /// The round of a variant's next step in a run: those that are behind go first.
    pub fn next_round(&self, run: &str, variant: &str) -> usize {
        let variant = self.models.canonical(variant).ok();
        let round = variant.and_then(|variant| self.runs.next_round(run, &variant));
        round.unwrap_or(usize::MAX)
    }

    /// Runs a variant's next step in a run; gives JSON `{tokens, length, points}`: tokens computed, the
    /// length, and all points of the variant so far. A length past a learned table gives `undefined: true`.
    ///
    /// # Errors
    /// A change that the model does not have, a model that is not loaded, a run that is not open, or an
    /// engine that failed.
    pub async fn step(&mut self, run: String, variant: String) -> Result<String, JsError> {
        let variant = self.models.canonical(&variant)?;
        let Some(step) = self.runs.next_step(&run, &variant)? else {
            return Ok(json!({"tokens": 0, "points": self.runs.points(&run, &variant)}).to_string());
        };
        let model = self.models.variant(&self.engine, &variant)?;
        let is_undefined = model.config().is_undefined_at(step.length);
        let tokens = if is_undefined {
            self.runs.finish_step(&run, &variant, None)?;
            0
        } else {
            let batch = self.runs.batch(&run, &step)?;
            let output = model.forward(&batch, &Captures::default()).await?;
            self.runs.finish_step(&run, &variant, Some(&output.nll))?;
            step.tokens()
        };
        Ok(json!({
            "tokens": tokens,
            "length": step.length,
            "undefined": is_undefined,
            "points": self.runs.points(&run, &variant),
        })
        .to_string())
    }

    /// The mean loss by position of a variant at a length, in nats; empty where the run has not measured it.
    pub fn by_position(&self, run: &str, variant: &str, length: usize) -> Vec<f32> {
        let Ok(variant) = self.models.canonical(variant) else {
            return Vec::new();
        };
        let losses = self.runs.by_position(run, &variant, length);
        losses.into_iter().map(|loss| loss as f32).collect()
    }

    /// Runs the first `length` tokens of a text through a variant of a model and captures one head's
    /// attention, every head's attention by distance and its entropy (`profile`), and thumbnails of every head of
    /// at most `thumbnail_side` cells (0 asks for none).
    ///
    /// With a `scale` of colours (`[255 + 256 + 2]`, as `heat_scale` of the module that draws gives it; empty for
    /// none) the one head and the thumbnails are painted on the GPU, each raster `px[0]` and `px[1]` pixels a side, and
    /// given as bitmaps.
    ///
    /// # Errors
    /// A change that the model does not have, a model or text that is not loaded, a text too short, or an
    /// engine that failed.
    #[allow(clippy::too_many_arguments)]
    pub async fn attention(
        &mut self,
        variant: String,
        text: String,
        length: usize,
        layer: usize,
        head: usize,
        thumbnail_side: usize,
        profile: bool,
        px: Vec<usize>,
        scale: Vec<u32>,
    ) -> Result<Captured, JsError> {
        let batch = self.runs.window(&text, length)?;
        let model = self.models.variant(&self.engine, &variant)?;
        let captures = Captures {
            attention: Some(HeadId { layer, head }),
            thumbnails: (thumbnail_side > 0).then_some(thumbnail_side),
            profile,
            no_losses: true,
            painted: None,
        };
        if let (&[attention_px, thumbnail_px], false) = (&px[..], scale.is_empty()) {
            let painted = Painted {
                attention_px,
                thumbnail_px,
            };
            let captures = Captures {
                painted: Some(painted),
                ..captures
            };
            let shown = self
                .pictures
                .paint(&self.engine, model, &batch, &captures, &scale);
            let (output, bitmaps) = shown.await?;
            let (sides, bitmaps) = bitmaps.into_iter().unzip();
            return Ok(Captured {
                output,
                bitmaps,
                sides,
            });
        }
        Ok(Captured {
            output: model.forward(&batch, &captures).await?,
            bitmaps: Vec::new(),
            sides: Vec::new(),
        })
    }

    /// A picture that was painted on the GPU, and what it should look like: the page's script compares them
    /// before it asks for others.
    ///
    /// # Errors
    /// No GPU, or a browser that cannot show its pictures.
    pub async fn sample(&mut self) -> Result<Sample, JsError> {
        Ok(self.pictures.sample(&self.engine).await?)
    }

    /// How many bytes came back from the GPU so far; 0 on the CPU.
    pub fn bytes_read(&self) -> f64 {
        match &self.engine {
            #[cfg(feature = "gpu")]
            Engine::Gpu(device) => device.bytes_read() as f64,
            _ => 0.0,
        }
    }
}

/// The CPU engine gets helpers.
fn with_helpers(engine: Engine, helpers: Helpers) -> Engine {
    match engine {
        Engine::Cpu => Engine::Pool(Rc::new(helpers)),
        other => other,
    }
}

fn tokenizer(loaded: Option<&Tokenizer>) -> Result<&Tokenizer, JsError> {
    loaded.ok_or_else(|| error("the tokenizer is not loaded; load it before a text"))
}
