//! Times steps of training, for `cargo xtask bench --training`: from a checkpoint, with fresh moments, at one
//! learning rate, on windows of the tokens in the order in which they stand. Prints JSON
//! `{"losses": […], "ms": […], "computed_ms": […]}`, one number a step; the last are what all threads computed
//! (Linux), which other programs on the machine disturb less than a clock.
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

/// Milliseconds that this program's threads have computed so far; nothing where the system does not tell.
fn computed_ms() -> Option<f64> {
    let of_thread = |thread: fs::DirEntry| -> Option<f64> {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    let threads = fs::read_dir("/proc/self/task").ok()?;
    Some(threads.flatten().filter_map(of_thread).sum::<f64>() / 1e6)
}

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
    let (mut losses, mut ms, mut computed) = (Vec::new(), Vec::new(), Vec::new());
    for step in 0..steps {
        let (start, before) = (Instant::now(), computed_ms());
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
        computed.extend(before.and_then(|before| Some(computed_ms()? - before)));
        losses.push(nll.iter().map(|&loss| f64::from(loss)).sum::<f64>() / nll.len() as f64);
    }
    println!(
        "{}",
        serde_json::json!({ "losses": losses, "ms": ms, "computed_ms": computed })
    );
    Ok(())
}
