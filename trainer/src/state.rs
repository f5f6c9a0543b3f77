//! What an interrupted run goes on from.

use crate::optimizer::AdamW;
use crate::recipe::Recipe;
use anyhow::{Context, Result, ensure};
use longview::model::{Tensor, Weights};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

/// A run between two steps.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub weights: Weights,
    pub optimizer: AdamW,
    /// The mean loss of every step so far, in nats.
    pub losses: Vec<f32>,
}

#[derive(Serialize, Deserialize)]
struct Header {
    recipe: Recipe,
    losses: Vec<f32>,
}

/// Writes a file whole or not at all: an interruption leaves the old one.
///
/// # Errors
/// A folder that cannot be made or written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<()> {
    let part = path.with_extension("part");
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(&part, bytes).with_context(|| format!("cannot write {}", part.display()))?;
    std::fs::rename(&part, path).with_context(|| format!("cannot write {}", path.display()))
}

impl State {
    /// Saves the state of a run of `recipe`.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save(&self, recipe: &Recipe, path: &Path) -> Result<()> {
        let mut bytes = Vec::new();
        for (part, weights) in [
            ("weights", &self.weights),
            ("first", &self.optimizer.first),
            ("second", &self.optimizer.second),
        ] {
            for (name, tensor) in weights {
                let data: Vec<u8> = tensor.data.iter().flat_map(|value| value.to_le_bytes()).collect();
                bytes.push((format!("{part}/{name}"), tensor.shape.clone(), data));
            }
        }
        let views = bytes
            .iter()
            .map(|(name, shape, data)| Ok((name.as_str(), TensorView::new(Dtype::F32, shape.clone(), data)?)))
            .collect::<Result<Vec<_>>>()?;
        let header = serde_json::to_string(&Header {
            recipe: recipe.clone(),
            losses: self.losses.clone(),
        })?;
        write_whole(
            path,
            &safetensors::serialize(views, Some(HashMap::from([("state".into(), header)])))?,
        )
    }

    /// Reads the state of a run of `recipe`, if there is one.
    ///
    /// # Errors
    /// A damaged file, or one of another recipe.
    pub fn load(recipe: &Recipe, path: &Path) -> Result<Option<Self>> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
        };
        Self::parse(recipe, &bytes)
            .with_context(|| format!("cannot go on from {}; delete it to begin anew", path.display()))
            .map(Some)
    }

    fn parse(recipe: &Recipe, bytes: &[u8]) -> Result<Self> {
        let (_, metadata) = SafeTensors::read_metadata(bytes)?;
        let header = metadata
            .metadata()
            .as_ref()
            .and_then(|map| map.get("state"))
            .context("it is no saved run")?;
        let header: Header = serde_json::from_str(header)?;
        ensure!(
            header.recipe == *recipe,
            "it belongs to a run with other settings"
        );
        let file = SafeTensors::deserialize(bytes)?;
        let part = |part: &str| -> Weights {
            let tensors = file.tensors().into_iter();
            tensors
                .filter_map(|(name, view)| {
                    let name = name.strip_prefix(part)?.strip_prefix('/')?.to_string();
                    let data = view
                        .data()
                        .as_chunks()
                        .0
                        .iter()
                        .map(|&bytes| f32::from_le_bytes(bytes))
                        .collect();
                    Some((
                        name,
                        Tensor {
                            shape: view.shape().to_vec(),
                            data,
                        },
                    ))
                })
                .collect()
        };
        let optimizer = AdamW {
            first: part("first"),
            second: part("second"),
        };
        Ok(Self {
            weights: part("weights"),
            optimizer,
            losses: header.losses,
        })
    }
}
