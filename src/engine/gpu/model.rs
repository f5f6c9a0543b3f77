use super::device::Device;
use super::kernels::{Kernels, padded, transposed};
use super::plan::Plan;
use crate::encoding::{Encoding, Window};
use crate::engine::cpu::TablesF32;
use crate::engine::cpu::parameters::{self, Linear, Norm, Parameters};
use crate::engine::cpu::smear::shares;
use crate::engine::{Batch, Captures, EngineError, Output, Profile, Raster, Thumbnails};
use crate::model::{Config, Weights};
use std::sync::Arc;
use wgpu::Buffer;

/// Plans that are kept for shapes of batches that may come again.
const PLANS_KEPT: usize = 3;

/// A model that runs on the GPU.
pub struct Model {
    device: Arc<Device>,
    kernels: Arc<Kernels>,
    config: Config,
    /// Only what the encoding needs of the weights is looked at after the upload, but it is little.
    weights: Weights,
    uploaded: Uploaded,
    /// The last used comes last.
    plans: Vec<Plan>,
}

/// The weights on the GPU; pairs are weight and bias.
pub struct Uploaded {
    /// `[V][d_model]`
    pub embedding: Buffer,
    pub layers: Vec<UploadedLayer>,
    pub final_norm: [Buffer; 2],
    pub output: [Buffer; 2],
}

pub struct UploadedLayer {
    pub attention_norm: [Buffer; 2],
    pub qkv: [Buffer; 2],
    /// The shares by which keys are smeared, `[H]`.
    pub smear: Option<Buffer>,
    pub out: [Buffer; 2],
    pub mlp_norm: [Buffer; 2],
    pub up: [Buffer; 2],
    pub down: [Buffer; 2],
}

impl Uploaded {
    fn new(device: &Device, config: &Config, parameters: &Parameters) -> Self {
        let norm = |norm: Norm| {
            let zeros = vec![0.0; norm.weight.len()];
            [
                device.upload("norm", norm.weight),
                device.upload("norm bias", norm.bias.unwrap_or(&zeros)),
            ]
        };
        let linear = |linear: Linear, inputs: usize| {
            let outputs = linear.weight.len() / inputs;
            let mut bias = linear.bias.map_or(vec![0.0; outputs], <[f32]>::to_vec);
            bias.resize(padded(outputs), 0.0);
            [
                device.upload("linear", &transposed(linear.weight, inputs)),
                device.upload("linear bias", &bias),
            ]
        };
        let d = config.d_model;
        let layers = parameters.layers.iter().map(|layer| UploadedLayer {
            attention_norm: norm(layer.attention_norm),
            qkv: linear(layer.qkv, d),
            smear: layer.smear.map(|raw| device.upload("smear", &shares(raw))),
            out: linear(layer.out, d),
            mlp_norm: norm(layer.mlp_norm),
            up: linear(layer.up, d),
            down: linear(layer.down, config.d_ff),
        });
        Self {
            embedding: device.upload("embedding", parameters.token_embedding),
            layers: layers.collect(),
            final_norm: norm(parameters.final_norm),
            output: linear(parameters.output, d),
        }
    }

    fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let layers = self.layers.iter().flat_map(|layer| {
            let UploadedLayer {
                attention_norm,
                qkv,
                smear: _,
                out,
                mlp_norm,
                up,
                down,
            } = layer;
            [attention_norm, qkv, out, mlp_norm, up, down]
        });
        layers
            .chain([&self.final_norm, &self.output])
            .flatten()
            .chain(self.layers.iter().filter_map(|layer| layer.smear.as_ref()))
            .chain([&self.embedding])
    }
}

impl Model {
    /// Uploads the weights.
    ///
    /// # Errors
    /// A configuration that describes no model, or a tensor that is missing or has another shape than the
    /// configuration says.
    pub fn new(device: &Arc<Device>, config: &Config, weights: &Weights) -> Result<Self, EngineError> {
        // Checked before the kernels are compiled: a head count of zero has no width.
        config.validate()?;
        Self::with_kernels(device, device.kernels(config.d_head()), config, weights)
    }

