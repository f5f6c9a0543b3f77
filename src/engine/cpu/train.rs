use super::activation::activation_backward;
use super::attention::Sizes;
use super::attention_backward::{Saved, attention_backward};
use super::embed::{embed, embed_backward};
use super::layer::{Activations, norm};
use super::layer_norm::layer_norm_backward;
use super::linear::{linear_backward_bias, linear_backward_input, linear_backward_weight};
use super::model::sizes;
use super::nll::nll_backward;
use super::parameters::{self, Linear, Norm, Parameters};
use super::rotate::{Turn, rotate};
use super::smear::{shares, smear_backward};
use super::tables::TablesF32;
use crate::encoding::{Bias, Positional, Shape, Table, Tables};
use crate::engine::{Batch, EngineError};
use crate::model::{Config, Tensor, Weights};

/// A model in training: the forward pass that keeps what the backward pass needs, and that pass.
#[derive(Debug)]
pub struct Trainee {
    config: Config,
    /// The weights, for the optimiser to move.
    pub weights: Weights,
}

/// What the forward pass of a layer leaves behind.
struct Kept {
    /// The residual stream before the layer, `[rows][d]`.
    x: Vec<f32>,
    /// The residual stream before the MLP.
    middle: Vec<f32>,
    now: Activations,
}

