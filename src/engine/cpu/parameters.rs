use super::linear::packed;
use crate::engine::EngineError;
use crate::model::{Config, Weights};

/// The tensors of a model, found by name and checked once.
pub struct Parameters<'a> {
    /// `[V][d_model]`
    pub token_embedding: &'a [f32],
    pub layers: Vec<Layer<'a>>,
    pub final_norm: Norm<'a>,
    /// `[V][d_model]`; the token embedding where the two are tied.
    pub output: Linear<'a>,
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
    /// The same in panels of outputs, where it was [packed](super::linear::packed).
    pub panels: Option<&'a [f32]>,
    pub bias: Option<&'a [f32]>,
}

impl<'a> Linear<'a> {
    /// A layer whose weight lies as in the checkpoint.
    pub fn unpacked(weight: &'a [f32], bias: Option<&'a [f32]>) -> Self {
        Self {
            weight,
            panels: None,
            bias,
        }
    }
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
            let bias = config.linear_bias.then(|| get(format!("{name}.bias")));
            Ok(Linear::unpacked(
                get(format!("{name}.weight"))?,
                bias.transpose()?,
            ))
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
            output: Linear::unpacked(get(output.into())?, None),
        })
    }

    /// With weights that were packed.
    pub fn with_panels(mut self, panels: &'a Panels) -> Self {
        for (layer, panels) in self.layers.iter_mut().zip(&panels.layers) {
            let linears = [&mut layer.qkv, &mut layer.out, &mut layer.up, &mut layer.down];
            for (linear, panels) in linears.into_iter().zip(panels) {
                linear.panels = Some(panels);
            }
        }
        self.output.panels = panels.output.as_deref();
        self
    }
}

/// The weights of a model's products as the browser's kernel takes them, packed once. Natively there are none:
/// `gemm` takes weights as they are.
#[derive(Debug, Default)]
pub struct Panels {
    /// Of qkv, out, up and down.
    layers: Vec<[Vec<f32>; 4]>,
    output: Option<Vec<f32>>,
}

impl Panels {
    /// Packs what [`linear`](super::linear::linear) and [`nll`](super::nll::nll) will multiply by.
    pub fn new(config: &Config, parameters: &Parameters) -> Self {
        if cfg!(not(target_arch = "wasm32")) {
            return Self::default();
        }
        let (d, d_ff) = (config.d_model, config.d_ff);
        let layer = |layer: &Layer| {
            [(layer.qkv, d), (layer.out, d), (layer.up, d), (layer.down, d_ff)]
                .map(|(linear, inputs)| packed(linear.weight, inputs))
        };
        Self {
            layers: parameters.layers.iter().map(layer).collect(),
            output: Some(packed(parameters.output.weight, d)),
        }
    }
}
