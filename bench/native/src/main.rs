//! Our CPU engine beside candle and burn, natively on one thread, for orientation: the same checkpoint and
//! tokens, engines taking turns, each answer compared with ours. Prints one JSON object.
//!
//! `longview-bench-native MODEL SIZES ROUNDS`, in the repository's root, with `RAYON_NUM_THREADS=1`.

mod by_burn;
mod by_candle;
mod weights;

use anyhow::{Context, Result, bail, ensure};
use longview::engine::{Batch, Captures, cpu};
use longview::model::{Checkpoint, Tokenizer};
use std::fs;
use std::time::Instant;

/// The largest difference of a loss from ours, in nats.
const DIFFERENCE_MAX: f32 = 5e-4;

/// One engine with the model loaded: the losses of a batch, `[windows][T]`.
trait Engine {
    fn name(&self) -> &'static str;
    fn run(&mut self, batch: &Batch) -> Result<Vec<f32>>;
}

struct Ours(cpu::Model);

impl Engine for Ours {
    fn name(&self) -> &'static str {
        "Longview, native"
    }

    fn run(&mut self, batch: &Batch) -> Result<Vec<f32>> {
        Ok(self.0.forward(batch, &Captures::default())?.nll)
    }
}

/// Windows of T + 1 tokens that follow one another, as in the browser.
fn cut(tokens: &[u32], windows: usize, length: usize) -> Result<Batch> {
    ensure!(windows * length < tokens.len(), "the text is too short");
    let cut: Vec<u32> = (0..windows)
        .flat_map(|window| &tokens[window * length..=(window + 1) * length])
        .copied()
        .collect();
    Ok(Batch::new(cut, windows, length)?)
}

fn largest_difference(found: &[f32], reference: &[f32]) -> f32 {
    let apart = found.iter().zip(reference).map(|(a, b)| (a - b).abs());
    // A NaN is no number below the limit: it counts as infinitely far.
    apart.fold(0.0, |most, apart| {
        if apart.is_nan() {
            f32::INFINITY
        } else {
            most.max(apart)
        }
    })
}

/// Milliseconds that this program's threads have computed so far (Linux). Unlike a clock it leaves out what other
/// programs on the machine took.
fn computed_ms() -> Option<f64> {
    let threads = fs::read_dir("/proc/self/task").ok()?;
    let of_thread = |thread: fs::DirEntry| -> Option<f64> {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    Some(threads.flatten().filter_map(of_thread).sum::<f64>() / 1e6)
}

/// Milliseconds of every engine in every round, the first of a round another each time.
fn measure(engines: &mut [Box<dyn Engine>], batch: &Batch, rounds: usize) -> Result<Vec<serde_json::Value>> {
    let reference = engines[0].run(batch)?;
    let mut results = Vec::new();
    for engine in engines.iter_mut() {
        let difference = largest_difference(&engine.run(batch)?, &reference);
        ensure!(
            difference <= DIFFERENCE_MAX,
            "{} is wrong: a loss is off by {difference:.1e} nats",
            engine.name()
        );
        results.push((difference, Vec::new(), Vec::new()));
    }
    for round in 0..rounds {
        for turn in 0..engines.len() {
            let index = (round + turn) % engines.len();
            let (start, before) = (Instant::now(), computed_ms());
            engines[index].run(batch)?;
            results[index].1.push(start.elapsed().as_secs_f64() * 1e3);
            if let (Some(before), Some(after)) = (before, computed_ms()) {
                results[index].2.push(after - before);
            }
        }
    }
    Ok(engines
        .iter()
        .zip(results)
        .map(|(engine, (difference, ms, computed_ms))| {
            let name = engine.name();
            serde_json::json!({ "engine": name, "difference": difference, "ms": ms, "computed_ms": computed_ms })
        })
        .collect())
}

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, sizes, rounds] = &arguments[..] else {
        bail!("usage: longview-bench-native MODEL SIZES ROUNDS, such as alibi 16x128,8x512 5");
    };
    let rounds: usize = rounds.parse().context("rounds are no number")?;
    let bytes = fs::read(format!("www/checkpoints/{model}.safetensors")).context("no such checkpoint")?;
    let checkpoint = Checkpoint::from_bytes(&bytes)?;
    let tokenizer = Tokenizer::from_json(&fs::read("www/checkpoints/tokenizer.json")?)?;
    let tokens = tokenizer
        .encode(&fs::read_to_string("www/texts/persuasion.txt")?)
        .ids;
    let mut engines: Vec<Box<dyn Engine>> = vec![
        Box::new(Ours(cpu::Model::new(&checkpoint.config, &checkpoint.weights)?)),
        Box::new(by_candle::Candle::new(&checkpoint)?),
        Box::new(by_burn::Burn::new(&checkpoint)?),
    ];
    let mut found = serde_json::Map::new();
    for size in sizes.split(',') {
        let (windows, length) = size.split_once('x').context("a size is written as in 16x128")?;
        let batch = cut(&tokens, windows.parse()?, length.parse()?)?;
        let results = measure(&mut engines, &batch, rounds)?;
        found.insert(size.to_owned(), serde_json::Value::Array(results));
    }
    println!("{}", serde_json::Value::Object(found));
    Ok(())
}