impl Trainee {
    /// # Errors
    /// As [`Model::new`](super::Model::new).
    pub fn new(config: &Config, weights: &Weights) -> Result<Self, EngineError> {
        parameters::check(config, weights)?;
        Ok(Self {
            config: config.clone(),
            weights: weights.clone(),
        })
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Zeros of the names and shapes of the weights.
    pub fn zeros(&self) -> Weights {
        let zeros = |tensor: &Tensor| Tensor {
            shape: tensor.shape.clone(),
            data: vec![0.0; tensor.data.len()],
        };
        self.weights
            .iter()
            .map(|(name, tensor)| (name.clone(), zeros(tensor)))
            .collect()
    }

    /// The losses of every target in nats, `[windows][T]`; `gradients` (of the names and shapes of the
    /// weights) become those of their mean. `draw(n)` gives a uniform random number below n, for encodings
    /// that train on random positions.
    ///
    /// # Errors
    /// A token outside the vocabulary, a length that the encoding cannot serve, far keys that are treated
    /// otherwise, or a tensor that `gradients` lacks.
    pub fn loss_and_gradients(
        &self,
        batch: &Batch,
        gradients: &mut Weights,
        draw: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Vec<f32>, EngineError> {
        let config = &self.config;
        batch.check_vocabulary(config.vocabulary)?;
        for tensor in gradients.values_mut() {
            tensor.data.fill(0.0);
        }
        let shape = config.shape(batch.length());
        let tables = TablesF32::training(config, batch.length(), &self.weights, draw)?;
        if tables.far.is_some() {
            return Err(EngineError::FarInTraining);
        }
        let parameters = Parameters::new(config, &self.weights)?;
        let sizes = sizes(config, batch);
        let (d, rows) = (config.d_model, sizes.rows());
        let tokens: Vec<u32> = (0..batch.windows())
            .flat_map(|w| batch.sources(w))
            .copied()
            .collect();
        let targets: Vec<u32> = (0..batch.windows())
            .flat_map(|w| batch.targets(w))
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
        let mut kept = Vec::with_capacity(config.layers);
        for layer in &parameters.layers {
            let mut now = Activations::new(config, &tables, &sizes);
            let before = x.clone();
            now.attend(config, layer, &tables, &sizes, &mut x);
            let middle = x.clone();
            now.mlp(config, layer, &mut x);
            kept.push(Kept {
                x: before,
                middle,
                now,
            });
        }
        let mut hidden = vec![0.0; rows * d];
        norm(config, &x, parameters.final_norm, &mut hidden);

        let mut nll = vec![0.0; rows];
        let mut dlogits = vec![0.0; rows * config.vocabulary];
        nll_backward(
            &hidden,
            parameters.output.weight,
            &targets,
            &mut nll,
            &mut dlogits,
            d,
        );
        let mut slots = Gradients(gradients);
        let output = if config.tied_output {
            "token_embedding.weight"
        } else {
            "output.weight"
        };
        linear_backward_weight(&hidden, &dlogits, slots.of(output)?, d);
        let mut dhidden = vec![0.0; rows * d];
        linear_backward_input(&dlogits, parameters.output.weight, &mut dhidden, d);
        let mut dx = vec![0.0; rows * d];
        self.norm_backward(
            &x,
            parameters.final_norm,
            "final_norm",
            &dhidden,
            &mut dx,
            &mut slots,
        )?;

        let mut dbias = tables.bias.as_ref().map(|bias| vec![0.0; bias.len()]);
        for (index, (layer, kept)) in parameters.layers.iter().zip(&kept).enumerate().rev() {
            let name = format!("layers.{index}");
            self.layer_backward(
                layer,
                kept,
                &tables,
                &sizes,
                &name,
                &mut dx,
                dbias.as_deref_mut(),
                &mut slots,
            )?;
        }
        let mut dinput = tables.input.as_ref().map(|input| vec![0.0; input.len()]);
        let dembedding = slots.of("token_embedding.weight")?;
        embed_backward(
            &tokens,
            &dx,
            config.embedding_scale,
            dembedding,
            dinput.as_deref_mut(),
            d,
        );
        self.encoding_backward(&shape, dinput, dbias, &mut slots)?;
        Ok(nll)
    }

    /// Turns `dx`, the gradient of the residual stream after a layer, into that before it.
    #[allow(clippy::too_many_arguments)]
    fn layer_backward(
        &self,
        layer: &parameters::Layer,
        kept: &Kept,
        tables: &TablesF32,
        sizes: &Sizes,
        name: &str,
        dx: &mut [f32],
        dbias: Option<&mut [f32]>,
        slots: &mut Gradients,
    ) -> Result<(), EngineError> {
        let config = &self.config;
        let Kept { x, middle, now } = kept;
        let (d, rows) = (config.d_model, sizes.rows());
        let mut dup = vec![0.0; rows * config.d_ff];
        let mut dnormed = vec![0.0; rows * d];
        let to = |part: &str| format!("{name}.{part}");
        linear_back(
            &now.active,
            dx,
            layer.down,
            &to("mlp.down"),
            config.d_ff,
            &mut dup,
            slots,
        )?;
        activation_backward(config.activation, &now.up, &mut dup);
        linear_back(
            &now.mlp_normed,
            &dup,
            layer.up,
            &to("mlp.up"),
            d,
            &mut dnormed,
            slots,
        )?;
        self.norm_backward(middle, layer.mlp_norm, &to("mlp_norm"), &dnormed, dx, slots)?;

        let mut dattended = vec![0.0; rows * d];
        linear_back(
            &now.heads.attended,
            dx,
            layer.out,
            &to("attention.out"),
            d,
            &mut dattended,
            slots,
        )?;
        let saved = Saved {
            qkv: &now.heads.qkv,
            bias: tables.bias.as_deref(),
            out: &now.heads.attended,
            log_sum_exp: &now.heads.log_sum_exp,
        };
        let mut dqkv = vec![0.0; rows * 3 * d];
        attention_backward(&saved, sizes, &dattended, &mut dqkv, dbias);
        if let Some(rotation) = &tables.rotation {
            rotate(
                &mut dqkv,
                3 * d,
                rotation,
                config.heads,
                config.d_head(),
                Turn::Back,
            );
        }
        if let Some(raw) = layer.smear {
            let draw = slots.of(&to("attention.smear"))?;
            smear_backward(&now.heads.unsmeared, &shares(raw), sizes, &mut dqkv, draw);
        }
        linear_back(
            &now.normed,
            &dqkv,
            layer.qkv,
            &to("attention.qkv"),
            d,
            &mut dnormed,
            slots,
        )?;
        self.norm_backward(
            x,
            layer.attention_norm,
            &to("attention_norm"),
            &dnormed,
            dx,
            slots,
        )
    }

    fn norm_backward(
        &self,
        x: &[f32],
        norm: Norm,
        name: &str,
        dout: &[f32],
        dx: &mut [f32],
        slots: &mut Gradients,
    ) -> Result<(), EngineError> {
        let mut dweight = vec![0.0; norm.weight.len()];
        let mut dbias = vec![0.0; norm.weight.len()];
        let epsilon = self.config.norm_epsilon;
        layer_norm_backward(x, norm.weight, epsilon, dout, dx, &mut dweight, Some(&mut dbias));
        slots.of(&format!("{name}.weight"))?.copy_from_slice(&dweight);
        if norm.bias.is_some() {
            slots.of(&format!("{name}.bias"))?.copy_from_slice(&dbias);
        }
        Ok(())
    }

    /// From the gradients of the tables to those of the encoding's own tensors.
    fn encoding_backward(
        &self,
        shape: &Shape,
        dinput: Option<Vec<f32>>,
        dbias: Option<Vec<f32>>,
        slots: &mut Gradients,
    ) -> Result<(), EngineError> {
        let table = |rows: usize, data: Vec<f32>| Table {
            rows,
            columns: data.len() / rows.max(1),
            data: data.into_iter().map(f64::from).collect(),
        };
        let gradient = Tables {
            input: dinput.map(|data| table(shape.length, data)),
            rotation: None,
            far: None,
            bias: dbias.map(|data| Bias {
                behind: table(shape.heads, data),
                ahead: None,
            }),
        };
        for (name, values) in self.config.encoding.backward(shape, &self.weights, &gradient)? {
            for (slot, value) in slots.of(name)?.iter_mut().zip(values) {
                *slot = value as f32;
            }
        }
        Ok(())
    }
}

/// The gradients of a linear layer: for its input to `dx`, for its tensors to their slots.
fn linear_back(
    x: &[f32],
    dy: &[f32],
    layer: Linear,
    name: &str,
    inputs: usize,
    dx: &mut [f32],
    slots: &mut Gradients,
) -> Result<(), EngineError> {
    linear_backward_weight(x, dy, slots.of(&format!("{name}.weight"))?, inputs);
    if layer.bias.is_some() {
        linear_backward_bias(dy, slots.of(&format!("{name}.bias"))?);
    }
    linear_backward_input(dy, layer.weight, dx, inputs);
    Ok(())
}

/// Where the gradients go, by name.
struct Gradients<'a>(&'a mut Weights);

impl Gradients<'_> {
    fn of(&mut self, name: &str) -> Result<&mut [f32], EngineError> {
        match self.0.get_mut(name) {
            Some(tensor) => Ok(&mut tensor.data),
            None => Err(EngineError::MissingTensor(name.into())),
        }
    }
}
