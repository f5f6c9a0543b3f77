//! The claims board's exports: what the claims need, steps that measure them, findings, and results to keep.

use super::engine::{Laboratory, error};
use crate::experiment::ModelError;
use crate::experiment::board::{CLAIMS, Finding, Options, Source, Table, claim};
use crate::json;
use serde::Serialize;
use serde_json::json;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Milliseconds; in a worker there is no window to ask.
    #[wasm_bindgen(js_namespace = performance)]
    fn now() -> f64;
}

#[derive(Serialize)]
struct Report {
    id: &'static str,
    progress: f64,
    #[serde(flatten)]
    finding: Finding,
    paper: Table,
    missing: Vec<String>,
}

#[derive(Serialize)]
struct Entry {
    id: &'static str,
    number: u8,
    models: Vec<String>,
    texts: Vec<String>,
    tasks: usize,
    operations: u64,
    operations_done: u64,
    seconds: Option<f64>,
    progress: f64,
    verdict: crate::experiment::board::Verdict,
    source: Source,
}

#[wasm_bindgen]
impl Laboratory {
    /// All claims as a JSON array of `{id, number, models, texts, tasks, operations, operations_done, seconds,
    /// progress, verdict, source: {url, place}}`; `seconds` is what is left to measure, `null` until the
    /// engine's speed is known.
    ///
    /// # Errors
    /// None in practice.
    pub fn claims(&self) -> Result<String, JsError> {
        let mut entries = Vec::new();
        for claim in CLAIMS {
            let id = claim.id();
            let (models, texts) = self.board.needs(id)?;
            let progress = self.board.progress(id)?;
            entries.push(Entry {
                id,
                number: claim.number(),
                models,
                texts,
                tasks: claim.tasks(self.board.options()).len(),
                operations: progress.operations,
                operations_done: progress.operations_done,
                seconds: progress.seconds,
                progress: progress.progress,
                verdict: self.board.finding(id)?.verdict,
                source: claim.source(),
            });
        }
        Ok(serde_json::to_string(&entries)?)
    }

    /// How far all claims have come, as JSON `{progress, operations, operations_done, seconds}`; what claims
    /// share counts once.
    ///
    /// # Errors
    /// None in practice.
    pub fn board_progress(&self) -> Result<String, JsError> {
        Ok(serde_json::to_string(&self.board.progress_of_all())?)
    }

    /// Sets what is measured: JSON `{text, own, quick}`, each of which may be missing. What was measured
    /// stays.
    ///
    /// # Errors
    /// Options that there are not.
    pub fn board_options(&mut self, options: &str) -> Result<(), JsError> {
        self.board.set_options(json::read::<Options>(options)?);
        Ok(())
    }

    /// What a claim needs next, as JSON: `{kind: "load", model}`, `{kind: "text", text}`, `{kind: "step",
    /// variant}` or `{kind: "done"}`.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn board_next(&self, id: &str) -> Result<String, JsError> {
        Ok(serde_json::to_string(&self.board.next(id)?)?)
    }

    /// A model or text cannot be had: what needs it is left out until it is given after all.
    pub fn board_skip(&mut self, name: &str) {
        self.board.skip(name);
    }

    /// Runs a claim's next step; gives JSON `{task, progress, operations_done, operations, seconds,
    /// elapsed_ms}`. A variant that the model does not have is left out.
    ///
    /// # Errors
    /// An unknown claim, one whose next is no step, or an engine that failed.
    pub async fn board_step(&mut self, id: String) -> Result<String, JsError> {
        let began = now();
        let mut task = None;
        if let crate::experiment::board::Next::Step { variant } = self.board.next(&id)? {
            match self.models.variant(&self.engine, &variant) {
                Ok(model) => task = Some(self.board.step(&id, model, now).await?),
                Err(ModelError::Engine(failed)) => return Err(failed.into()),
                Err(reason) => self.board.leave_out(&id, &reason.to_string())?,
            }
        }
        let progress = self.board.progress(&id)?;
        Ok(json!({
            "task": task,
            "progress": progress.progress,
            "operations": progress.operations,
            "operations_done": progress.operations_done,
            "seconds": progress.seconds,
            "elapsed_ms": now() - began,
        })
        .to_string())
    }

    /// Measures the engine's speed by a few short forwards of a loaded model, so that estimates can be told.
    ///
    /// # Errors
    /// A model that is not loaded, or an engine that failed.
    pub async fn board_calibrate(&mut self, model: String) -> Result<(), JsError> {
        let model = self.models.variant(&self.engine, &model)?;
        Ok(self.board.calibrate(model, now).await?)
    }

    /// What a claim makes of what was measured so far, as JSON `{id, verdict, progress, parts, table, paper,
    /// picture, missing}`.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn finding(&self, id: &str) -> Result<String, JsError> {
        let known = claim(id).ok_or_else(|| error(format!("there is no claim \"{id}\"")))?;
        Ok(serde_json::to_string(&Report {
            id: known.id(),
            progress: self.board.progress(id)?.progress,
            finding: self.board.finding(id)?,
            paper: known.paper(),
            missing: self.board.missing(id)?,
        })?)
    }

    /// All that was measured, as JSON.
    ///
    /// # Errors
    /// None in practice.
    pub fn export_results(&self) -> Result<String, JsError> {
        Ok(self.board.export()?)
    }

    /// Takes back what was exported; how many results that were.
    ///
    /// # Errors
    /// Another text, or results of another version.
    pub fn restore_results(&mut self, results: &str) -> Result<usize, JsError> {
        Ok(self.board.restore(results)?)
    }

    /// Forgets what a claim measured, for all claims that share it.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn forget(&mut self, id: &str) -> Result<(), JsError> {
        Ok(self.board.forget(id)?)
    }
}
