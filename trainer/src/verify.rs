//! Whether the checkpoints in a folder are what its manifest says: their bytes, and their perplexities. Those of the
//! manifest are of the files, whose weights are in f16; a checkpoint's record, and the log beside it, may have been
//! written before the weights were rounded.

use crate::evaluate::{HeldOut, held_out};
use crate::manifest;
use anyhow::{Context, Result, ensure};
use longview::model::Checkpoint;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::path::Path;

/// Processors and threads add up in different orders.
const DIFFERENCE_MAX: f64 = 1e-4;

/// Measures every model of the manifest in `out` again (of those named, where some are), at the lengths that the
/// manifest has, on the held-out tokens; says the largest difference of each. With `write` the manifest gets what was
/// measured in place of what it says.
///
/// # Errors
/// A file with another size or hash, or, where nothing is to be written, a perplexity that differs by more than one in
/// ten thousand.
pub fn verify(out: &Path, only: &[String], lengths: &[usize], tokens: &[u32], write: bool) -> Result<()> {
    let path = out.join(manifest::FILE);
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut list: Vec<Value> = serde_json::from_str(&text).with_context(|| format!("{}", path.display()))?;
    let mut worst = (0.0_f64, String::new());
    let mut wrong = Vec::new();
    for index in 0..list.len() {
        let entry = &list[index];
        let name = entry["name"]
            .as_str()
            .context("a model in the manifest has no name")?
            .to_string();
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let file = out.join(format!("{name}.safetensors"));
        let bytes = std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let hash: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        ensure!(
            entry["sha256"] == hash.as_str() && entry["size_bytes"] == bytes.len(),
            "{name}: size or hash differ from the manifest's; train it again, or write the manifest anew"
        );
        let Checkpoint { config, weights, .. } =
            Checkpoint::from_bytes(&bytes).with_context(|| name.to_string())?;
        let points: Vec<(usize, f64)> = entry["held_out"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|point| Some((point["length"].as_u64()? as usize, point["perplexity"].as_f64()?)))
            .filter(|(length, _)| lengths.is_empty() || lengths.contains(length))
            .collect();
        ensure!(
            !points.is_empty(),
            "{name}: the manifest has no perplexity of it at these lengths"
        );
        // The longest decides which tokens are scored; it was a power of two, as all were.
        let lengths: Vec<usize> = points.iter().map(|(length, _)| *length).collect();
        let found = held_out(&config, &weights, tokens, &lengths)?;
        let mut largest = (0.0_f64, 0);
        for ((length, listed), point) in points.iter().zip(&found) {
            let difference = (point.perplexity / listed - 1.0).abs();
            // In the total order what is no number is the largest.
            if difference.total_cmp(&largest.0).is_gt() {
                largest = (difference, *length);
            }
        }
        println!(
            "{name}: differs by {:.1e} at most, at {} tokens",
            largest.0, largest.1
        );
        if largest.0.total_cmp(&worst.0).is_gt() {
            worst = (largest.0, format!("{name} at {} tokens", largest.1));
        }
        if largest.0.total_cmp(&DIFFERENCE_MAX).is_gt() {
            wrong.push(name);
        }
        if write {
            write_found(&mut list[index], &found);
            // Each as it comes: what was measured is not lost where the next is interrupted.
            manifest::write_list(out, &list)?;
        }
    }
    println!("largest difference: {:.2e}, {}", worst.0, worst.1);
    ensure!(
        write || wrong.is_empty(),
        "perplexities differ from the manifest's by more than {DIFFERENCE_MAX}: {}",
        wrong.join(", ")
    );
    Ok(())
}

/// Puts what was measured of a model in the place of what its entry says.
fn write_found(entry: &mut Value, found: &[HeldOut]) {
    for point in entry["held_out"].as_array_mut().into_iter().flatten() {
        let same = |one: &&HeldOut| point["length"].as_u64() == Some(one.length as u64);
        if let Some(one) = found.iter().find(same) {
            point["perplexity"] = one.perplexity.into();
        }
    }
}
