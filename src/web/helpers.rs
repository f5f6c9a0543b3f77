//! Workers beside the laboratory's own: the laboratory's side of them ([`Helpers`]) and theirs ([`Share`]).
//! What goes between them is in www/helpers.js.

use super::now_ms;
use crate::engine::{Batch, Captures, Computing, EngineError, Pool, cpu};
use crate::json;
use crate::model::{Config, Tensor, Weights};
use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    /// The helpers that have said that they are ready.
    #[derive(Debug)]
    pub type Helpers;
    #[wasm_bindgen(method, getter)]
    fn count(this: &Helpers) -> usize;
    #[wasm_bindgen(method)]
    fn load(this: &Helpers, model: u32, config: &str, shapes: &str, weights: Vec<f32>);
    #[wasm_bindgen(method)]
    fn forget(this: &Helpers, model: u32);
    #[wasm_bindgen(method)]
    fn run(
        this: &Helpers,
        helper: usize,
        model: u32,
        config: &str,
        tokens: &[u32],
        windows: usize,
        counted: usize,
    ) -> Promise;

    /// What a helper answers.
    type Answer;
    #[wasm_bindgen(method, getter)]
    fn losses(this: &Answer) -> Vec<f32>;
    #[wasm_bindgen(method, getter)]
    fn elapsed(this: &Answer) -> f64;
}

/// JSON of what is always written.
fn written(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

impl Pool for Helpers {
    fn helpers(&self) -> usize {
        self.count()
    }

    fn load(&self, model: u32, config: &Config, weights: &Weights) {
        let shapes: Vec<(&str, &[usize])> = weights
            .iter()
            .map(|(name, tensor)| (&**name, &*tensor.shape))
            .collect();
        let values = weights.values().flat_map(|tensor| &tensor.data).copied();
        Helpers::load(self, model, &written(config), &written(&shapes), values.collect());
    }

    fn forget(&self, model: u32) {
        Helpers::forget(self, model);
    }

    fn run(&self, helper: usize, model: u32, config: &Config, batch: &Batch) -> Computing {
        let promise = Helpers::run(
            self,
            helper,
            model,
            &written(config),
            batch.tokens(),
            batch.windows(),
            batch.length() - batch.first_scored(),
        );
        // At once, so that a promise that is broken before it is awaited has somebody to tell.
        let answer = JsFuture::from(promise);
        Box::pin(async move {
            let answer = answer
                .await
                .map_err(|error| EngineError::Helper(error.as_string().unwrap_or_default()))?;
            let answer: Answer = answer.unchecked_into();
            Ok((answer.losses(), answer.elapsed()))
        })
    }

    fn now(&self) -> f64 {
        now_ms()
    }
}

/// A helper's side: the models that it was given.
#[wasm_bindgen]
#[derive(Default)]
pub struct Share {
    /// By number, each with its configuration as JSON.
    models: Vec<(u32, String, cpu::Model)>,
}

#[wasm_bindgen]
impl Share {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a model: its configuration as JSON, the names and shapes of its tensors as JSON
    /// `[[name, [rows, columns]], …]`, and their values in that order.
    ///
    /// # Errors
    /// JSON that is something else, or weights that do not fit the configuration.
    pub fn load(&mut self, model: u32, config: String, shapes: &str, weights: &[f32]) -> Result<(), JsError> {
        let shapes: Vec<(String, Vec<usize>)> = json::read(shapes)?;
        let mut rest = weights;
        let mut all = Weights::new();
        for (name, shape) in shapes {
            let count = rest.len().min(shape.iter().product());
            let (data, others) = rest.split_at(count);
            rest = others;
            let data = data.to_vec();
            all.insert(name, Tensor { shape, data });
        }
        let loaded = cpu::Model::new(&json::read(&config)?, &all)?;
        self.models.push((model, config, loaded));
        Ok(())
    }

    /// Forgets a model.
    pub fn forget(&mut self, model: u32) {
        self.models.retain(|(number, ..)| *number != model);
    }

    /// One loss a target, in nats, of windows of equal length, `[windows][T + 1]` tokens, of each of which the last
    /// `counted` are wanted. The configuration
    /// says what has changed since the model was loaded: its encoding and its window.
    ///
    /// # Errors
    /// A model that was not loaded, or what [`forward`](cpu::Model::forward) refuses.
    pub fn run(
        &mut self,
        model: u32,
        config: String,
        tokens: Vec<u32>,
        windows: usize,
        counted: usize,
    ) -> Result<Vec<f32>, JsError> {
        let found = self.models.iter_mut().find(|(number, ..)| *number == model);
        let (_, known, model) = found.ok_or_else(|| JsError::new("the model is not there"))?;
        if *known != config {
            let Config { encoding, window, .. } = json::read(&config)?;
            model.set_positions(encoding, window);
            *known = config;
        }
        let length = (tokens.len() / windows.max(1)).saturating_sub(1);
        let batch = Batch::new(tokens, windows, length)?.scoring(counted);
        Ok(model.forward(&batch, &Captures::default())?.nll)
    }
}
