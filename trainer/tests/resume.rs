//! A run is repeatable to the bit, whether it is interrupted or not.

use longview::encoding::Encoding;
use longview_trainer::recipe::Recipe;
use longview_trainer::run::{Tokens, complete, train};
use longview_trainer::state::State;
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Very small, so that the test trains in a moment even without optimisation.
fn tiny(encoding: &str) -> Recipe {
    let mut recipe = Recipe::quick(Encoding::from_name(encoding).unwrap(), 3);
    recipe.config.vocabulary = 40;
    (recipe.steps, recipe.windows, recipe.warm_up_steps) = (12, 4, 3);
    recipe
}

/// Text that can be learned: each token follows from the one before it.
fn tokens(count: u32) -> Vec<u32> {
    (0..count).map(|i| (i * i / 7 + i) % 40).collect()
}

#[test]
fn an_interrupted_run_ends_with_the_same_bits() {
    let out = folder("resume");
    let tokens = tokens(3000);
    for encoding in ["learned", "t5_bias", "rotary"] {
        let recipe = tiny(encoding);
        let whole = train(&recipe, "whole", &tokens, &out.join("whole"), 12).unwrap();
        let again = train(&recipe, "again", &tokens, &out.join("again"), 12).unwrap();
        assert_eq!(whole, again);
        for until in [1, 5, 6] {
            train(&recipe, "parts", &tokens, &out.join("parts"), until).unwrap();
        }
        assert_eq!(
            State::load(&recipe, &out.join("parts"))
                .unwrap()
                .unwrap()
                .losses
                .len(),
            6
        );
        let parts = train(&recipe, "parts", &tokens, &out.join("parts"), 12).unwrap();
        assert_eq!(whole, parts);
        assert!(whole.losses[11] < whole.losses[0], "{:?}", whole.losses);
        let other = Recipe {
            seed: 4,
            ..recipe.clone()
        };
        let error = train(&other, "other", &tokens, &out.join("whole"), 12).unwrap_err();
        assert!(format!("{error:#}").contains("other settings"), "{error:#}");
        for name in ["whole", "again", "parts"] {
            std::fs::remove_file(out.join(name)).unwrap();
        }
    }
}

#[test]
fn a_complete_run_writes_checkpoint_and_log_of_the_same_bytes() {
    let tokens = Tokens {
        training: tokens(3000),
        held_out: tokens(2049),
    };
    let recipe = tiny("alibi");
    let files: Vec<Vec<u8>> = ["first", "second"]
        .iter()
        .flat_map(|name| {
            let out = folder(name);
            let path = complete(&recipe, "alibi", &tokens, &out).unwrap();
            assert!(!out.join("alibi.state").exists());
            [
                std::fs::read(path).unwrap(),
                std::fs::read(out.join("alibi.json")).unwrap(),
            ]
        })
        .collect();
    assert_eq!(files[0], files[2]);
    assert_eq!(files[1], files[3]);
    let checkpoint = longview::model::Checkpoint::from_bytes(&files[0]).unwrap();
    assert_eq!(checkpoint.config, recipe.config);
    assert_eq!(checkpoint.record["held_out"].as_array().unwrap().len(), 8);
}
