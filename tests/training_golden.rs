//! The backward pass and the optimiser's input against PyTorch autograd
//! (`tests/golden/training`, made in f64 by torch 2.8): losses within 1e-5, gradients within 1e-4 of
//! their tensor's largest entry. The ten AdamW steps are tested beside the optimiser, in the trainer.

use longview::encoding::{Alibi, Encoding, Rotary, Sinusoidal, T5Bias, Window};
use longview::engine::cpu::Trainee;
use longview::engine::{Batch, EngineError};
use longview::model::{Activation, Config, Tensor, Weights};
use serde_json::Value;
use std::path::PathBuf;

fn golden(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/training")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn weights(name: &str) -> Weights {
    let bytes = golden(name);
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    file.tensors()
        .into_iter()
        .map(|(name, view)| {
            let data = view
                .data()
                .as_chunks::<4>()
                .0
                .iter()
                .map(|bytes| f32::from_le_bytes(*bytes))
                .collect();
            (
                name,
                Tensor {
                    shape: view.shape().to_vec(),
                    data,
                },
            )
        })
        .collect()
}

fn config(encoding: Encoding) -> Config {
    Config {
        vocabulary: 29,
        d_model: 24,
        layers: 2,
        heads: 3,
        d_ff: 96,
        trained_length: 12,
        norm_epsilon: 1e-5,
        norm_bias: true,
        linear_bias: true,
        activation: Activation::GeluTanh,
        tied_output: true,
        embedding_scale: 24.0_f32.sqrt(),
        score_scale: 1.0 / 8.0_f32.sqrt(),
        encoding,
        window: None,
        smeared_keys: false,
    }
}

fn encoding(name: &str) -> Encoding {
    match name {
        "sinusoidal" => Encoding::Sinusoidal(Sinusoidal::default()),
        "rotary" => Encoding::Rotary(Rotary::default()),
        "t5_bias" => Encoding::T5Bias(T5Bias {
            buckets: 8,
            max_distance: 10,
            bidirectional: false,
        }),
        "alibi_trained" => Encoding::Alibi(Alibi {
            slopes: None,
            trained: true,
        }),
        other => Encoding::from_name(other).unwrap(),
    }
}

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap())
        .collect()
}

#[test]
fn losses_and_gradients_equal_pytorch() {
    let record: Value = serde_json::from_slice(&golden("training.json")).unwrap();
    let ids = record["ids"].as_array().unwrap();
    let targets = record["targets"].as_array().unwrap();
    let mut tokens = Vec::new();
    for (ids, targets) in ids.iter().zip(targets) {
        tokens.extend(numbers(ids).iter().map(|&id| id as u32));
        tokens.push(*numbers(targets).last().unwrap() as u32);
    }
    let batch = Batch::new(tokens, 2, 12).unwrap();
    let runs = record["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 7);
    for run in runs {
        let name = run["encoding"].as_str().unwrap();
        let model = Trainee::new(
            &config(encoding(name)),
            &weights(&format!("{name}.initial.safetensors")),
        )
        .unwrap();
        let mut gradients = model.zeros();
        let nll = model
            .loss_and_gradients(&batch, &mut gradients, &mut |_| 0)
            .unwrap();
        let expected: Vec<f64> = run["token_nll"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(numbers)
            .collect();
        assert_eq!(nll.len(), expected.len());
        for (got, expected) in nll.iter().zip(&expected) {
            assert!(
                (f64::from(*got) - expected).abs() < 1e-5,
                "{name}: loss {got}, PyTorch {expected}"
            );
        }
        let golden = weights(&format!("{name}.gradients.safetensors"));
        assert_eq!(
            golden.keys().collect::<Vec<_>>(),
            gradients.keys().collect::<Vec<_>>()
        );
        for (tensor, golden) in &golden {
            let got = &gradients[tensor];
            assert_eq!(got.shape, golden.shape, "{name}: {tensor}");
            let largest = golden
                .data
                .iter()
                .fold(0.0_f32, |most, value| most.max(value.abs()));
            for (index, (got, expected)) in got.data.iter().zip(&golden.data).enumerate() {
                // In f64 PyTorch finds 1e-18 where the exact gradient is 0 (keys have no use for a bias).
                let limit = 1e-4 * largest.max(1e-3);
                assert!(
                    (got - expected).abs() <= limit,
                    "{name}: {tensor}[{index}] is {got}, PyTorch {expected}"
                );
            }
        }
    }
}

#[test]
fn gradients_with_smeared_keys_equal_finite_differences() {
    for name in ["none", "rotary", "t5_bias"] {
        let mut config = config(encoding(name));
        config.smeared_keys = true;
        let mut seed = 7_u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let mut weights = Weights::new();
        for parameter in config.parameters() {
            let data = (0..parameter.shape.iter().product()).map(|_| 0.7 * next());
            let tensor = Tensor {
                data: data.collect(),
                shape: parameter.shape,
            };
            weights.insert(parameter.name, tensor);
        }
        let batch = Batch::new((0..26).map(|at| at * 11 % 29).collect(), 2, 12).unwrap();
        let loss = |weights: &Weights| {
            let model = Trainee::new(&config, weights).unwrap();
            let mut gradients = model.zeros();
            let nll = model
                .loss_and_gradients(&batch, &mut gradients, &mut |_| 0)
                .unwrap();
            let mean = nll.iter().map(|&nll| f64::from(nll)).sum::<f64>() / nll.len() as f64;
            (mean, gradients)
        };
        let (_, gradients) = loss(&weights);
        assert_eq!(gradients["layers.1.attention.smear"].shape, [3]);
        for (tensor, gradient) in &gradients {
            let count = gradient.data.len();
            for index in [0, 1, 2, count / 2, count - 1].map(|index| index.min(count - 1)) {
                let moved = |by: f32| {
                    let mut weights = weights.clone();
                    weights.get_mut(tensor).unwrap().data[index] += by;
                    loss(&weights).0
                };
                let step = 1.0 / 512.0;
                let exact = (moved(step) - moved(-step)) / f64::from(2.0 * step);
                let got = f64::from(gradient.data[index]);
                assert!(
                    (got - exact).abs() < 1e-3 + 1e-2 * exact.abs(),
                    "{name}: {tensor}[{index}] is {got}, the difference gives {exact}"
                );
            }
        }
        let raw = &gradients["layers.0.attention.smear"].data;
        assert!(
            raw.iter().all(|value| value.abs() > 1e-3),
            "{name}: too small to test: {raw:?}"
        );
    }
}

#[test]
fn a_window_is_refused_in_training() {
    let mut config = config(encoding("alibi"));
    let weights = weights("alibi.initial.safetensors");
    config.window = Some(Window { keys: 4, sinks: 0 });
    let model = Trainee::new(&config, &weights).unwrap();
    let batch = Batch::new(vec![1; 13], 1, 12).unwrap();
    let error = model
        .loss_and_gradients(&batch, &mut model.zeros(), &mut |_| 0)
        .unwrap_err();
    assert_eq!(error, EngineError::FarInTraining);
}
