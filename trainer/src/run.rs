//! One training run, from a recipe to a checkpoint.

use crate::batches::Batches;
use crate::evaluate::{HeldOut, held_out};
use crate::optimizer::AdamW;
use crate::recipe::Recipe;
use crate::state::{State, write_whole};
use anyhow::{Result, ensure};
use longview::engine::cpu::Trainee;
use longview::model::{Checkpoint, Config, Init, Tensor, Weights};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Steps between two savings of the state.
const SAVE_STEPS: usize = 100;
/// Steps whose losses are averaged to one number.
const WINDOW_STEPS: usize = 50;

/// The tokens that runs share.
pub struct Tokens {
    pub training: Vec<u32>,
    pub held_out: Vec<u32>,
}

/// The weights before training; the same seed gives the same.
pub fn initial_weights(config: &Config, seed: u64) -> Weights {
    let mut random = Pcg64::seed_from_u64(seed);
    config
        .parameters()
        .into_iter()
        .map(|parameter| {
            let count = parameter.shape.iter().product();
            let data = match parameter.init {
                Init::Zeros => vec![0.0; count],
                Init::Ones => vec![1.0; count],
                Init::Values(values) => values.into_iter().map(|value| value as f32).collect(),
                Init::Normal { deviation } => (0..count)
                    .map(|_| {
                        let normal: f64 = random.sample(StandardNormal);
                        (normal * deviation) as f32
                    })
                    .collect(),
            };
            (
                parameter.name,
                Tensor {
                    shape: parameter.shape,
                    data,
                },
            )
        })
        .collect()
}

/// Trains up to step `until` from the state on disk or from the start, and saves the state as it goes.
///
/// # Errors
/// A loss that is not finite, or files that cannot be read or written.
pub fn train(recipe: &Recipe, name: &str, tokens: &[u32], state_path: &Path, until: usize) -> Result<State> {
    let start = State::load(recipe, state_path)?;
    let weights = start.as_ref().map_or_else(
        || initial_weights(&recipe.config, recipe.seed),
        |s| s.weights.clone(),
    );
    let mut trainee = Trainee::new(&recipe.config, &weights)?;
    let mut gradients = trainee.zeros();
    let (mut optimizer, mut losses) = match start {
        Some(state) => (state.optimizer, state.losses),
        None => (AdamW::new(trainee.zeros()), Vec::new()),
    };
    if !losses.is_empty() {
        eprintln!("{name}: going on from step {}", losses.len());
    }
    let mut batches = Batches::new(tokens, recipe.config.trained_length, recipe.windows, recipe.seed)?;
    let (clock, first) = (Instant::now(), losses.len());
    for step in first..until.min(recipe.steps) {
        let mut random = Pcg64::seed_from_u64(draw_seed(recipe.seed, step));
        let mut draw = |below: usize| random.random_range(0..below);
        let batch = batches.at(step, recipe.copies.as_ref())?;
        let nll = trainee.loss_and_gradients(&batch, &mut gradients, &mut draw)?;
        let loss = (nll.iter().map(|&value| f64::from(value)).sum::<f64>() / nll.len() as f64) as f32;
        ensure!(
            loss.is_finite(),
            "{name}: the loss at step {step} is {loss}; lower the learning rate"
        );
        optimizer.step(recipe, step, recipe.rate(step), &mut trainee.weights, &gradients);
        losses.push(loss);
        let done = step + 1;
        if done % SAVE_STEPS == 0 || done == until || done == recipe.steps {
            let ms = clock.elapsed().as_secs_f64() * 1e3 / (done - first) as f64;
            let left_s = ms * (recipe.steps - done) as f64 / 1e3;
            eprintln!(
                "{name}: step {done}/{}, loss {:.4}, {ms:.0} ms a step, {left_s:.0} s left",
                recipe.steps,
                recent(&losses)
            );
            let state = State {
                weights: trainee.weights.clone(),
                optimizer: optimizer.clone(),
                losses: losses.clone(),
            };
            state.save(recipe, state_path)?;
        }
    }
    Ok(State {
        weights: trainee.weights,
        optimizer,
        losses,
    })
}

/// What a step's random positions begin with: by the step, so that an interrupted run goes on exactly, and
/// apart from the seeds of the weights and of the batches.
fn draw_seed(seed: u64, step: usize) -> u64 {
    !seed.wrapping_mul(1_000_003).wrapping_add(step as u64)
}

/// The mean loss of the last steps.
fn recent(losses: &[f32]) -> f64 {
    let tail = &losses[losses.len().saturating_sub(WINDOW_STEPS)..];
    tail.iter().map(|&loss| f64::from(loss)).sum::<f64>() / tail.len().max(1) as f64
}

/// Trains a model to its end and writes `NAME.safetensors` and its log `NAME.json` to `out`.
///
/// # Errors
/// As [`train`], and a held-out text that is too short.
pub fn complete(recipe: &Recipe, name: &str, tokens: &Tokens, out: &Path) -> Result<PathBuf> {
    let state_path = out.join(format!("{name}.state"));
    let state = train(recipe, name, &tokens.training, &state_path, recipe.steps)?;
    let lengths: Vec<usize> = (4..=11).map(|power| 1 << power).collect();
    // As the file will have them.
    let weights = rounded(&recipe.config, state.weights)?;
    let held_out = held_out(&recipe.config, &weights, &tokens.held_out, &lengths)?;
    for point in &held_out {
        eprintln!(
            "{name}: held-out perplexity at {:5}: {:.2}",
            point.length, point.perplexity
        );
    }
    let training_tokens = recipe.steps * recipe.windows * recipe.config.trained_length;
    let record = json!({
        "recipe": recipe,
        "training_text": "five novels by Jane Austen: Emma, Mansfield Park, Northanger Abbey, Pride and Prejudice, Sense and Sensibility",
        "held_out_text": "Persuasion by Jane Austen, its first tokens, non-overlapping windows",
        "epochs": training_tokens as f64 / tokens.training.len() as f64,
        "final_training_loss": recent(&state.losses),
        "held_out": held_out,
    });
    let path = out.join(format!("{name}.safetensors"));
    write_log(
        &out.join(format!("{name}.json")),
        name,
        recipe,
        &state.losses,
        &held_out,
    )?;
    let checkpoint = Checkpoint {
        config: recipe.config.clone(),
        weights,
        record,
    };
    write_whole(&path, &checkpoint.to_bytes()?)?;
    std::fs::remove_file(&state_path)?;
    Ok(path)
}

/// The weights as they are read from a file that has them in f16.
fn rounded(config: &Config, weights: Weights) -> Result<Weights> {
    let checkpoint = Checkpoint {
        config: config.clone(),
        weights,
        record: json!({}),
    };
    Ok(Checkpoint::from_bytes(&checkpoint.to_bytes()?)?.weights)
}

/// The log beside a checkpoint: the loss of every step, and the held-out perplexities.
fn write_log(path: &Path, name: &str, recipe: &Recipe, losses: &[f32], held_out: &[HeldOut]) -> Result<()> {
    let log = json!({
        "name": name,
        "steps": losses.len(),
        "windows_a_step": recipe.windows,
        "trained_length": recipe.config.trained_length,
        "seed": recipe.seed,
        "loss_unit": "nats a token, mean of the step's batch",
        "final_training_loss": recent(losses),
        "held_out": held_out,
        "losses": losses,
    });
    write_whole(path, serde_json::to_string(&log)?.as_bytes())
}
