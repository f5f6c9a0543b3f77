use super::activation::activation;
use super::attention::{Sizes, attention_from};
use super::copy_qk::copy_qk;
use super::layer_norm::layer_norm;
use super::linear::{Then, linear};
use super::parallel::{ROWS, pieces};
use super::parameters::{Layer, Norm};
use super::rotate::{Turn, rotate};
use super::scores::{FarInputs, Inputs};
use super::smear::{shares, smear};
use super::tables::TablesF32;
use crate::model::Config;
use std::mem::take;

/// What the attention of a layer computes, for all rows.
pub struct Heads {
    /// Smeared and turned, `[rows][3 · d]`.
    pub qkv: Vec<f32>,
    /// Queries and keys before they were smeared, `[rows][2 · d]`; empty where they are not.
    pub unsmeared: Vec<f32>,
    /// Queries and keys turned as far ones are, `[rows][2 · d]`; empty where these turn as the near ones.
    far_qk: Vec<f32>,
    /// `[rows][d]`
    pub attended: Vec<f32>,
    /// `[rows][H]`
    pub log_sum_exp: Vec<f32>,
}

impl Heads {
    pub fn new(config: &Config, tables: &TablesF32, sizes: &Sizes) -> Self {
        let (d, rows) = (config.d_model, sizes.rows());
        let has_far_qk = tables.far.as_ref().is_some_and(|far| far.rotation.is_some());
        let zeros = |values: usize| vec![0.0; rows * values];
        Self {
            qkv: zeros(3 * d),
            unsmeared: zeros(if config.smeared_keys { 2 * d } else { 0 }),
            far_qk: zeros(if has_far_qk { 2 * d } else { 0 }),
            attended: zeros(d),
            log_sum_exp: zeros(config.heads),
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

    /// From queries, keys and values as they were projected to what every head attends to, at the positions from
    /// `first` on.
    pub fn attend(
        &mut self,
        config: &Config,
        layer: &Layer,
        tables: &TablesF32,
        sizes: &Sizes,
        first: usize,
    ) {
        let (d, heads, d_head) = (config.d_model, config.heads, config.d_head());
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
        let inputs = self.inputs(tables);
        attention_from(first, &inputs, sizes, &mut attended, &mut log_sum_exp);
        (self.attended, self.log_sum_exp) = (attended, log_sum_exp);
    }

    /// The first half of a layer without what only training keeps: queries, keys and values of `x[rows][d]`,
    /// some rows after the others, and the attention of positions from `first` on.
    pub fn project_and_attend(
        &mut self,
        config: &Config,
        layer: &Layer,
        tables: &TablesF32,
        sizes: &Sizes,
        x: &[f32],
        first: usize,
    ) {
        let d = config.d_model;
        pieces(&mut self.qkv, ROWS * 3 * d, |index, qkv| {
            let x = &x[index * ROWS * d..][..qkv.len() / 3];
            let mut normed = vec![0.0; x.len()];
            norm(config, x, layer.attention_norm, &mut normed);
            linear(&normed, layer.qkv, qkv, d, Then::Store);
        });
        self.attend(config, layer, tables, sizes, first);
    }
}

/// The second half of a layer without what only training keeps: x += attended · out, x += mlp(norm(x)), some
/// rows after the others.
pub fn finish(config: &Config, layer: &Layer, attended: &[f32], x: &mut [f32]) {
    let d = config.d_model;
    pieces(x, ROWS * d, |index, x| {
        let attended = &attended[index * ROWS * d..][..x.len()];
        linear(attended, layer.out, x, d, Then::Residual);
        let mut normed = vec![0.0; x.len()];
        let mut up = vec![0.0; x.len() / d * config.d_ff];
        norm(config, x, layer.mlp_norm, &mut normed);
        linear(&normed, layer.up, &mut up, d, Then::Store);
        activation(config.activation, &mut up);
        linear(&up, layer.down, x, config.d_ff, Then::Residual);
    });
}

/// What the forward pass of a layer computes; the backward pass starts from it.
pub struct Activations {
    pub heads: Heads,
    pub normed: Vec<f32>,
    pub mlp_normed: Vec<f32>,
    /// `[rows][d_ff]`, before and after the activation.
    pub up: Vec<f32>,
    pub active: Vec<f32>,
}

impl Activations {
    pub fn new(config: &Config, tables: &TablesF32, sizes: &Sizes) -> Self {
        let (d, rows) = (config.d_model, sizes.rows());
        Self {
            heads: Heads::new(config, tables, sizes),
            normed: vec![0.0; rows * d],
            mlp_normed: vec![0.0; rows * d],
            up: vec![0.0; rows * config.d_ff],
            active: Vec::new(),
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
        let d = config.d_model;
        norm(config, x, layer.attention_norm, &mut self.normed);
        linear(&self.normed, layer.qkv, &mut self.heads.qkv, d, Then::Store);
        self.heads.attend(config, layer, tables, sizes, 0);
        linear(&self.heads.attended, layer.out, x, d, Then::Residual);
    }

    /// The second half: x += mlp(norm(x)).
    pub fn mlp(&mut self, config: &Config, layer: &Layer, x: &mut [f32]) {
        norm(config, x, layer.mlp_norm, &mut self.mlp_normed);
        linear(
            &self.mlp_normed,
            layer.up,
            &mut self.up,
            config.d_model,
            Then::Store,
        );
        self.active = self.up.clone();
        activation(config.activation, &mut self.active);
        linear(&self.active, layer.down, x, config.d_ff, Then::Residual);
    }
}

pub fn norm(config: &Config, x: &[f32], norm: Norm, out: &mut [f32]) {
    layer_norm(x, norm.weight, norm.bias, config.norm_epsilon, out);
}
