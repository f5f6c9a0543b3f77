//! What several golden tests share: reading the golden files, and the public models with their weights
//! under Longview's names.
#![allow(dead_code, unused_imports, reason = "each test crate uses its own part of it")]

mod golden_models;
#[cfg(feature = "gpu")]
pub mod gpu;

pub use golden_models::{GoldenAttention, GoldenModel, GoldenSequence, golden_model, golden_models};

use longview::encoding::Shape;
use longview::model::{Tensor, Weights};
use serde_json::Value;
use std::path::PathBuf;

/// The sizes of a model whose heads fill its width.
pub fn shape(length: usize, heads: usize, d_head: usize) -> Shape {
    Shape {
        length,
        d_model: heads * d_head,
        heads,
        d_head,
    }
}

/// The bytes of a file in `tests/golden`.
pub fn golden_bytes(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A JSON file in `tests/golden`.
pub fn golden_json(name: &str) -> Value {
    serde_json::from_slice(&golden_bytes(name)).unwrap()
}

/// An f32 safetensors file in `tests/golden`.
pub fn golden_weights(name: &str) -> Weights {
    let bytes = golden_bytes(name);
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    file.tensors()
        .into_iter()
        .map(|(name, view)| {
            assert_eq!(view.dtype(), safetensors::Dtype::F32, "{name}");
            let chunks = view.data().as_chunks().0;
            let data = chunks.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
            let shape = view.shape().to_vec();
            (name, Tensor { shape, data })
        })
        .collect()
}

/// The array at a key of a JSON object.
pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key]
        .as_array()
        .unwrap_or_else(|| panic!("no list \"{key}\""))
}

/// A JSON list of numbers.
pub fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(|x| x.as_f64().expect("a number")).collect()
}

/// A JSON list of lists of numbers.
pub fn rows(value: &Value) -> Vec<Vec<f64>> {
    value.as_array().expect("a list").iter().map(numbers).collect()
}

/// A JSON list of counts.
pub fn counts(value: &Value) -> Vec<usize> {
    let list = value.as_array().expect("a list");
    list.iter()
        .map(|x| x.as_u64().expect("a count") as usize)
        .collect()
}

/// The largest absolute difference of two lists of one length.
pub fn largest_difference(got: &[f64], expected: &[f64]) -> f64 {
    assert_eq!(got.len(), expected.len());
    got.iter().zip(expected).fold(0.0, |most, (a, b)| {
        let difference = (a - b).abs();
        assert!(difference.is_finite(), "{a} against {b}");
        difference.max(most)
    })
}
