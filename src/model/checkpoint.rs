use super::{Config, ConfigError, Tensor, Weights};
use half::{bf16, f16};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError, SafeTensors};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use thiserror::Error;

/// The key in the file's metadata under which configuration and record stand, as JSON. One key only:
/// the format's map has no order, and the same model should give the same bytes.
const KEY: &str = "longview";

/// Files larger than this are refused before they are looked into. The shipped ones are below 1 MB.
pub const SIZE_BYTES_MAX: usize = 64 << 20;

/// A trained model in one file: safetensors in f16, the configuration and the training record in its
/// metadata, so that the usual tools open it.
#[derive(Clone, Debug, PartialEq)]
pub struct Checkpoint {
    pub config: Config,
    pub weights: Weights,
    /// How it was trained: text, steps, seed, losses. Free JSON, for readers.
    pub record: serde_json::Value,
}

#[derive(Serialize, Deserialize)]
struct Header {
    config: Config,
    #[serde(default)]
    record: serde_json::Value,
}

/// Why bytes are no checkpoint. Each message names the thing and the mend.
#[derive(Debug, Error)]
pub enum CheckpointError {
    #[error("the file has {size_bytes} bytes, the limit is {SIZE_BYTES_MAX}; choose a smaller model")]
    TooLarge { size_bytes: usize },
    #[error("this is a web page, not a checkpoint; the address is wrong or the server sent an error page")]
    WebPage,
    #[error("the file ends too early ({size_bytes} bytes); the download was cut, fetch it again")]
    Truncated { size_bytes: usize },
    #[error("this is not a safetensors file ({0}); choose a checkpoint that Longview's trainer wrote")]
    NotSafetensors(String),
    #[error(
        "the safetensors file has no \"{KEY}\" metadata, so its architecture is unknown; choose a checkpoint that Longview's trainer wrote"
    )]
    Foreign,
    #[error(
        "the checkpoint's metadata cannot be read ({0}); it was written by another version, or is damaged"
    )]
    Header(#[from] serde_json::Error),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("the tensor \"{0}\" is missing; the checkpoint is incomplete, fetch or train it again")]
    Missing(String),
    #[error("the tensor \"{0}\" belongs to no part of the model that the checkpoint describes")]
    Unknown(String),
    #[error("the tensor \"{name}\" has the shape {found:?}, the configuration says {need:?}")]
    Shape {
        name: String,
        found: Vec<usize>,
        need: Vec<usize>,
    },
    #[error("the tensor \"{name}\" is of type {found}; F16, BF16 and F32 can be read")]
    Type { name: String, found: String },
    #[error(
        "the tensor \"{0}\" holds a number that is not finite; the training diverged or the file is damaged"
    )]
    NotFinite(String),
}

impl From<SafeTensorError> for CheckpointError {
    fn from(error: SafeTensorError) -> Self {
        Self::NotSafetensors(error.to_string())
    }
}

impl Checkpoint {
    /// Reads a file, checks that every tensor of its configuration is there, of the right shape and
    /// finite, and that there is no other.
    ///
    /// # Errors
    /// Whatever keeps the bytes from being such a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CheckpointError> {
        let size_bytes = bytes.len();
        if size_bytes > SIZE_BYTES_MAX {
            return Err(CheckpointError::TooLarge { size_bytes });
        }
        if bytes.trim_ascii_start().starts_with(b"<") {
            return Err(CheckpointError::WebPage);
        }
        let file = SafeTensors::deserialize(bytes).map_err(|error| match error {
            SafeTensorError::HeaderTooSmall
            | SafeTensorError::InvalidHeaderLength
            | SafeTensorError::MetadataIncompleteBuffer => CheckpointError::Truncated { size_bytes },
            other => other.into(),
        })?;
        let (_, metadata) = SafeTensors::read_metadata(bytes)?;
        let header = metadata
            .metadata()
            .as_ref()
            .and_then(|map| map.get(KEY))
            .ok_or(CheckpointError::Foreign)?;
        let Header { config, record } = crate::json::read(header)?;
        config.validate()?;
        let mut weights = Weights::new();
        let parameters = config.parameters();
        for parameter in &parameters {
            let name = &parameter.name;
            let view = file
                .tensor(name)
                .map_err(|_| CheckpointError::Missing(name.clone()))?;
            if view.shape() != parameter.shape {
                return Err(CheckpointError::Shape {
                    name: name.clone(),
                    found: view.shape().to_vec(),
                    need: parameter.shape.clone(),
                });
            }
            let data = floats(name, &view)?;
            if data.iter().any(|value| !value.is_finite()) {
                return Err(CheckpointError::NotFinite(name.clone()));
            }
            weights.insert(
                name.clone(),
                Tensor {
                    shape: parameter.shape.clone(),
                    data,
                },
            );
        }
        if let Some(name) = file.names().into_iter().find(|name| !weights.contains_key(*name)) {
            return Err(CheckpointError::Unknown(name.to_string()));
        }
        Ok(Self {
            config,
            weights,
            record,
        })
    }

    /// The file's bytes, weights in f16; the same checkpoint gives the same bytes.
    ///
    /// # Errors
    /// A weight that f16 cannot hold, or a tensor whose data does not fill its shape.
    pub fn to_bytes(&self) -> Result<Vec<u8>, CheckpointError> {
        let header = serde_json::to_string(&Header {
            config: self.config.clone(),
            record: self.record.clone(),
        })?;
        let mut halves = Vec::with_capacity(self.weights.len());
        for (name, tensor) in &self.weights {
            let bytes: Vec<u8> = tensor
                .data
                .iter()
                .flat_map(|&value| f16::from_f32(value).to_le_bytes())
                .collect();
            if tensor.data.iter().any(|&value| !f16::from_f32(value).is_finite()) {
                return Err(CheckpointError::NotFinite(name.clone()));
            }
            halves.push((name.as_str(), tensor.shape.clone(), bytes));
        }
        let views = halves
            .iter()
            .map(|(name, shape, bytes)| Ok((*name, TensorView::new(Dtype::F16, shape.clone(), bytes)?)))
            .collect::<Result<Vec<_>, SafeTensorError>>()?;
        Ok(safetensors::serialize(
            views,
            Some(HashMap::from([(KEY.to_string(), header)])),
        )?)
    }
}

