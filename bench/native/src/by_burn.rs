//! The model in burn, on its ndarray backend.

use crate::weights::{self, Matrix, Positions};
use anyhow::{Result, anyhow};
use burn_ndarray::{NdArray, NdArrayDevice};
use burn_tensor::activation::{log_softmax, softmax};
use burn_tensor::module::embedding;
use burn_tensor::{Int, Tensor, TensorData};
use longview::engine::Batch;
use longview::model::Checkpoint;
use std::collections::HashMap;

type Backend = NdArray<f32>;
type Floats<const D: usize> = Tensor<Backend, D>;

const DEVICE: NdArrayDevice = NdArrayDevice::Cpu;

/// A model in burn, on the CPU.
pub struct Burn {
    checkpoint: Checkpoint,
    /// Vectors as `[1][width]`.
    weights: HashMap<String, Floats<2>>,
    positions: Option<(usize, Tables)>,
}

struct Tables {
    /// `[1][heads or 1][T][T]`
    bias: Floats<4>,
    /// `[1][1][T][pairs]`
    turns: Option<[Floats<4>; 2]>,
}

fn tensor(matrix: Matrix) -> Floats<2> {
    Tensor::from_data(
        TensorData::new(matrix.data, [matrix.rows, matrix.columns]),
        &DEVICE,
    )
}

/// Pair c is the dimensions c and c + pairs.
fn turn(x: Floats<4>, [cos, sin]: &[Floats<4>; 2]) -> Floats<4> {
    let mut halves = x.chunk(2, 3);
    let (Some(second), Some(first)) = (halves.pop(), halves.pop()) else {
        unreachable!()
    };
    let turned = first.clone() * cos.clone() - second.clone() * sin.clone();
    Tensor::cat(vec![turned, first * sin.clone() + second * cos.clone()], 3)
}

/// GELU by tanh, which this burn lacks.
fn gelu(x: Floats<2>) -> Floats<2> {
    let cubic = x.clone() * x.clone() * x.clone() * 0.044715;
    let inner = (cubic + x.clone()) * std::f64::consts::FRAC_2_PI.sqrt();
    x * 0.5 * (inner.tanh() + 1.0)
}

impl Burn {
    pub fn new(checkpoint: &Checkpoint) -> Result<Self> {
        weights::check(checkpoint)?;
        let all = checkpoint.weights.keys();
        let mut all: HashMap<String, Floats<2>> = all
            .map(|name| (name.clone(), tensor(weights::tensor(checkpoint, name))))
            .collect();
        all.insert("embedding".into(), tensor(weights::embedding(checkpoint)));
        let output = weights::tensor(checkpoint, "token_embedding.weight").transposed();
        all.insert("output".into(), tensor(output));
        Ok(Self {
            checkpoint: checkpoint.clone(),
            weights: all,
            positions: None,
        })
    }

    fn prepare(&mut self, length: usize) -> Result<()> {
        if self.positions.as_ref().is_some_and(|(of, _)| *of == length) {
            return Ok(());
        }
        let Positions { heads, bias, turns } = Positions::new(&self.checkpoint, length)?;
        let bias = Tensor::from_data(TensorData::new(bias, [1, heads, length, length]), &DEVICE);
        let turns = turns.map(|tables| tables.map(|table| tensor(table).unsqueeze::<4>()));
        self.positions = Some((length, Tables { bias, turns }));
        Ok(())
    }

    fn weight(&self, name: &str, part: &str) -> Floats<2> {
        self.weights[&format!("{name}.{part}")].clone()
    }

    fn norm(&self, x: Floats<2>, name: &str) -> Floats<2> {
        let centred = x.clone() - x.mean_dim(1);
        let variance = centred.clone().powf_scalar(2.0).mean_dim(1);
        let deviation = (variance + self.checkpoint.config.norm_epsilon).sqrt();
        centred / deviation * self.weight(name, "weight") + self.weight(name, "bias")
    }

    fn linear(&self, x: Floats<2>, name: &str) -> Floats<2> {
        x.matmul(self.weight(name, "weight")) + self.weight(name, "bias")
    }
}

impl crate::Engine for Burn {
    fn name(&self) -> &'static str {
        "burn 0.20.1 (ndarray), native"
    }

    fn run(&mut self, batch: &Batch) -> Result<Vec<f32>> {
        let (windows, length) = (batch.windows(), batch.length());
        self.prepare(length)?;
        let Some((_, tables)) = &self.positions else {
            unreachable!()
        };
        let config = &self.checkpoint.config;
        let (heads, d_head, rows) = (config.heads, config.d_head(), windows * length);
        let ids = |take: fn(&Batch, usize) -> &[u32]| -> Tensor<Backend, 2, Int> {
            let ids = (0..windows).flat_map(|window| take(batch, window));
            let ids: Vec<i64> = ids.map(|&id| i64::from(id)).collect();
            Tensor::from_data(TensorData::new(ids, [1, rows]), &DEVICE)
        };
        let mut x: Floats<2> =
            embedding(self.weights["embedding"].clone(), ids(Batch::sources)).squeeze_dim(0);
        for layer in 0..config.layers {
            let name = |part: &str| format!("layers.{layer}.{part}");
            let qkv = self.linear(
                self.norm(x.clone(), &name("attention_norm")),
                &name("attention.qkv"),
            );
            let parts = qkv.chunk(3, 1).into_iter();
            let mut parts = parts.map(|part| part.reshape([windows, length, heads, d_head]).swap_dims(1, 2));
            let mut next = || parts.next().ok_or_else(|| anyhow!("q, k and v are missing"));
            let (mut q, mut k, v) = (next()?, next()?, next()?);
            if let Some(turns) = &tables.turns {
                (q, k) = (turn(q, turns), turn(k, turns));
            }
            let scores = q.matmul(k.transpose()) + tables.bias.clone();
            let attended = softmax(scores, 3)
                .matmul(v)
                .swap_dims(1, 2)
                .reshape([rows, config.d_model]);
            x = x + self.linear(attended, &name("attention.out"));
            let up = self.linear(self.norm(x.clone(), &name("mlp_norm")), &name("mlp.up"));
            x = x + self.linear(gelu(up), &name("mlp.down"));
        }
        let logits = self.norm(x, "final_norm").matmul(self.weights["output"].clone());
        let targets = ids(Batch::targets).swap_dims(0, 1);
        let losses = -log_softmax(logits, 1).gather(1, targets);
        losses
            .into_data()
            .into_vec()
            .map_err(|error| anyhow!("{error:?}"))
    }
}
