//! What a page or a program keeps of the results: all of them, or what has changed since it was last told.

use super::driver::{Board, BoardError, known};
use super::results::Results;
use super::task::Key;

impl Board {
    /// What checkpoints are known to be before they are loaded, by name. Results of others are forgotten.
    pub fn expect_models(&mut self, fingerprints: Vec<(String, String)>) {
        self.keep_results(|key, record| {
            let mut known = fingerprints.iter();
            !known.any(|(model, known)| model == key.model && *known != record.model)
        });
        self.expected = fingerprints;
    }

    /// The fingerprint that results of a checkpoint must have; `None` where nothing is known of it.
    fn fingerprint_of(&self, model: &str) -> Option<&String> {
        let loaded = self.models.get(model).map(|loaded| &loaded.fingerprint);
        let expected = || self.expected.iter().find(|(name, _)| name == model);
        loaded.or_else(|| expected().map(|(_, known)| known))
    }

    /// All that was measured, as JSON.
    ///
    /// # Errors
    /// None in practice.
    pub fn export(&self) -> Result<String, BoardError> {
        let json = self.results.to_json();
        json.map_err(|error| BoardError::Results(error.to_string()))
    }

    /// What was measured or forgotten since this was last asked, as JSON like that of [`export`](Self::export)
    /// with the keys of what was forgotten; `None` where nothing was.
    ///
    /// # Errors
    /// None in practice.
    pub fn take_changes(&mut self) -> Result<Option<String>, BoardError> {
        if self.touched.is_empty() {
            return Ok(None);
        }
        let touched = std::mem::take(&mut self.touched);
        let changed = self.results.of(&touched);
        let is_gone = |key: &String| !changed.records.contains_key(key);
        let dropped = touched.into_iter().filter(is_gone);
        let json = changed.to_json_without(dropped.collect());
        Ok(Some(
            json.map_err(|error| BoardError::Results(error.to_string()))?,
        ))
    }

    /// Takes back what was exported, where it is further than what is there. Results of another checkpoint or
    /// text than the ones that are known are left; gives their keys.
    ///
    /// # Errors
    /// Another text, or results of another version.
    pub fn restore(&mut self, json: &str) -> Result<Vec<String>, BoardError> {
        let mut restored = Results::from_json(json).map_err(BoardError::Results)?;
        let mut refused = Vec::new();
        restored.retain(|key, record| {
            let is_known = Key::read(key).is_some_and(|Key { model, text }| {
                let text = text.and_then(|text| self.texts.get(text));
                let is_texts = text.is_none_or(|text| Some(&text.fingerprint) == record.text.as_ref());
                let is_models = self
                    .fingerprint_of(model)
                    .is_none_or(|known| *known == record.model);
                is_models && is_texts
            });
            if !is_known {
                refused.push(key.into());
            }
            is_known
        });
        self.results.restore(restored);
        Ok(refused)
    }

    /// Forgets what a claim measured, for all claims that share it.
    ///
    /// # Errors
    /// An unknown claim.
    pub fn forget(&mut self, id: &str) -> Result<(), BoardError> {
        for task in known(id)?.tasks(&self.options) {
            if self.results.remove(&task) {
                self.touch(task.key());
            }
            self.left_out.remove(&task.key());
        }
        Ok(())
    }

    /// Forgets all that was measured, by whatever options.
    pub fn forget_all(&mut self) {
        self.keep_results(|_, _| false);
        self.left_out.clear();
    }

    /// Forgets the results of some keys, as another page has done.
    pub fn forget_keys(&mut self, keys: &[&str]) {
        self.results.retain(|key, _| !keys.contains(&key));
    }
}
