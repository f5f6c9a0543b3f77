//! The list of the checkpoints in a folder, which the page reads before it fetches one.

use crate::grid::Model;
use crate::state::write_whole;
use anyhow::{Context, Result};
use clap::ValueEnum;
use longview::model::Checkpoint;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::path::Path;

/// The manifest's file.
pub const FILE: &str = "manifest.json";

/// Writes `manifest.json` anew from the checkpoints that lie in `out`, in the order of `models`: size, hash,
/// what the model is, and its losses. `trained` is the name of the model that was just trained, and the
/// seconds that took; of the others what the old manifest says of that is kept, and of the losses of all whose file
/// is the same.
///
/// # Errors
/// A checkpoint that cannot be read, or a manifest that cannot be written.
pub fn write(out: &Path, models: &[Model], trained: Option<(&str, f64)>) -> Result<()> {
    let path = out.join(FILE);
    let old: Value = match std::fs::read(&path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .with_context(|| format!("cannot read {}; delete it to have it made anew", path.display()))?,
        Err(_) => json!([]),
    };
    let mut list = Vec::new();
    for Model { name, set, .. } in models {
        let file = out.join(format!("{name}.safetensors"));
        let Ok(bytes) = std::fs::read(&file) else { continue };
        let hash: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        let known = old
            .as_array()
            .into_iter()
            .flatten()
            .find(|entry| entry["sha256"] == hash.as_str());
        let seconds = match trained {
            Some((of, seconds)) if of == name => Some(seconds.round()),
            _ => known.and_then(|entry| entry["seconds"].as_f64()),
        };
        let Checkpoint { config, record, .. } =
            Checkpoint::from_bytes(&bytes).with_context(|| format!("{}", file.display()))?;
        list.push(json!({
            "name": name,
            "set": set.to_possible_value().map(|value| value.get_name().to_string()),
            "size_bytes": bytes.len(),
            "sha256": hash,
            "encoding": config.encoding,
            "heads": config.heads,
            "trained_length": config.trained_length,
            "seed": record["recipe"]["seed"],
            "steps": record["recipe"]["steps"],
            "final_training_loss": record["final_training_loss"],
            "held_out": known.map_or(&record["held_out"], |entry| &entry["held_out"]),
            "seconds": seconds,
        }));
    }
    write_list(out, &list)
}

/// Writes the manifest of these entries to the folder `out`.
pub(crate) fn write_list(out: &Path, list: &[Value]) -> Result<()> {
    // One line a model: readable, and a change is seen as one.
    let lines: Vec<String> = list.iter().map(Value::to_string).collect();
    write_whole(
        &out.join(FILE),
        format!("[\n{}\n]\n", lines.join(",\n")).as_bytes(),
    )
}
