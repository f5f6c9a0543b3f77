use super::device::Device;
use super::kernels::Kernels;
use super::picture::Picture;
use super::plan::Plan;
use super::profile::Timings;
use super::uploaded::Uploaded;
use crate::encoding::{Encoding, Window};
use crate::engine::cpu::TablesF32;
use crate::engine::cpu::parameters::{self, Parameters};
use crate::engine::{Batch, Captures, EngineError, Output, Profile, Raster, Thumbnails};
use crate::model::{Config, Weights};
use std::sync::Arc;

/// Plans that are kept for shapes of batches that may come again, at most.
const PLANS_KEPT: usize = 3;
/// Plans are given up, the longest unused first, until no more than this is held by the others.
const PLANS_KEPT_BYTES: u64 = 128 << 20;

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

    /// Runs the batch: one loss a target (none with [`no_losses`](Captures::no_losses)), and what was asked to be
    /// captured of the first window. What is [painted](Captures::painted) stands in [`pictures`](Self::pictures).
    ///
    /// # Errors
    /// As the CPU's [`forward`](crate::engine::cpu::Model::forward); besides, a length that is too long for
    /// the GPU's buffers, or a GPU that failed.
    pub async fn forward(&mut self, batch: &Batch, captures: &Captures) -> Result<Output, EngineError> {
        self.device.check()?;
        batch.check_vocabulary(self.config.vocabulary)?;
        captures.check(&self.config)?;
        self.prepare(batch, captures).await?;
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
        let is_read = captures.painted.is_none();
        let attention = captures.attention.filter(|_| is_read);
        let attention = attention.and_then(|_| parts.next()).map(raster);
        let (layers, heads, length) = (self.config.layers, self.config.heads, batch.length());
        let thumbnails = captures.thumbnail_side(length).filter(|_| is_read);
        let thumbnails = thumbnails.and_then(|side| {
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

    /// Where what the last forward captured is painted: of the one head, then of all; nothing where it was not to
    /// be.
    pub fn pictures(&self) -> &[Picture] {
        self.plans.last().map_or(&[], Plan::pictures)
    }

    /// Makes sure that the last plan fits: one that is kept, or a new one.
    async fn prepare(&mut self, batch: &Batch, captures: &Captures) -> Result<(), EngineError> {
        if let Some(index) = self.plans.iter().position(|plan| plan.fits(batch, captures)) {
            let plan = self.plans.remove(index);
            self.plans.push(plan);
            return Ok(());
        }
        // Before the new one is made: the GPU may not have room for both.
        while self.plans.len() >= PLANS_KEPT
            || self.plans.iter().map(Plan::bytes).sum::<u64>() > PLANS_KEPT_BYTES
        {
            self.plans.remove(0);
        }
        let plan = self.plan(batch, captures).await?;
        self.plans.push(plan);
        Ok(())
    }

    /// What the model holds on the GPU once it has run a batch of that shape, in bytes: its weights, and all
    /// that it keeps for this and other shapes.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub async fn memory_bytes(&mut self, batch: &Batch, captures: &Captures) -> Result<u64, EngineError> {
        self.prepare(batch, captures).await?;
        let weights: u64 = self.uploaded.buffers().map(|buffer| buffer.size()).sum();
        Ok(weights + self.plans.iter().map(Plan::bytes).sum::<u64>())
    }

    /// Runs the batch kernel by kernel, and tells what each took.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    pub async fn profile(&mut self, batch: &Batch) -> Result<Timings, EngineError> {
        self.forward(batch, &Captures::default()).await?;
        match self.plans.last() {
            Some(plan) => plan.profile(&self.device).await,
            None => Ok(Timings::default()),
        }
    }

    /// Makes a plan, and waits for what the GPU says of its buffers and pipelines: after an out-of-memory
    /// that nobody looked at, the results would be silently wrong.
    async fn plan(&self, batch: &Batch, captures: &Captures) -> Result<Plan, EngineError> {
        let tables = TablesF32::new(&self.config, batch.length(), &self.weights)?;
        let plan = || {
            Plan::new(
                &self.device,
                &self.kernels,
                &self.config,
                &self.uploaded,
                &tables,
                batch,
                *captures,
            )
        };
        self.device.attempt(plan, EngineError::Gpu).await
    }
}
