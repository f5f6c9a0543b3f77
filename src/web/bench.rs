//! One model on one engine, for `cargo xtask bench`.

use super::helpers::Helpers;
use crate::engine::cpu::linear::{Then, linear};
use crate::engine::cpu::parameters::Linear;
use crate::engine::gpu::Trial;
use crate::engine::{Batch, Captures, Choice, Engine, Model, cpu};
use crate::model::{Checkpoint, Tokenizer};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// The tokens of a text, by the tokenizer file's bytes.
///
/// # Errors
/// Bytes that are no tokenizer.
#[wasm_bindgen]
pub fn tokens(tokenizer: &[u8], text: &str) -> Result<Vec<u32>, JsError> {
    Ok(Tokenizer::from_json(tokenizer)?.encode(text).ids)
}

/// Starts the engine "cpu" or "gpu", and says in one sentence what runs.
async fn start(engine: &str) -> Result<(Engine, String), JsError> {
    let choice = match engine {
        "cpu" => Choice::Cpu,
        "gpu" => Choice::Gpu,
        _ => {
            return Err(JsError::new(&format!(
                "there is no engine {engine}: choose cpu or gpu"
            )));
        }
    };
    let (started, verdict) = Engine::start(choice).await;
    if verdict.engine == engine {
        Ok((started, verdict.message))
    } else {
        Err(JsError::new(&verdict.message))
    }
}

/// A loaded model that runs batches.
#[wasm_bindgen]
pub struct Bench {
    model: Model,
    engine: String,
}

#[wasm_bindgen]
impl Bench {
    /// Loads a checkpoint's bytes into the engine "cpu" or "gpu".
    ///
    /// # Errors
    /// Another engine's name, an engine that does not run here, or bytes that are no checkpoint.
    pub async fn load(engine: String, checkpoint: Vec<u8>) -> Result<Self, JsError> {
        let (started, about) = start(&engine).await?;
        let checkpoint = Checkpoint::from_bytes(&checkpoint)?;
        let model = started.load(&checkpoint.config, &checkpoint.weights)?;
        Ok(Self { model, engine: about })
    }

    /// Loads a checkpoint's bytes into the CPU engine with helpers.
    ///
    /// # Errors
    /// Bytes that are no checkpoint.
    pub fn shared(checkpoint: &[u8], helpers: Helpers) -> Result<Self, JsError> {
        let checkpoint = Checkpoint::from_bytes(checkpoint)?;
        let engine = Engine::Pool(Rc::new(helpers));
        Ok(Self {
            model: engine.load(&checkpoint.config, &checkpoint.weights)?,
            engine: "The CPU runs the models.".into(),
        })
    }

    /// Runs `tokens` as [`run`](Self::run) does, kernel by kernel, and returns JSON `{"by_timestamps",
    /// "kernels": [{"kernel", "dispatches", "ms"}, …]}`; null on the CPU.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub async fn profile(
        &mut self,
        tokens: Vec<u32>,
        windows: usize,
        length: usize,
    ) -> Result<String, JsError> {
        let batch = Batch::new(tokens, windows, length)?;
        Ok(serde_json::to_string(&self.model.profile(&batch).await?)?)
    }

    /// What runs, in one sentence.
    pub fn engine(&self) -> String {
        self.engine.clone()
    }

    /// Runs `tokens`, `[windows][length + 1]`, and returns the losses in nats, `[windows][length]`.
    ///
    /// # Errors
    /// Tokens that do not fill the windows or that the model does not know, a length that it cannot serve, or a
    /// GPU that failed.
    pub async fn run(
        &mut self,
        tokens: Vec<u32>,
        windows: usize,
        length: usize,
    ) -> Result<Vec<f32>, JsError> {
        let batch = Batch::new(tokens, windows, length)?;
        Ok(self.model.forward(&batch, &Captures::default()).await?.nll)
    }
}

/// A linear layer of numbers without meaning, for timing the engine's matrix product alone.
#[wasm_bindgen]
pub struct Product(Layer);

enum Layer {
    Cpu {
        x: Vec<f32>,
        weight: Vec<f32>,
        panels: Vec<f32>,
        out: Vec<f32>,
        inputs: usize,
    },
    Gpu(Trial),
}

#[wasm_bindgen]
impl Product {
    /// `x[rows][inputs]` times a weight `[inputs][outputs]`, on the engine "cpu" or "gpu".
    ///
    /// # Errors
    /// Another engine's name, or an engine that does not run here.
    pub async fn load(engine: String, rows: usize, inputs: usize, outputs: usize) -> Result<Self, JsError> {
        let (started, _) = start(&engine).await?;
        let numbers =
            |count: usize| -> Vec<f32> { (0..count).map(|i| (i * 7 % 17) as f32 / 17.0 - 0.5).collect() };
        let weight = numbers(inputs * outputs);
        Ok(Self(match started {
            Engine::Cpu | Engine::Pool(_) => Layer::Cpu {
                x: numbers(rows * inputs),
                panels: cpu::linear::packed(&weight, inputs),
                weight,
                out: vec![0.0; rows * outputs],
                inputs,
            },
            Engine::Gpu(device) => Layer::Gpu(Trial::new(&device, (rows, inputs, outputs))),
        }))
    }

    /// Multiplies so many times.
    ///
    /// # Errors
    /// A GPU that failed.
    pub async fn run(&mut self, times: usize) -> Result<(), JsError> {
        match &mut self.0 {
            Layer::Cpu {
                x,
                weight,
                panels,
                out,
                inputs,
            } => {
                let layer = Linear {
                    panels: Some(panels),
                    ..Linear::unpacked(weight, None)
                };
                for _ in 0..times {
                    linear(x, layer, out, *inputs, Then::Store);
                }
            }
            Layer::Gpu(trial) => trial.run(times).await?,
        }
        Ok(())
    }
}
