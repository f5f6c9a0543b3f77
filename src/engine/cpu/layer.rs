use super::activation::activation;
use super::attention::{Sizes, attention};
use super::copy_qk::copy_qk;
use super::layer_norm::layer_norm;
use super::linear::{Then, linear};
use super::parameters::{Layer, Linear, Norm};
use super::rotate::{Turn, rotate};
use super::scores::{FarInputs, Inputs};
use super::smear::{shares, smear};
use super::tables::TablesF32;
use crate::model::Config;
use std::mem::take;

/// What the forward pass of a layer computes; the backward pass starts from it.
pub struct Activations {
    pub normed: Vec<f32>,
    /// Smeared and turned.
    pub qkv: Vec<f32>,
    /// Queries and keys before they were smeared, `[rows][2 · d]`; empty where they are not.
    pub unsmeared: Vec<f32>,
    /// Queries and keys turned as far ones are, `[rows][2 · d]`; empty where these turn as the near ones.
    far_qk: Vec<f32>,
    pub attended: Vec<f32>,
    pub log_sum_exp: Vec<f32>,
    pub mlp_normed: Vec<f32>,
    /// `[rows][d_ff]`, before and after the activation.
    pub up: Vec<f32>,
    pub active: Vec<f32>,
}

impl Activations {
    pub fn new(config: &Config, tables: &TablesF32, sizes: &Sizes) -> Self {
        let (d, rows) = (config.d_model, sizes.rows());
        let has_far_qk = tables.far.as_ref().is_some_and(|far| far.rotation.is_some());
        let zeros = |values: usize| vec![0.0; rows * values];
        Self {
            normed: zeros(d),
            qkv: zeros(3 * d),
            unsmeared: zeros(if config.smeared_keys { 2 * d } else { 0 }),
            far_qk: zeros(if has_far_qk { 2 * d } else { 0 }),
            attended: zeros(d),
            log_sum_exp: zeros(config.heads),
            mlp_normed: zeros(d),
            up: zeros(config.d_ff),
            active: zeros(config.d_ff),
        }
    }

    /// What the layer's scores are made from, after [`attend`](Self::attend).
    pub fn inputs<'a>(&'a self, tables: &'a TablesF32) -> Inputs<'a> {
        Inputs {
            qkv: &self.qkv,
            bias: tables.bias.as_deref(),
            far: tables.far.as_ref().map(|far| FarInputs {
                from: far.from,
                keys: far.keys,
                last: far.last,
                qk: far.rotation.as_ref().map(|_| &self.far_qk[..]),
            }),
        }
    }

    /// The first half of a layer: x += attention(norm(x)).
    pub fn attend(
        &mut self,
        config: &Config,
        layer: &Layer,
        tables: &TablesF32,
        sizes: &Sizes,
        x: &mut [f32],
    ) {
        let (d, heads, d_head) = (config.d_model, config.heads, config.d_head());
        norm(config, x, layer.attention_norm, &mut self.normed);
        through(layer.qkv, &self.normed, d, Then::Store, &mut self.qkv);
        if let Some(raw) = layer.smear {
            copy_qk(&self.qkv, d, &mut self.unsmeared);
            smear(&self.unsmeared, &shares(raw), sizes, &mut self.qkv);
        }
        if let Some(rotation) = tables.far.as_ref().and_then(|far| far.rotation.as_ref()) {
            copy_qk(&self.qkv, d, &mut self.far_qk);
            rotate(&mut self.far_qk, 2 * d, rotation, heads, d_head, Turn::Forward);
        }
        if let Some(rotation) = &tables.rotation {
            rotate(&mut self.qkv, 3 * d, rotation, heads, d_head, Turn::Forward);
        }
        let (mut attended, mut log_sum_exp) = (take(&mut self.attended), take(&mut self.log_sum_exp));
        attention(&self.inputs(tables), sizes, &mut attended, &mut log_sum_exp);
        (self.attended, self.log_sum_exp) = (attended, log_sum_exp);
        through(layer.out, &self.attended, d, Then::Residual, x);
    }

    /// The second half: x += mlp(norm(x)).
    pub fn mlp(&mut self, config: &Config, layer: &Layer, x: &mut [f32]) {
        norm(config, x, layer.mlp_norm, &mut self.mlp_normed);
        through(
            layer.up,
            &self.mlp_normed,
            config.d_model,
            Then::Store,
            &mut self.up,
        );
        activation(config.activation, &self.up, &mut self.active);
        through(layer.down, &self.active, config.d_ff, Then::Residual, x);
    }
}

pub fn norm(config: &Config, x: &[f32], norm: Norm, out: &mut [f32]) {
    layer_norm(x, norm.weight, norm.bias, config.norm_epsilon, out);
}

fn through(layer: Linear, x: &[f32], inputs: usize, then: Then, out: &mut [f32]) {
    linear(x, layer.weight, layer.bias, out, inputs, then);
}
