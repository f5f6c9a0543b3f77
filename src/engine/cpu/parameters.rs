use crate::engine::EngineError;
use crate::model::{Config, Weights};

/// The tensors of a model, found by name and checked once.
pub struct Parameters<'a> {
    /// `[V][d_model]`
    pub token_embedding: &'a [f32],
    pub layers: Vec<Layer<'a>>,
    pub final_norm: Norm<'a>,
    /// `[V][d_model]`; the token embedding where the two are tied.
    pub output: &'a [f32],
}

pub struct Layer<'a> {
    pub attention_norm: Norm<'a>,
    pub qkv: Linear<'a>,
    /// `[H]`, where keys are smeared.
    pub smear: Option<&'a [f32]>,
    pub out: Linear<'a>,
    pub mlp_norm: Norm<'a>,
    pub up: Linear<'a>,
    pub down: Linear<'a>,
}

#[derive(Clone, Copy)]
pub struct Norm<'a> {
    pub weight: &'a [f32],
    pub bias: Option<&'a [f32]>,
}

#[derive(Clone, Copy)]
pub struct Linear<'a> {
    /// `[out][in]`
    pub weight: &'a [f32],
    pub bias: Option<&'a [f32]>,
}

/// # Errors
/// The first tensor of `config` that `weights` lacks or has in another shape, or a configuration that
/// describes no model.
pub fn check(config: &Config, weights: &Weights) -> Result<(), EngineError> {
    config.validate()?;
    for parameter in config.parameters() {
        let tensor = weights
            .get(&parameter.name)
            .ok_or_else(|| EngineError::MissingTensor(parameter.name.clone()))?;
        // A learned table may be longer or shorter than the trained length: its encoding judges that.
        let rows_are_free = parameter.name == "position_embedding.weight";
        let fits = tensor.shape == parameter.shape
            || (rows_are_free && tensor.shape.get(1) == parameter.shape.get(1));
        if !fits || tensor.data.len() != tensor.shape.iter().product::<usize>() {
            return Err(EngineError::TensorShape {
                name: parameter.name,
                found: tensor.shape.clone(),
                need: parameter.shape,
            });
        }
    }
    Ok(())
}

impl<'a> Parameters<'a> {
    /// # Errors
    /// A tensor that `weights` lacks.
    pub fn new(config: &Config, weights: &'a Weights) -> Result<Self, EngineError> {
        let get = |name: String| {
            weights
                .get(&name)
                .map(|tensor| tensor.data.as_slice())
                .ok_or(EngineError::MissingTensor(name))
        };
        let norm = |name: String| -> Result<Norm<'a>, EngineError> {
            Ok(Norm {
                weight: get(format!("{name}.weight"))?,
                bias: config
                    .norm_bias
                    .then(|| get(format!("{name}.bias")))
                    .transpose()?,
            })
        };
        let linear = |name: String| -> Result<Linear<'a>, EngineError> {
            Ok(Linear {
                weight: get(format!("{name}.weight"))?,
                bias: config
                    .linear_bias
                    .then(|| get(format!("{name}.bias")))
                    .transpose()?,
            })
        };
        let layer = |index: usize| -> Result<Layer<'a>, EngineError> {
            Ok(Layer {
                attention_norm: norm(format!("layers.{index}.attention_norm"))?,
                qkv: linear(format!("layers.{index}.attention.qkv"))?,
                smear: config
                    .smeared_keys
                    .then(|| get(format!("layers.{index}.attention.smear")))
                    .transpose()?,
                out: linear(format!("layers.{index}.attention.out"))?,
                mlp_norm: norm(format!("layers.{index}.mlp_norm"))?,
                up: linear(format!("layers.{index}.mlp.up"))?,
                down: linear(format!("layers.{index}.mlp.down"))?,
            })
        };
        let output = if config.tied_output {
            "token_embedding.weight"
        } else {
            "output.weight"
        };
        Ok(Self {
            token_embedding: get("token_embedding.weight".into())?,
            layers: (0..config.layers).map(layer).collect::<Result<_, _>>()?,
            final_norm: norm("final_norm".into())?,
            output: get(output.into())?,
        })
    }
}
