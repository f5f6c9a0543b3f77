use super::{Init, Parameter};
use crate::encoding::{Encoding, Learned, PastEnd, Positional, Shape, Window};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A pre-norm decoder: x += attention(norm(x)); x += mlp(norm(x)); logits = norm(x) · outputᵀ.
/// Wide enough for GPT-2, MPT and GPT-NeoX (without parallel residual).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Number of tokens in the vocabulary, V.
    pub vocabulary: usize,
    pub d_model: usize,
    pub layers: usize,
    /// Attention heads, each `d_model / heads` wide.
    pub heads: usize,
    /// Width of the MLP's hidden layer.
    pub d_ff: usize,
    /// The length L of the windows in training.
    pub trained_length: usize,
    /// Added to the variance in LayerNorm.
    pub norm_epsilon: f32,
    /// Whether LayerNorm adds a bias after its weight.
    pub norm_bias: bool,
    /// Whether the linear layers have a bias (the output layer never has).
    pub linear_bias: bool,
    pub activation: Activation,
    /// The output layer is the token embedding; else it is the tensor `output.weight`.
    pub tied_output: bool,
    /// Multiplies the token embedding, before position is added.
    pub embedding_scale: f32,
    /// Multiplies q·k, before a bias is added.
    pub score_scale: f32,
    pub encoding: Encoding,
    /// What attention sees; everything before the query where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<Window>,
    /// Keys are mixed with the key before them, by a trained share a head:
    /// k_t becomes (1 − s)·k_t + s·k_(t−1) with s = 1/(1 + e^(−smear)), before any rotation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub smeared_keys: bool,
}

/// The nonlinearity of the MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activation {
    /// x·Φ(x), by the error function.
    Gelu,
    /// Its approximation by tanh (GPT-2's `gelu_new`).
    GeluTanh,
}

/// A configuration that describes no model.
#[derive(Clone, Debug, PartialEq, Error)]
#[error("the configuration's {field} is {value}; it must be {need}")]
pub struct ConfigError {
    pub field: &'static str,
    pub value: String,
    pub need: String,
}

impl Config {
    /// The base of the shipped models (3 layers, d_model 96, trained on 128 tokens), by the recipe that
    /// ARCHITECTURE.md tells.
    pub fn base(encoding: Encoding, heads: usize) -> Self {
        let d_model = 96;
        Self {
            vocabulary: 512,
            d_model,
            layers: 3,
            heads,
            d_ff: 4 * d_model,
            trained_length: 128,
            norm_epsilon: 1e-5,
            norm_bias: true,
            linear_bias: true,
            activation: Activation::GeluTanh,
            tied_output: true,
            embedding_scale: (d_model as f32).sqrt(),
            score_scale: 1.0 / ((d_model / heads.max(1)) as f32).sqrt(),
            encoding,
            window: None,
            smeared_keys: false,
        }
    }

    /// Width of one head.
    pub fn d_head(&self) -> usize {
        self.d_model / self.heads
    }

    /// The sizes of this model's tables for sequences of `length` tokens.
    pub fn shape(&self, length: usize) -> Shape {
        Shape {
            length,
            d_model: self.d_model,
            heads: self.heads,
            d_head: self.d_head(),
        }
    }

    /// Whether the model has no positions for sequences of that length: a learned table that ends before.
    pub fn is_undefined_at(&self, length: usize) -> bool {
        let ends = matches!(
            &self.encoding,
            Encoding::Learned(Learned {
                past_end: PastEnd::Undefined
            })
        );
        ends && length > self.trained_length
    }

    /// All tensors of the model: linear weights are `[out][in]`; `attention.qkv` stacks q, k and v, each
    /// `[d_model]` = heads × d_head.
    pub fn parameters(&self) -> Vec<Parameter> {
        let (d, ff) = (self.d_model, self.d_ff);
        let inward = |width: usize| (width as f64).powf(-0.5);
        // The output projections of 2·layers residual branches begin smaller (GPT-2).
        let outward = |width: usize| inward(width) / ((2 * self.layers) as f64).sqrt();
        let mut list = Vec::new();
        let mut add =
            |name: String, shape: Vec<usize>, init: Init| list.push(Parameter { name, shape, init });
        let normal = |deviation: f64| Init::Normal { deviation };
        add(
            "token_embedding.weight".into(),
            vec![self.vocabulary, d],
            normal(inward(d)),
        );
        for layer in 0..self.layers {
            for norm in ["attention_norm", "mlp_norm"] {
                add(format!("layers.{layer}.{norm}.weight"), vec![d], Init::Ones);
                if self.norm_bias {
                    add(format!("layers.{layer}.{norm}.bias"), vec![d], Init::Zeros);
                }
            }
            for (name, out, width, deviation) in [
                ("attention.qkv", 3 * d, d, inward(d)),
                ("attention.out", d, d, outward(d)),
                ("mlp.up", ff, d, inward(d)),
                ("mlp.down", d, ff, outward(ff)),
            ] {
                add(
                    format!("layers.{layer}.{name}.weight"),
                    vec![out, width],
                    normal(deviation),
                );
                if self.linear_bias {
                    add(format!("layers.{layer}.{name}.bias"), vec![out], Init::Zeros);
                }
            }
            if self.smeared_keys {
                let name = format!("layers.{layer}.attention.smear");
                add(name, vec![self.heads], Init::Zeros);
            }
        }
        add("final_norm.weight".into(), vec![d], Init::Ones);
        if self.norm_bias {
            add("final_norm.bias".into(), vec![d], Init::Zeros);
        }
        if !self.tied_output {
            add(
                "output.weight".into(),
                vec![self.vocabulary, d],
                normal(inward(d)),
            );
        }
        list.extend(self.encoding.parameters(&self.shape(self.trained_length)));
        list
    }

    /// # Errors
    /// The first field that no model can have.
    pub fn validate(&self) -> Result<(), ConfigError> {
        for (field, value, most) in [
            ("vocabulary", self.vocabulary, 1 << 20),
            ("d_model", self.d_model, 1 << 14),
            ("layers", self.layers, 256),
            ("heads", self.heads, 256),
            ("d_ff", self.d_ff, 1 << 16),
            ("trained_length", self.trained_length, 1 << 20),
        ] {
            if value == 0 || value > most {
                return Err(ConfigError {
                    field,
                    value: value.to_string(),
                    need: format!("from 1 to {most}"),
                });
            }
        }
        if !self.d_model.is_multiple_of(self.heads) {
            return Err(ConfigError {
                field: "d_model",
                value: self.d_model.to_string(),
                need: format!("a multiple of the {} heads", self.heads),
            });
        }
        for (field, value) in [
            ("norm_epsilon", self.norm_epsilon),
            ("embedding_scale", self.embedding_scale),
            ("score_scale", self.score_scale),
        ] {
            if !value.is_finite() {
                return Err(ConfigError {
                    field,
                    value: value.to_string(),
                    need: "finite".into(),
                });
            }
        }
        Ok(())
    }
}
