//! The claims board's exports: what the claims need, steps that measure them, findings, and results to keep.

use super::engine::Laboratory;
use super::now_ms;
use crate::experiment::ModelError;
use crate::experiment::board::{Missing, Options, Parts, Picture, Source, Standing, Table, Verdict};
use crate::json;
use serde::Serialize;
use serde_json::json;
use wasm_bindgen::prelude::*;

/// A claim as the page shows it.
#[derive(Serialize)]
struct Entry {
    id: &'static str,
    number: u8,
    source: Source,
    models: Vec<String>,
    texts: Vec<String>,
    progress: f64,
    operations: u64,
    operations_done: u64,
    seconds: Option<f64>,
    verdict: Verdict,
    parts: Parts,
    table: Table,
    #[serde(skip_serializing_if = "Option::is_none")]
    heads: Option<Table>,
    picture: Option<Picture>,
    paper: Table,
    missing: Vec<Missing>,
}

impl From<Standing> for Entry {
    fn from(standing: Standing) -> Self {
        let (claim, progress, finding) = (standing.claim, standing.progress, standing.finding);
        Self {
            id: claim.id(),
            number: claim.number(),
            source: claim.source(),
            models: standing.models,
            texts: standing.texts,
            progress: progress.progress,
            operations: progress.operations,
            operations_done: progress.operations_done,
            seconds: progress.seconds,
            verdict: finding.verdict,
            parts: finding.parts,
            table: finding.table,
            heads: finding.heads,
            picture: finding.picture,
            paper: claim.paper(),
            missing: standing.missing,
        }
    }
}

#[derive(Serialize)]
struct Survey {
    claims: Vec<Entry>,
    /// What is left of all of them; what they share counts once.
    seconds: Option<f64>,
}

#[wasm_bindgen]
impl Laboratory {
    /// All claims as they stand, as JSON `{claims: […], seconds}`, each claim as [`finding`](Self::finding)
    /// gives it; `seconds` is what is left to measure, `null` until the engine's speed is known.
    ///
    /// # Errors
    /// None in practice.
    pub fn claims(&self) -> Result<String, JsError> {
        let (standings, all) = self.board.survey();
        Ok(serde_json::to_string(&Survey {
            claims: standings.into_iter().map(Entry::from).collect(),
            seconds: all.seconds,
        })?)
    }

    /// Sets what is measured: JSON `{text, own, quick}`, each of which may be missing. What was measured
    /// stays.
    ///
    /// # Errors
    /// Options that there are not.
    pub fn board_options(&mut self, options: &str) -> Result<(), JsError> {
        let engine = self.board.options().engine.clone();
        let options = json::read::<Options>(options)?;
        self.board.set_options(Options { engine, ..options });
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

    /// A model or text that could not be had is to be asked for again.
    pub fn board_ask_again(&mut self, name: &str) {
        self.board.ask_again(name);
    }

    /// Runs a claim's next step; gives JSON `{task, progress, operations_done, operations, seconds,
    /// elapsed_ms}`. A variant that the model does not have is left out.
    ///
    /// # Errors
    /// An unknown claim, one whose next is no step, or an engine that failed.
    pub async fn board_step(&mut self, id: String) -> Result<String, JsError> {
        let began = now_ms();
        let mut task = None;
        if let crate::experiment::board::Next::Step { variant } = self.board.next(&id)? {
            match self.models.variant(&self.engine, &variant) {
                Ok(model) => task = Some(self.board.step(&id, model, now_ms).await?),
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
            "elapsed_ms": now_ms() - began,
        })
        .to_string())
    }

    /// Measures the engine's speed by a few short forwards of a loaded model, so that estimates can be told.
    ///
    /// # Errors
    /// A model that is not loaded, or an engine that failed.
    pub async fn board_calibrate(&mut self, model: String) -> Result<(), JsError> {
        let model = self.models.variant(&self.engine, &model)?;
        Ok(self.board.calibrate(model, now_ms).await?)
    }

    /// A claim as it stands, as JSON `{id, number, source: {url, place}, models, texts, progress, operations,
    /// operations_done, seconds, verdict, parts, table, heads, picture, paper, missing}`; `seconds` is `null`
    /// until the engine's speed is known.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn finding(&self, id: &str) -> Result<String, JsError> {
        let standing = self.board.standing(id)?;
        Ok(serde_json::to_string(&Entry::from(standing))?)
    }

    /// What was measured or forgotten since this was last asked, as JSON `{longview_board, records, dropped}`:
    /// the records of measurements by key, and the keys of those that are no more; `undefined` where nothing
    /// was.
    ///
    /// # Errors
    /// None in practice.
    pub fn take_changes(&mut self) -> Result<Option<String>, JsError> {
        Ok(self.board.take_changes()?)
    }

    /// What models are known to be before they are loaded: a line each, its name and its SHA-256. Results of
    /// others are forgotten, and refused later.
    pub fn expect_models(&mut self, hashes: &str) {
        let lines = hashes.lines().filter_map(|line| line.split_once(' '));
        let short = lines.map(|(name, hash)| (name.into(), shortened(hash).into()));
        self.board.expect_models(short.collect());
    }

    /// Takes back what was told as changed, where it is further than what is there; gives, a line each, the keys
    /// of those that belong to other models or texts than the known ones.
    ///
    /// # Errors
    /// Another text, or results of another version.
    pub fn restore_results(&mut self, results: &str) -> Result<String, JsError> {
        Ok(self.board.restore(results)?.join("\n"))
    }

    /// Forgets what a claim measured, for all claims that share it.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn forget(&mut self, id: &str) -> Result<(), JsError> {
        Ok(self.board.forget(id)?)
    }

    /// Forgets all that was measured.
    pub fn forget_all(&mut self) {
        self.board.forget_all();
    }

    /// Forgets the results of some keys, a line each, which another page has forgotten.
    pub fn forget_keys(&mut self, keys: &str) {
        let keys: Vec<&str> = keys.lines().collect();
        self.board.forget_keys(&keys);
    }
}

/// What results keep of a hash: 16 of its hexadecimal digits tell one checkpoint from another.
pub(super) fn shortened(hash: &str) -> &str {
    hash.get(..16).unwrap_or(hash)
}
