//! The model in candle.

use crate::weights::{self, Matrix, Positions};
use anyhow::Result;
use candle_core::{D, Device, Tensor};
use candle_nn::ops::{layer_norm, softmax_last_dim};
use longview::engine::Batch;
use longview::model::Checkpoint;
use std::collections::HashMap;

/// A model in candle, on the CPU.
pub struct Candle {
    checkpoint: Checkpoint,
    weights: HashMap<String, Tensor>,
    positions: Option<(usize, Tables)>,
}

struct Tables {
    /// `[1][heads or 1][T][T]`
    bias: Tensor,
    /// `[T][pairs]`
    turns: Option<[Tensor; 2]>,
}

fn tensor(matrix: &Matrix) -> Result<Tensor> {
    let shape = (matrix.rows, matrix.columns);
    Ok(Tensor::from_slice(&matrix.data, shape, &Device::Cpu)?)
}

impl Candle {
    pub fn new(checkpoint: &Checkpoint) -> Result<Self> {
        weights::check(checkpoint)?;
        let mut all = HashMap::new();
        for (name, found) in &checkpoint.weights {
            let made = tensor(&weights::tensor(checkpoint, name))?;
            let is_vector = found.shape.len() == 1;
            all.insert(name.clone(), if is_vector { made.squeeze(0)? } else { made });
        }
        all.insert("embedding".into(), tensor(&weights::embedding(checkpoint))?);
        let output = weights::tensor(checkpoint, "token_embedding.weight").transposed();
        all.insert("output".into(), tensor(&output)?);
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
        let tables = Tables {
            bias: Tensor::from_vec(bias, (1, heads, length, length), &Device::Cpu)?,
            turns: match turns {
                Some([cos, sin]) => Some([tensor(&cos)?, tensor(&sin)?]),
                None => None,
            },
        };
        self.positions = Some((length, tables));
        Ok(())
    }

    fn norm(&self, x: &Tensor, name: &str) -> Result<Tensor> {
        let [weight, bias] = ["weight", "bias"].map(|part| &self.weights[&format!("{name}.{part}")]);
        Ok(layer_norm(x, weight, bias, self.checkpoint.config.norm_epsilon)?)
    }

    fn linear(&self, x: &Tensor, name: &str) -> Result<Tensor> {
        let [weight, bias] = ["weight", "bias"].map(|part| &self.weights[&format!("{name}.{part}")]);
        Ok(x.matmul(weight)?.broadcast_add(bias)?)
    }
}

impl crate::Engine for Candle {
    fn name(&self) -> &'static str {
        "candle 0.11.1, native"
    }

    fn run(&mut self, batch: &Batch) -> Result<Vec<f32>> {
        let (windows, length) = (batch.windows(), batch.length());
        self.prepare(length)?;
        let Some((_, tables)) = &self.positions else {
            unreachable!()
        };
        let config = &self.checkpoint.config;
        let (heads, d_head, rows) = (config.heads, config.d_head(), windows * length);
        let ids = |take: fn(&Batch, usize) -> &[u32]| {
            let ids: Vec<u32> = (0..windows)
                .flat_map(|window| take(batch, window))
                .copied()
                .collect();
            Tensor::from_vec(ids, rows, &Device::Cpu)
        };
        let mut x = self.weights["embedding"].index_select(&ids(Batch::sources)?, 0)?;
        for layer in 0..config.layers {
            let name = |part: &str| format!("layers.{layer}.{part}");
            let qkv = self.linear(&self.norm(&x, &name("attention_norm"))?, &name("attention.qkv"))?;
            let qkv = qkv
                .reshape((windows, length, 3, heads, d_head))?
                .permute((2, 0, 3, 1, 4))?;
            let [mut q, mut k] = [qkv.get(0)?.contiguous()?, qkv.get(1)?.contiguous()?];
            let v = qkv.get(2)?.contiguous()?;
            if let Some([cos, sin]) = &tables.turns {
                q = candle_nn::rotary_emb::rope(&q, cos, sin)?;
                k = candle_nn::rotary_emb::rope(&k, cos, sin)?;
            }
            let scores = q.matmul(&k.transpose(2, 3)?)?.broadcast_add(&tables.bias)?;
            let attended = softmax_last_dim(&scores)?.matmul(&v)?;
            let attended = attended.transpose(1, 2)?.reshape((rows, config.d_model))?;
            x = (x + self.linear(&attended, &name("attention.out"))?)?;
            let up = self.linear(&self.norm(&x, &name("mlp_norm"))?, &name("mlp.up"))?;
            x = (x + self.linear(&up.gelu()?, &name("mlp.down"))?)?;
        }
        let logits = self.norm(&x, "final_norm")?.matmul(&self.weights["output"])?;
        let largest = logits.max_keepdim(D::Minus1)?;
        let sum = logits.broadcast_sub(&largest)?.exp()?.sum(D::Minus1)?;
        let log_sum_exp = (sum.log()? + largest.squeeze(1)?)?;
        let chosen = logits
            .gather(&ids(Batch::targets)?.unsqueeze(1)?, 1)?
            .squeeze(1)?;
        Ok((log_sum_exp - chosen)?.to_vec1()?)
    }
}
