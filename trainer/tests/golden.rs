//! Ten AdamW steps against PyTorch (`tests/golden/training`): losses and gradient norms; the tenth loss
//! within 1e-3.

use longview::encoding::{Alibi, Encoding, T5Bias};
use longview::engine::Batch;
use longview::engine::cpu::Trainee;
use longview::model::{Tensor, Weights};
use longview_trainer::optimizer::AdamW;
use longview_trainer::recipe::Recipe;
use serde_json::Value;
use std::path::PathBuf;

fn golden(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../tests/golden/training")
        .join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn weights(name: &str) -> Weights {
    let bytes = golden(name);
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let tensors = file.tensors().into_iter();
    tensors
        .map(|(name, view)| {
            let data = view
                .data()
                .as_chunks()
                .0
                .iter()
                .map(|&bytes| f32::from_le_bytes(bytes))
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

fn recipe(name: &str, header: &Value) -> Recipe {
    let number = |key: &str| header[key].as_f64().unwrap();
    let encoding = match name {
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
    };
    let mut recipe = Recipe::base(encoding, 0);
    let config = &mut recipe.config;
    config.vocabulary = number("vocabulary") as usize;
    config.d_model = number("d_model") as usize;
    config.layers = number("layers") as usize;
    config.heads = number("heads") as usize;
    config.d_ff = number("d_ff") as usize;
    config.trained_length = number("length") as usize;
    config.norm_epsilon = number("norm_eps") as f32;
    config.embedding_scale = (config.d_model as f32).sqrt();
    config.score_scale = 1.0 / (config.d_head() as f32).sqrt();
    recipe.beta1 = number("beta1");
    recipe.beta2 = number("beta2");
    recipe.epsilon = number("adam_eps");
    recipe.weight_decay = number("weight_decay");
    recipe.clip = number("clip");
    recipe
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
fn ten_steps_equal_pytorch() {
    let record: Value = serde_json::from_slice(&golden("training.json")).unwrap();
    let mut tokens = Vec::new();
    for (ids, targets) in record["ids"]
        .as_array()
        .unwrap()
        .iter()
        .zip(record["targets"].as_array().unwrap())
    {
        tokens.extend(numbers(ids).iter().map(|&id| id as u32));
        tokens.push(*numbers(targets).last().unwrap() as u32);
    }
    let batch = Batch::new(tokens, 2, 12).unwrap();
    let mut worst: f64 = 0.0;
    for run in record["runs"].as_array().unwrap() {
        let name = run["encoding"].as_str().unwrap();
        let recipe = recipe(name, &record["header"]);
        let rate = record["header"]["lr"].as_f64().unwrap();
        let mut model =
            Trainee::new(&recipe.config, &weights(&format!("{name}.initial.safetensors"))).unwrap();
        let mut gradients = model.zeros();
        let mut optimizer = AdamW::new(model.zeros());
        let (losses, norms) = (numbers(&run["losses"]), numbers(&run["gradient_norms"]));
        assert_eq!(losses.len(), 10);
        for (step, (expected, expected_norm)) in losses.iter().zip(&norms).enumerate() {
            let nll = model
                .loss_and_gradients(&batch, &mut gradients, &mut |_| 0)
                .unwrap();
            let loss = nll.iter().map(|&value| f64::from(value)).sum::<f64>() / nll.len() as f64;
            let norm = optimizer.step(&recipe, step, rate, &mut model.weights, &gradients);
            worst = worst.max((loss - expected).abs());
            assert!(
                (loss - expected).abs() < 1e-3,
                "{name}, step {step}: loss {loss}, PyTorch {expected}"
            );
            assert!(
                (norm / expected_norm - 1.0).abs() < 1e-3,
                "{name}, step {step}: norm {norm}, {expected_norm}"
            );
        }
    }
    eprintln!("largest difference of a loss over ten steps: {worst:e}");
}
