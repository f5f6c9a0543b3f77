//! Times steps of training, for `cargo xtask bench --training`: from a checkpoint, with fresh moments, at one
//! learning rate, on windows of the tokens in the order in which they stand. Prints JSON
//! `{"losses": […], "ms": […]}`, one number a step.
//!
//! `steps CHECKPOINT TOKENS STEPS`, TOKENS being a file of u32.

use anyhow::{Context, Result, bail, ensure};
use longview::engine::Batch;
use longview::engine::cpu::Trainee;
use longview::model::Checkpoint;
use longview_trainer::optimizer::AdamW;
use longview_trainer::recipe::Recipe;
use std::fs;
use std::time::Instant;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [checkpoint, tokens, steps] = &arguments[..] else {
        bail!("usage: steps CHECKPOINT TOKENS STEPS");
    };
    let steps: usize = steps.parse().context("STEPS is no number")?;
    let checkpoint = Checkpoint::from_bytes(&fs::read(checkpoint).context(checkpoint.clone())?)?;
    let bytes = fs::read(tokens).context(tokens.clone())?;
    let tokens: Vec<u32> = bytes
        .as_chunks()
        .0
        .iter()
        .map(|&four| u32::from_le_bytes(four))
        .collect();

    let recipe = Recipe::base(checkpoint.config.encoding.clone(), 1);
    let (length, windows) = (checkpoint.config.trained_length, recipe.windows);
    ensure!(
        tokens.len() > windows * length * steps,
        "there are too few tokens for {steps} steps"
    );
    let mut trainee = Trainee::new(&checkpoint.config, &checkpoint.weights)?;
    let mut gradients = trainee.zeros();
    let mut optimizer = AdamW::new(trainee.zeros());
    let (mut losses, mut ms) = (Vec::new(), Vec::new());
    for step in 0..steps {
        let start = Instant::now();
        let cut = (step * windows..(step + 1) * windows)
            .flat_map(|window| &tokens[window * length..=(window + 1) * length]);
        let batch = Batch::new(cut.copied().collect(), windows, length)?;
        let nll = trainee.loss_and_gradients(&batch, &mut gradients, &mut |_| 0)?;
        optimizer.step(
            &recipe,
            step,
            recipe.learning_rate,
            &mut trainee.weights,
            &gradients,
        );
        ms.push(start.elapsed().as_secs_f64() * 1e3);
        losses.push(nll.iter().map(|&loss| f64::from(loss)).sum::<f64>() / nll.len() as f64);
    }
    println!("{}", serde_json::json!({ "losses": losses, "ms": ms }));
    Ok(())
}
