use super::activation::activation;
use super::attention::{Sizes, attention};
use super::capture::{capture_attention, capture_profile};
use super::embed::embed;
use super::layer_norm::layer_norm;
use super::linear::{Then, linear};
use super::nll::{logits_of, nll};
use super::parallel::map;
use super::parameters::{self, Parameters};
use super::rotate::{Turn, rotate};
use super::tables::TablesF32;
use crate::encoding::{Encoding, Window};
use crate::engine::{Batch, Captures, EngineError, Output, Profile, RASTER_SIDE_MAX, Raster, Thumbnails};
use crate::model::{Config, Weights};

/// A model that runs on the CPU.
#[derive(Debug)]
pub struct Model {
    config: Config,
    weights: Weights,
    /// The tables of the last length, as windows of one length mostly follow each other.
    tables: Option<(usize, TablesF32)>,
}

impl Model {
    /// # Errors
    /// A configuration that describes no model, or a tensor that is missing or has another shape than the
    /// configuration says.
    pub fn new(config: &Config, weights: &Weights) -> Result<Self, EngineError> {
        parameters::check(config, weights)?;
        Ok(Self {
            config: config.clone(),
            weights: weights.clone(),
            tables: None,
        })
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Replaces the encoding (by one with other settings) and the window; the weights stay.
    pub fn set_positions(&mut self, encoding: Encoding, window: Option<Window>) {
        (self.config.encoding, self.config.window) = (encoding, window);
        self.tables = None;
    }

    /// Runs the batch: one loss a target, and what was asked to be captured of the first window.
    ///
    /// # Errors
    /// A token outside the vocabulary, a head that does not exist, or a length that the encoding cannot
    /// serve.
    pub fn forward(&mut self, batch: &Batch, captures: &Captures) -> Result<Output, EngineError> {
        let mut output = Output::default();
        let hidden = self.hidden(batch, captures, &mut output)?;
        let parameters = Parameters::new(&self.config, &self.weights)?;
        let targets: Vec<u32> = (0..batch.windows())
            .flat_map(|w| batch.targets(w))
            .copied()
            .collect();
        output.nll = vec![0.0; targets.len()];
        nll(
            &hidden,
            parameters.output,
            &targets,
            &mut output.nll,
            self.config.d_model,
        );
        Ok(output)
    }

    /// The logits of every source token, `[windows][T][V]`; for tests and small batches.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub fn logits(&mut self, batch: &Batch) -> Result<Vec<f32>, EngineError> {
        let hidden = self.hidden(batch, &Captures::default(), &mut Output::default())?;
        let parameters = Parameters::new(&self.config, &self.weights)?;
        let mut logits = vec![0.0; batch.windows() * batch.length() * self.config.vocabulary];
        logits_of(&hidden, parameters.output, &mut logits, self.config.d_model);
        Ok(logits)
    }

    /// The hidden state after the last norm, `[rows][d_model]`; captures go to `output`.
    fn hidden(
        &mut self,
        batch: &Batch,
        captures: &Captures,
        output: &mut Output,
    ) -> Result<Vec<f32>, EngineError> {
        let config = &self.config;
        batch.check_vocabulary(config.vocabulary)?;
        captures.check(config)?;
        let length = batch.length();
        if self.tables.as_ref().is_none_or(|(of, _)| *of != length) {
            self.tables = Some((length, TablesF32::new(config, length, &self.weights)?));
        }
        let default = TablesF32::default();
        let tables = self.tables.as_ref().map_or(&default, |(_, tables)| tables);
        let parameters = Parameters::new(config, &self.weights)?;
        let sizes = sizes(config, batch);
        let (d, rows) = (config.d_model, sizes.rows());
        let tokens: Vec<u32> = (0..batch.windows())
            .flat_map(|w| batch.sources(w))
            .copied()
            .collect();

        let mut x = vec![0.0; rows * d];
        embed(
            &tokens,
            parameters.token_embedding,
            config.embedding_scale,
            tables.input.as_deref(),
            &mut x,
            d,
        );
        let mut normed = vec![0.0; rows * d];
        let mut qkv = vec![0.0; rows * 3 * d];
        let mut attended = vec![0.0; rows * d];
        let mut log_sum_exp = vec![0.0; rows * config.heads];
        let mut up = vec![0.0; rows * config.d_ff];
        let mut active = vec![0.0; rows * config.d_ff];
        let thumbnail_side = captures.thumbnail_side(length);
        let (mut weight, mut entropy, mut thumbnails) = (Vec::new(), Vec::new(), Vec::new());
        let norm = |x: &[f32], norm: parameters::Norm, out: &mut [f32]| {
            layer_norm(x, norm.weight, norm.bias, config.norm_epsilon, out);
        };
        for (index, layer) in parameters.layers.iter().enumerate() {
            norm(&x, layer.attention_norm, &mut normed);
            linear(
                &normed,
                layer.qkv.weight,
                layer.qkv.bias,
                &mut qkv,
                d,
                Then::Store,
            );
            if let Some(rotation) = &tables.rotation {
                rotate(&mut qkv, rotation, config.heads, config.d_head(), Turn::Forward);
            }
            let bias = tables.bias.as_deref();
            attention(&qkv, bias, &sizes, &mut attended, &mut log_sum_exp);
            if captures.profile {
                let layer = capture_profile(&qkv, bias, &log_sum_exp, &sizes);
                weight.extend(layer.weight);
                entropy.extend(layer.entropy);
            }
            if let Some(side) = thumbnail_side {
                let one = |head| capture_attention(&qkv, bias, &log_sum_exp, &sizes, head, side);
                thumbnails.extend(map(config.heads, one).concat());
            }
            if let Some(chosen) = captures.attention.filter(|chosen| chosen.layer == index) {
                let side = length.min(RASTER_SIDE_MAX);
                let data = capture_attention(&qkv, bias, &log_sum_exp, &sizes, chosen.head, side);
                output.attention = Some(Raster { side, data });
            }
            linear(
                &attended,
                layer.out.weight,
                layer.out.bias,
                &mut x,
                d,
                Then::Residual,
            );
            norm(&x, layer.mlp_norm, &mut normed);
            linear(&normed, layer.up.weight, layer.up.bias, &mut up, d, Then::Store);
            activation(config.activation, &up, &mut active);
            linear(
                &active,
                layer.down.weight,
                layer.down.bias,
                &mut x,
                config.d_ff,
                Then::Residual,
            );
        }
        if captures.profile {
            let shape = (config.layers, config.heads, length);
            output.profile = Some(Profile::new(shape, weight, &entropy));
        }
        output.thumbnails = thumbnail_side.map(|side| Thumbnails {
            layers: config.layers,
            heads: config.heads,
            side,
            data: thumbnails,
        });
        norm(&x, parameters.final_norm, &mut normed);
        Ok(normed)
    }
}

/// The sizes of every attention layer of a forward.
pub fn sizes(config: &Config, batch: &Batch) -> Sizes {
    Sizes {
        windows: batch.windows(),
        length: batch.length(),
        heads: config.heads,
        d_head: config.d_head(),
        score_scale: config.score_scale,
    }
}
