use super::pool::{Pool, Pooled};
use super::{Batch, Captures, EngineError, Output, cpu};
use crate::encoding::{Encoding, Window};
use crate::model::{Config, Weights};
use serde::{Deserialize, Serialize};

#[cfg(feature = "gpu")]
use super::gpu::{self, Device, check};
use std::rc::Rc;
#[cfg(feature = "gpu")]
use std::sync::Arc;

/// Which engine the reader wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The GPU where there is a real one and it computes rightly, else the CPU.
    #[default]
    Auto,
    Cpu,
    /// Any GPU, also one that is a program on the CPU; the CPU only if it is absent or wrong.
    Gpu,
}

/// Why an engine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The reader chose the CPU.
    Chosen,
    /// The GPU agrees with the CPU.
    Agrees,
    /// There is no GPU, or it could not be opened.
    Absent,
    /// The "GPU" is a program on the CPU, and slower than the CPU engine.
    Software,
    /// The GPU's numbers differ from the CPU's.
    Differs,
    /// The GPU failed in the self-check.
    Failed,
}

/// What the start found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// "cpu" or "gpu"
    pub engine: &'static str,
    /// The GPU's name, where there is one.
    pub adapter: Option<String>,
    pub reason: Reason,
    /// One sentence for the reader, in English.
    pub message: String,
    /// The largest difference between GPU and CPU in the self-check.
    pub max_difference: Option<f32>,
}

/// Runs models: on the GPU or on the CPU.
#[derive(Debug)]
pub enum Engine {
    Cpu,
    /// The CPU with helpers beside this thread.
    Pool(Rc<dyn Pool>),
    #[cfg(feature = "gpu")]
    Gpu(Arc<Device>),
}

/// A model that is loaded into an engine.
pub enum Model {
    Cpu(Box<cpu::Model>),
    Pooled(Box<Pooled>),
    #[cfg(feature = "gpu")]
    Gpu(Box<gpu::Model>),
}

fn on_cpu(
    adapter: Option<String>,
    reason: Reason,
    message: String,
    max_difference: Option<f32>,
) -> (Engine, Verdict) {
    (
        Engine::Cpu,
        Verdict {
            engine: "cpu",
            adapter,
            reason,
            message,
            max_difference,
        },
    )
}

impl Engine {
    /// Starts the engine of choice. A GPU is tried by a self-check against the CPU twins first; one that is
    /// absent or wrong leads to the CPU, and the verdict says why.
    pub async fn start(choice: Choice) -> (Self, Verdict) {
        if choice == Choice::Cpu {
            return on_cpu(
                None,
                Reason::Chosen,
                "The CPU runs the models, as chosen.".into(),
                None,
            );
        }
        #[cfg(not(feature = "gpu"))]
        return on_cpu(
            None,
            Reason::Absent,
            "The CPU runs the models: this build has no GPU engine.".into(),
            None,
        );
        // In the browser a device belongs to one thread; natively it is shared.
        #[cfg(feature = "gpu")]
        #[cfg_attr(target_arch = "wasm32", allow(clippy::arc_with_non_send_sync))]
        match Device::new().await {
            Ok(device) => Self::with_device(Arc::new(device), choice).await,
            Err(error) => {
                let cause = match error {
                    EngineError::Gpu(cause) => cause,
                    other => other.to_string(),
                };
                let message = format!("The CPU runs the models: {cause}.");
                on_cpu(None, Reason::Absent, message, None)
            }
        }
    }

    /// Starts on a device that is open already.
    #[cfg(feature = "gpu")]
    pub async fn with_device(device: Arc<Device>, choice: Choice) -> (Self, Verdict) {
        let adapter = Some(device.description());
        let name = device.description();
        if choice == Choice::Auto && device.is_software() {
            let message = format!(
                "The CPU runs the models: {name} is itself a program on the CPU, slower than this engine."
            );
            return on_cpu(adapter, Reason::Software, message, None);
        }
        let found = match check::forward(&device, |d_head| device.kernels(d_head)).await {
            Ok(found) => found,
            Err(error) => {
                let message = format!("The CPU runs the models: {name} failed the self-check ({error}).");
                return on_cpu(adapter, Reason::Failed, message, None);
            }
        };
        let largest = found
            .iter()
            .map(|difference| difference.largest)
            .fold(0.0, f32::max);
        if let Some(wrong) = found.iter().find(|difference| !difference.is_within()) {
            let message = format!(
                "The CPU runs the models: in the self-check {name} was off by {:.1e} ({}), {:.0e} is allowed.",
                wrong.largest, wrong.case, wrong.limit
            );
            return on_cpu(adapter, Reason::Differs, message, Some(largest));
        }
        let message = format!(
            "On the GPU: {name} runs the models; in the self-check it agreed with the CPU to {largest:.1e}."
        );
        let verdict = Verdict {
            engine: "gpu",
            adapter,
            reason: Reason::Agrees,
            message,
            max_difference: Some(largest),
        };
        (Self::Gpu(device), verdict)
    }

    /// Loads a model.
    ///
    /// # Errors
    /// A configuration that describes no model, or weights that do not fit it.
    pub fn load(&self, config: &Config, weights: &Weights) -> Result<Model, EngineError> {
        Ok(match self {
            Self::Cpu => Model::Cpu(Box::new(cpu::Model::new(config, weights)?)),
            Self::Pool(pool) => Model::Pooled(Box::new(Pooled::new(pool, config, weights)?)),
            #[cfg(feature = "gpu")]
            Self::Gpu(device) => Model::Gpu(Box::new(gpu::Model::new(device, config, weights)?)),
        })
    }
}

impl Model {
    /// Runs the batch: one loss a target that is [wanted](Batch::scoring), and what was asked to be captured of the
    /// first window.
    ///
    /// # Errors
    /// A token outside the vocabulary, a head that does not exist, a length that the encoding or the GPU
    /// cannot serve, or a GPU that failed.
    pub async fn forward(&mut self, batch: &Batch, captures: &Captures) -> Result<Output, EngineError> {
        match self {
            Self::Cpu(model) => model.forward(batch, captures),
            Self::Pooled(model) => model.forward(batch, captures).await,
            #[cfg(feature = "gpu")]
            Self::Gpu(model) => model.forward(batch, captures).await,
        }
    }

    /// The model's configuration.
    pub fn config(&self) -> &Config {
        match self {
            Self::Cpu(model) => model.config(),
            Self::Pooled(model) => model.config(),
            #[cfg(feature = "gpu")]
            Self::Gpu(model) => model.config(),
        }
    }

    /// Replaces the encoding (by one with other settings) and the window; the weights stay.
    pub fn set_positions(&mut self, encoding: Encoding, window: Option<Window>) {
        match self {
            Self::Cpu(model) => model.set_positions(encoding, window),
            Self::Pooled(model) => model.set_positions(encoding, window),
            #[cfg(feature = "gpu")]
            Self::Gpu(model) => model.set_positions(encoding, window),
        }
    }
}
