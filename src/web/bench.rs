//! One model on one engine, for `cargo xtask bench`.

use crate::engine::{Batch, Captures, Choice, Engine, Model};
use crate::model::Checkpoint;
use wasm_bindgen::prelude::*;

/// A loaded model that runs one batch again and again.
#[wasm_bindgen]
pub struct Bench {
    model: Model,
    batch: Batch,
    engine: String,
}

#[wasm_bindgen]
impl Bench {
    /// Loads a checkpoint's bytes into the engine "cpu" or "gpu", for `windows` windows of `length` tokens.
    ///
    /// # Errors
    /// Another engine's name, bytes that are no checkpoint, or a length that the model cannot serve.
    pub async fn load(
        engine: String,
        checkpoint: Vec<u8>,
        windows: usize,
        length: usize,
    ) -> Result<Self, JsError> {
        let choice = match engine.as_str() {
            "cpu" => Choice::Cpu,
            "gpu" => Choice::Gpu,
            _ => {
                return Err(JsError::new(&format!(
                    "there is no engine {engine}: choose cpu or gpu"
                )));
            }
        };
        let (started, verdict) = Engine::start(choice).await;
        if verdict.engine != engine {
            return Err(JsError::new(&verdict.message));
        }
        let checkpoint = Checkpoint::from_bytes(&checkpoint)?;
        let model = started.load(&checkpoint.config, &checkpoint.weights)?;
        // What the tokens say is of no consequence for the time.
        let vocabulary = checkpoint.config.vocabulary as u32;
        let tokens = (0..(windows * (length + 1)) as u32)
            .map(|i| i.wrapping_mul(2_654_435_761) % vocabulary)
            .collect();
        let batch = Batch::new(tokens, windows, length)?;
        Ok(Self {
            model,
            batch,
            engine: verdict.message,
        })
    }

    /// What runs, in one sentence.
    pub fn engine(&self) -> String {
        self.engine.clone()
    }

    /// Runs the batch once and returns the mean loss in nats, so that both engines can be seen to agree.
    ///
    /// # Errors
    /// A GPU that failed.
    pub async fn run(&mut self) -> Result<f64, JsError> {
        let output = self.model.forward(&self.batch, &Captures::default()).await?;
        let sum: f64 = output.nll.iter().map(|&loss| f64::from(loss)).sum();
        Ok(sum / output.nll.len() as f64)
    }
}
