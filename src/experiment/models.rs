use super::{Variant, VariantError};
use crate::encoding::Positional;
use crate::engine::{Engine, EngineError, Model};
use crate::model::{Config, Weights};
use thiserror::Error;

/// Models in an engine at most; those that were used longest ago are made again when they are needed. On a GPU
/// each has 1.6 MB of weights and the buffers of its last forwards, up to 50 MB; enough for six encodings
/// beside a variant of each.
const READY_MAX: usize = 12;

/// The loaded checkpoints, and variants of them that are ready to run.
#[derive(Default)]
pub struct Models {
    /// By name.
    checkpoints: Vec<(String, Loaded)>,
    /// By variant, the last used last.
    ready: Vec<(String, Model)>,
}

struct Loaded {
    config: Config,
    weights: Weights,
}

/// Why a variant cannot run.
#[derive(Debug, Error)]
pub enum ModelError {
    #[error("the model \"{0}\" is not loaded; load its checkpoint first")]
    NotLoaded(String),
    #[error(transparent)]
    Variant(#[from] VariantError),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl Models {
    /// Takes a checkpoint under a name, in place of another with its variants.
    ///
    /// # Errors
    /// Weights that do not fit the configuration; all stays as it was then.
    pub fn load(
        &mut self,
        engine: &Engine,
        name: &str,
        config: Config,
        weights: Weights,
    ) -> Result<(), EngineError> {
        let model = engine.load(&config, &weights)?;
        self.checkpoints.retain(|(known, _)| known != name);
        self.checkpoints.push((name.into(), Loaded { config, weights }));
        self.ready
            .retain(|(variant, _)| variant.split('?').next() != Some(name));
        self.keep(name.into(), model);
        Ok(())
    }

    /// Forgets what is ready to run, and keeps the checkpoints: they are made ready again in another engine.
    pub fn leave_engine(&mut self) {
        self.ready.clear();
    }

    /// How many checkpoints are loaded, and how many models are ready to run.
    pub fn count(&self) -> (usize, usize) {
        (self.checkpoints.len(), self.ready.len())
    }

    /// The string of a variant of a loaded model by which equal ones are known.
    ///
    /// # Errors
    /// A string that is no variant, a model that is not loaded, or a change that it does not have.
    pub fn canonical(&self, variant: &str) -> Result<String, ModelError> {
        let variant: Variant = variant.parse()?;
        let mut config = self.loaded(&variant.model)?.config.clone();
        variant.changes.apply(&mut config)?;
        Ok(variant.to_string())
    }

    /// A variant, ready to run.
    ///
    /// # Errors
    /// As for [`canonical`](Self::canonical), or an engine that cannot load it.
    pub fn variant(&mut self, engine: &Engine, variant: &str) -> Result<&mut Model, ModelError> {
        let variant: Variant = variant.parse()?;
        let name = variant.to_string();
        let model = match self.ready.iter().position(|(known, _)| *known == name) {
            Some(place) => self.ready.remove(place).1,
            None => {
                let loaded = self.loaded(&variant.model)?;
                let mut config = loaded.config.clone();
                variant.changes.apply(&mut config)?;
                engine.load(&config, &loaded.weights)?
            }
        };
        Ok(self.keep(name, model))
    }

    /// The values of a model's trained encoding; empty where it has none.
    ///
    /// # Errors
    /// A model that is not loaded.
    pub fn encoding_weights(&self, name: &str) -> Result<Vec<f32>, ModelError> {
        let Loaded { config, weights } = self.loaded(name)?;
        let own = config.encoding.parameters(&config.shape(config.trained_length));
        let first = own.first().and_then(|parameter| weights.get(&parameter.name));
        Ok(first.map_or(Vec::new(), |tensor| tensor.data.clone()))
    }

    /// What a variant's encoding adds to the scores of each head, by distance, `[H][length]`; empty where it
    /// adds nothing.
    ///
    /// # Errors
    /// As for [`canonical`](Self::canonical), or a length that the encoding cannot serve.
    pub fn biases(&self, variant: &str, length: usize) -> Result<Vec<f32>, ModelError> {
        let variant: Variant = variant.parse()?;
        let Loaded { config, weights } = self.loaded(&variant.model)?;
        let mut config = config.clone();
        variant.changes.apply(&mut config)?;
        let tables = config.encoding.tables(&config.shape(length), weights);
        let bias = tables.map_err(EngineError::from)?.bias;
        Ok(bias.map_or(Vec::new(), |bias| bias.behind.to_f32()))
    }

    fn loaded(&self, name: &str) -> Result<&Loaded, ModelError> {
        let found = self.checkpoints.iter().find(|(known, _)| known == name);
        found
            .map(|(_, loaded)| loaded)
            .ok_or_else(|| ModelError::NotLoaded(name.into()))
    }

    fn keep(&mut self, name: String, model: Model) -> &mut Model {
        if self.ready.len() == READY_MAX {
            self.ready.remove(0);
        }
        self.ready.push((name, model));
        let last = self.ready.len() - 1;
        &mut self.ready[last].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;
    use crate::model::Tensor;

    fn config(encoding: &str) -> Config {
        Config::base(Encoding::from_name(encoding).unwrap(), 4)
    }

    fn weights(config: &Config) -> Weights {
        let zeros = |shape: Vec<usize>| Tensor {
            data: vec![0.0; shape.iter().product()],
            shape,
        };
        let parameters = config.parameters().into_iter();
        parameters
            .map(|parameter| (parameter.name, zeros(parameter.shape)))
            .collect()
    }

    fn models() -> Models {
        let mut models = Models::default();
        for name in ["alibi", "learned"] {
            let config = config(name);
            let weights = weights(&config);
            models.load(&Engine::Cpu, name, config, weights).unwrap();
        }
        models
    }

    fn ready(models: &Models) -> Vec<&str> {
        models.ready.iter().map(|(name, _)| &**name).collect()
    }

    #[test]
    fn a_variant_is_made_once_and_changes_its_model_only() {
        let mut models = models();
        let windowed = models.variant(&Engine::Cpu, "alibi?sinks=0&window=9").unwrap();
        assert_eq!(windowed.config().window.unwrap().keys, 9);
        models.variant(&Engine::Cpu, "alibi?window=9").unwrap();
        assert_eq!(ready(&models), ["alibi", "learned", "alibi?window=9"]);
        let plain = models.variant(&Engine::Cpu, "alibi").unwrap();
        assert_eq!(plain.config().window, None);
        let past = models.variant(&Engine::Cpu, "learned?past=last").unwrap();
        assert!(!past.config().is_undefined_at(200));
        let learned = models.variant(&Engine::Cpu, "learned").unwrap();
        assert!(learned.config().is_undefined_at(200) && !learned.config().is_undefined_at(128));
        assert_eq!(models.encoding_weights("learned").unwrap(), vec![0.0; 128 * 96]);
    }

    #[test]
    fn few_are_kept_ready_and_another_checkpoint_drops_its_variants() {
        let mut models = models();
        for keys in 1..=READY_MAX {
            models.variant(&Engine::Cpu, "alibi").unwrap();
            let variant = format!("learned?window={keys}");
            models.variant(&Engine::Cpu, &variant).unwrap();
        }
        assert_eq!(models.ready.len(), READY_MAX);
        assert!(ready(&models).contains(&"alibi") && !ready(&models).contains(&"learned"));
        let config = config("learned");
        let weights = weights(&config);
        models.load(&Engine::Cpu, "learned", config, weights).unwrap();
        assert_eq!(ready(&models), ["alibi", "learned"]);
    }

    #[test]
    fn another_engine_makes_them_ready_again() {
        let mut models = models();
        models.variant(&Engine::Cpu, "alibi?window=9").unwrap();
        assert_eq!(models.count(), (2, 3));
        models.leave_engine();
        assert_eq!(models.count(), (2, 0));
        let again = models.variant(&Engine::Cpu, "alibi?window=9").unwrap();
        assert_eq!(again.config().window.unwrap().keys, 9);
        assert_eq!(models.count(), (2, 1));
    }

    #[test]
    fn biases_are_those_of_the_encoding() {
        let models = models();
        let biases = models.biases("alibi", 3).unwrap();
        assert_eq!(
            biases,
            [0.25, 0.0625, 0.015625, 0.00390625]
                .map(|m| [0.0, -m, -2.0 * m])
                .concat()
        );
        assert!(models.biases("learned?past=last", 3).unwrap().is_empty());
        assert!(models.biases("rotary", 3).is_err());
    }

    #[test]
    fn what_cannot_run_is_said() {
        let mut models = models();
        let mut message = |variant| models.variant(&Engine::Cpu, variant).err().unwrap().to_string();
        assert!(message("rotary?window=3").contains("\"rotary\" is not loaded"));
        assert!(message("alibi?past=last").contains("this one has alibi"));
        assert!(message("alibi?widow=3").contains("no change \"widow\""));
        assert!(models.canonical("rotary").is_err());
        assert_eq!(
            models.canonical("alibi?sinks=1&window=3").unwrap(),
            "alibi?window=3&sinks=1"
        );
    }
}