    /// As [`new`](Self::new), with kernels of the caller's: the self-check's tests break some.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_kernels(
        device: &Arc<Device>,
        kernels: Arc<Kernels>,
        config: &Config,
        weights: &Weights,
    ) -> Result<Self, EngineError> {
        parameters::check(config, weights)?;
        let uploaded = Uploaded::new(device, config, &Parameters::new(config, weights)?);
        Ok(Self {
            device: device.clone(),
            kernels,
            config: config.clone(),
            weights: weights.clone(),
            uploaded,
            plans: Vec::new(),
        })
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Replaces the encoding (by one with other settings) and the window; the weights stay.
    pub fn set_positions(&mut self, encoding: Encoding, window: Option<Window>) {
        (self.config.encoding, self.config.window) = (encoding, window);
        self.plans.clear();
    }

    /// Runs the batch: one loss a target, and what was asked to be captured of the first window.
    ///
    /// # Errors
    /// As the CPU's [`forward`](crate::engine::cpu::Model::forward); besides, a length that is too long for
    /// the GPU's buffers, or a GPU that failed.
    pub async fn forward(&mut self, batch: &Batch, captures: &Captures) -> Result<Output, EngineError> {
        self.device.check()?;
        batch.check_vocabulary(self.config.vocabulary)?;
        captures.check(&self.config)?;
        match self.plans.iter().position(|plan| plan.fits(batch, captures)) {
            Some(index) => {
                let plan = self.plans.remove(index);
                self.plans.push(plan);
            }
            None => {
                let plan = self.plan(batch, captures).await?;
                if self.plans.len() >= PLANS_KEPT {
                    self.plans.remove(0);
                }
                self.plans.push(plan);
            }
        }
        let Some(plan) = self.plans.last() else {
            return Ok(Output::default());
        };
        let mut parts = plan.run(&self.device, batch).await?.into_iter();
        self.device.check()?;
        let nll = |row: &[f32; 3]| {
            let [largest, sum, chosen] = row.map(f64::from);
            (largest + sum.ln() - chosen) as f32
        };
        let losses = parts.next().unwrap_or_default();
        let raster = |data: Vec<f32>| Raster {
            side: data.len().isqrt(),
            data,
        };
        let attention = captures.attention.and_then(|_| parts.next()).map(raster);
        let (layers, heads, length) = (self.config.layers, self.config.heads, batch.length());
        let thumbnails = captures.thumbnail_side(length).and_then(|side| {
            let data = parts.next()?;
            Some(Thumbnails {
                layers,
                heads,
                side,
                data,
            })
        });
        let profile = captures.profile.then(|| parts.next()).flatten().map(|mut data| {
            let entropy = data.split_off(data.len() / 2);
            Profile::new((layers, heads, length), data, &entropy)
        });
        Ok(Output {
            nll: losses.as_chunks().0.iter().map(nll).collect(),
            attention,
            thumbnails,
            profile,
        })
    }

    /// Makes a plan, and waits for what the GPU says of its buffers and pipelines: after an out-of-memory
    /// that nobody looked at, the results would be silently wrong.
    async fn plan(&self, batch: &Batch, captures: &Captures) -> Result<Plan, EngineError> {
        let tables = TablesF32::new(&self.config, batch.length(), &self.weights)?;
        let memory = self
            .device
            .device
            .push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = self.device.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let plan = Plan::new(
            &self.device,
            &self.kernels,
            &self.config,
            &self.uploaded,
            &tables,
            batch,
            *captures,
        );
        // Both scopes are closed before anything is awaited, innermost first.
        let (validation, memory) = (validation.pop(), memory.pop());
        match (validation.await, memory.await) {
            (None, None) => plan,
            (Some(error), _) | (None, Some(error)) => Err(EngineError::Gpu(error.to_string())),
        }
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        for buffer in self.uploaded.buffers() {
            buffer.destroy();
        }
    }
}
