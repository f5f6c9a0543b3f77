//! The whole forward on the CPU engine against public implementations: losses and logits within 5e-5,
//! attention within 1e-5 (`tests/common/golden_models.rs`).

mod common;

use common::{GoldenModel, golden_models, largest_difference};
use longview::engine::cpu::Model;
use longview::engine::{Captures, Output};

const LOSS_LIMIT: f64 = 5e-5;
const LOGIT_LIMIT: f64 = 5e-5;
const ATTENTION_LIMIT: f64 = 1e-5;

fn f64s(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

fn cpu(golden: &GoldenModel) -> Model {
    Model::new(&golden.config, &golden.weights).unwrap()
}

#[test]
fn all_golden_models_are_tried() {
    let names: Vec<&str> = golden_models().iter().map(|golden| golden.name).collect();
    let expected = [
        "gpt2",
        "gpt2_nope",
        "gpt2_sinusoidal",
        "mpt",
        "gptneox",
        "gptneox_partial",
    ];
    assert_eq!(names, expected);
    for golden in golden_models() {
        assert_eq!(golden.sequences.len(), 2);
        let named: Vec<String> = golden.config.parameters().into_iter().map(|p| p.name).collect();
        assert_eq!(
            golden.weights.len(),
            named.len(),
            "{}: every tensor is mapped",
            golden.name
        );
    }
}

#[test]
fn losses_equal_the_public_models() {
    for golden in golden_models() {
        let mut model = cpu(&golden);
        for sequence in &golden.sequences {
            let output: Output = model.forward(&sequence.batch(), &Captures::default()).unwrap();
            let nll = f64s(&output.nll[..sequence.token_loss.len()]);
            let difference = largest_difference(&nll, &sequence.token_loss);
            println!("{}, {}: loss {difference:e}", golden.name, sequence.ids.len());
            assert!(difference < LOSS_LIMIT, "{}: {difference}", golden.name);
        }
    }
}

#[test]
fn predictions_that_are_not_wanted_change_nothing_of_the_others() {
    for golden in golden_models() {
        let mut model = cpu(&golden);
        for sequence in &golden.sequences {
            let batch = sequence.batch();
            let run = |model: &mut Model, batch| model.forward(&batch, &Captures::default()).unwrap().nll;
            let all = run(&mut model, batch.clone());
            for count in [1, 5, batch.length() - 1, batch.length(), batch.length() + 1] {
                let some = run(&mut model, batch.clone().scoring(count));
                let first = batch.length().saturating_sub(count);
                let wanted = |nll: &[f32]| f64s(&nll[first..]);
                let difference = largest_difference(&wanted(&some), &wanted(&all));
                // `gemm` takes few rows otherwise than many.
                assert!(difference < 5e-6, "{}, {count}: {difference}", golden.name);
                assert_eq!(some.len(), all.len());
            }
        }
    }
}

#[test]
fn logits_equal_the_public_models() {
    for golden in golden_models() {
        let mut model = cpu(&golden);
        let vocabulary = golden.config.vocabulary;
        for sequence in &golden.sequences {
            let logits = f64s(&model.logits(&sequence.batch()).unwrap());
            let mut most = 0.0_f64;
            for (position, expected) in &sequence.logits {
                let got = &logits[position * vocabulary..(position + 1) * vocabulary];
                most = most.max(largest_difference(got, expected));
            }
            println!("{}, {}: logits {most:e}", golden.name, sequence.ids.len());
            assert!(most < LOGIT_LIMIT, "{}: {most}", golden.name);
        }
    }
}

#[test]
fn attention_equals_the_public_models() {
    for golden in golden_models() {
        let mut model = cpu(&golden);
        for sequence in &golden.sequences {
            let side = sequence.ids.len();
            let mut most = 0.0_f64;
            for attention in &sequence.attention {
                let captures = Captures {
                    attention: Some(attention.head),
                    ..Captures::default()
                };
                let raster = model
                    .forward(&sequence.batch(), &captures)
                    .unwrap()
                    .attention
                    .unwrap();
                assert_eq!(raster.side, side);
                for (query, expected) in &attention.rows {
                    let row = f64s(&raster.data[query * side..(query + 1) * side]);
                    most = most.max(largest_difference(&row[..=*query], expected));
                    assert!(row[query + 1..].iter().all(|&p| p == 0.0), "{}", golden.name);
                }
            }
            println!("{}, {side}: attention {most:e}", golden.name);
            assert!(most < ATTENTION_LIMIT, "{}: {most}", golden.name);
        }
    }
}