/// The numbers of a tensor as f32.
fn floats(name: &str, view: &TensorView) -> Result<Vec<f32>, CheckpointError> {
    let data = view.data();
    Ok(match view.dtype() {
        Dtype::F32 => data
            .as_chunks()
            .0
            .iter()
            .map(|&bytes| f32::from_le_bytes(bytes))
            .collect(),
        Dtype::F16 => data
            .as_chunks()
            .0
            .iter()
            .map(|&bytes| f16::from_le_bytes(bytes).to_f32())
            .collect(),
        Dtype::BF16 => data
            .as_chunks()
            .0
            .iter()
            .map(|&bytes| bf16::from_le_bytes(bytes).to_f32())
            .collect(),
        other => {
            return Err(CheckpointError::Type {
                name: name.to_string(),
                found: format!("{other:?}"),
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::Encoding;
    use proptest::prelude::*;

    fn small() -> Checkpoint {
        let mut config = Config::base(Encoding::from_name("t5_bias").unwrap(), 2);
        (config.vocabulary, config.d_model, config.layers, config.d_ff) = (7, 8, 1, 8);
        let weights = config
            .parameters()
            .into_iter()
            .map(|p| {
                let count = p.shape.iter().product::<usize>();
                (
                    p.name,
                    Tensor {
                        shape: p.shape,
                        data: (0..count).map(|i| i as f32 / 16.0 - 1.0).collect(),
                    },
                )
            })
            .collect();
        Checkpoint {
            config,
            weights,
            record: serde_json::json!({"steps": 3, "seed": 1, "text": "x"}),
        }
    }

    #[test]
    fn reads_what_it_wrote_and_writes_the_same_bytes() {
        let checkpoint = small();
        let bytes = checkpoint.to_bytes().unwrap();
        assert_eq!(Checkpoint::from_bytes(&bytes).unwrap(), checkpoint);
        for _ in 0..8 {
            assert_eq!(checkpoint.to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn every_fault_has_its_message() {
        let checkpoint = small();
        let bytes = checkpoint.to_bytes().unwrap();
        let message = |bytes: &[u8]| Checkpoint::from_bytes(bytes).unwrap_err().to_string();
        assert!(message(&bytes[..bytes.len() - 2]).contains("ends too early"));
        assert!(message(&bytes[..5]).contains("ends too early"));
        assert!(message(b"").contains("ends too early"));
        assert!(message(b"<!doctype html><title>404</title>").contains("web page"));
        assert!(message(&[b'x'; 4096]).contains("not a safetensors file"));
        assert!(message(&vec![0; SIZE_BYTES_MAX + 1]).contains("limit"));
        let with = |change: &dyn Fn(&mut Checkpoint)| {
            let mut changed = checkpoint.clone();
            change(&mut changed);
            changed
                .to_bytes()
                .map_err(|error| error.to_string())
                .map_or_else(|error| error, |bytes| message(&bytes))
        };
        assert!(
            with(&|c| drop(c.weights.remove("final_norm.weight")))
                .contains("\"final_norm.weight\" is missing")
        );
        assert!(with(&|c| c.config.d_ff = 9).contains("shape"));
        assert!(with(&|c| c.config.heads = 3).contains("multiple of the 3 heads"));
        assert!(with(&|c| c.config.layers = 100_000).contains("layers is 100000"));
        assert!(
            with(&|c| drop(c.weights.insert(
                "more".into(),
                Tensor {
                    shape: vec![1],
                    data: vec![0.0]
                }
            )))
            .contains("more")
        );
        assert!(
            with(&|c| c.weights.get_mut("final_norm.weight").unwrap().data[0] = f32::NAN)
                .contains("not finite")
        );
        assert!(
            with(&|c| c.weights.get_mut("final_norm.weight").unwrap().data[0] = 1e9).contains("not finite")
        );
        let foreign = safetensors::serialize(Vec::<(&str, TensorView)>::new(), None).unwrap();
        assert!(message(&foreign).contains("architecture is unknown"));
    }

    proptest! {
        #[test]
        fn damaged_files_are_refused_or_read_but_never_panic(at in 0_usize..4000, to: u8, cut in 0_usize..4000) {
            let mut bytes = small().to_bytes().unwrap();
            let at = at % bytes.len();
            bytes[at] = to;
            let _ = Checkpoint::from_bytes(&bytes);
            bytes.truncate(cut);
            let _ = Checkpoint::from_bytes(&bytes);
        }
    }
}
