//! Which models there are: the base six, and what each question of the laboratory needs beside them.

use crate::recipe::Recipe;
use clap::ValueEnum;
use longview::encoding::{Alibi, Encoding};

/// The encodings of the base models. The ones that a reader compares first come first.
pub const BASE: [&str; 6] = ["alibi", "rotary", "sinusoidal", "t5_bias", "learned", "none"];
/// The encodings that came after, and are trained with their own.
const METHODS: [&str; 4] = ["kerple", "sandwich", "xpos", "randomized"];
/// Heads of the base models, and of those beside them.
const HEADS: [usize; 3] = [1, 2, 8];
/// Trained lengths beside the base models' 128.
const LENGTHS: [usize; 2] = [64, 256];

/// A part of the models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Set {
    /// The six encodings: 4 heads, trained on 128 tokens, seed 1
    Base,
    /// The six with another seed, so that noise is shown
    Seeds,
    /// The six trained on 64 and on 256 tokens
    Lengths,
    /// The six with 1, 2 and 8 heads
    Heads,
    /// The methods that came after
    Methods,
    /// The six taught to copy, with two seeds
    Copies,
}

/// One model of the grid.
#[derive(Clone, Debug)]
pub struct Model {
    /// The name of its file, without the ending: the encoding, and what differs from the base.
    pub name: String,
    pub set: Set,
    pub recipe: Recipe,
}

/// All models, in the order in which they are trained.
pub fn all(seed: u64) -> Vec<Model> {
    let mut models = Vec::new();
    let mut add = |name: String, set: Set, recipe: Recipe| models.push(Model { name, set, recipe });
    let base = || {
        BASE.iter()
            .filter_map(|name| Some((*name, Encoding::from_name(name)?)))
    };
    for (name, encoding) in base() {
        add(name.into(), Set::Base, Recipe::base(encoding, seed));
    }
    for (name, encoding) in base() {
        add(format!("{name}-s2"), Set::Seeds, Recipe::base(encoding, seed + 1));
    }
    let trained = Encoding::Alibi(Alibi {
        trained: true,
        ..Alibi::default()
    });
    add("alibi-trained".into(), Set::Methods, Recipe::base(trained, seed));
    for name in METHODS {
        if let Some(encoding) = Encoding::from_name(name) {
            add(name.into(), Set::Methods, Recipe::base(encoding, seed));
        }
    }
    for (ending, seed) in [("copy", seed), ("copy-s2", seed + 1)] {
        for (name, encoding) in base() {
            let recipe = Recipe::copying(encoding, seed);
            add(format!("{name}-{ending}"), Set::Copies, recipe);
        }
    }
    for length in LENGTHS {
        for (name, encoding) in base() {
            let recipe = Recipe::base(encoding, seed).with_length(length);
            add(format!("{name}-l{length}"), Set::Lengths, recipe);
        }
    }
    for heads in HEADS {
        for (name, encoding) in base() {
            let recipe = Recipe::base(encoding, seed).with_heads(heads);
            add(format!("{name}-h{heads}"), Set::Heads, recipe);
        }
    }
    models
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_one_models_and_steps_cost_the_same() {
        let models = all(1);
        for (index, model) in models.iter().enumerate() {
            assert!(
                models[..index].iter().all(|other| other.name != model.name),
                "{}",
                model.name
            );
            model.recipe.config.validate().unwrap();
            let config = &model.recipe.config;
            assert_eq!(
                model.recipe.windows * config.trained_length,
                2048,
                "{}",
                model.name
            );
            assert!((config.score_scale - (config.d_head() as f32).powf(-0.5)).abs() < 1e-6);
        }
        let count = |set| models.iter().filter(|model| model.set == set).count();
        assert_eq!((count(Set::Heads), count(Set::Methods)), (18, 5));
    }
}
