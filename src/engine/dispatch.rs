use super::pool::{Pool, Pooled};
use super::{Batch, Captures, EngineError, Output, cpu};
use crate::encoding::{Encoding, Window};
use crate::model::{Config, Weights};
use serde::{Deserialize, Serialize};

#[cfg(feature = "gpu")]
use super::gpu::{self, Device, Selection, check};
#[cfg(feature = "gpu")]
use super::speed::Speeds;
use std::rc::Rc;
#[cfg(feature = "gpu")]
use std::sync::Arc;

/// Which engine the reader wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// The GPU where there is a real one that computes rightly and is the faster, else the CPU.
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
    /// The GPU was asked for, and agrees with the CPU.
    Agrees,
    /// The GPU agrees with the CPU, and was faster in a short measurement.
    Faster,
    /// The GPU agrees with the CPU, but was slower in a short measurement.
    Slower,
    /// There is no GPU, or it could not be opened.
    Absent,
    /// The "GPU" is a program on the CPU, and slower than the CPU engine.
    Software,
    /// The GPU's numbers differ from the CPU's.
    Differs,
    /// The GPU failed in the self-check.
    Failed,
    /// The GPU failed while it ran the models, and is left alone.
    Lost,
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
    /// Whether that GPU is a program on the CPU.
    pub is_software: bool,
    /// The largest difference between GPU and CPU in the self-check.
    pub max_difference: Option<f32>,
    /// What the same short run took on the CPU, where that decided, in milliseconds.
    pub cpu_ms: Option<f64>,
    /// And what it took on the GPU.
    pub gpu_ms: Option<f64>,
    /// Which variants of its kernels a real GPU runs, and the measurement that says so.
    #[cfg(feature = "gpu")]
    pub variants: Option<Selection>,
}

impl Verdict {
    fn new(engine: &'static str, reason: Reason, message: String) -> Self {
        Self {
            engine,
            adapter: None,
            is_software: false,
            reason,
            message,
            max_difference: None,
            cpu_ms: None,
            gpu_ms: None,
            #[cfg(feature = "gpu")]
            variants: None,
        }
    }
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

fn on_cpu(reason: Reason, message: String) -> (Engine, Verdict) {
    (Engine::Cpu, Verdict::new("cpu", reason, message))
}

impl Engine {
    /// Starts the engine of choice. A GPU is tried by a self-check against the CPU twins first; one that is
    /// absent or wrong leads to the CPU, and the verdict says why.
    pub async fn start(choice: Choice) -> (Self, Verdict) {
        if choice == Choice::Cpu {
            return on_cpu(Reason::Chosen, "The CPU runs the models, as chosen.".into());
        }
        #[cfg(not(feature = "gpu"))]
        return on_cpu(
            Reason::Absent,
            "The CPU runs the models: this build has no GPU engine.".into(),
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
                on_cpu(Reason::Absent, format!("The CPU runs the models: {cause}."))
            }
        }
    }

    /// The engine after a GPU that failed and is left alone.
    pub fn after_loss(cause: &str) -> (Self, Verdict) {
        on_cpu(
            Reason::Lost,
            format!("The CPU runs the models: the GPU failed ({cause})."),
        )
    }

    /// Starts on a device that is open already.
    #[cfg(feature = "gpu")]
    pub async fn with_device(device: Arc<Device>, choice: Choice) -> (Self, Verdict) {
        let name = device.description();
        let mut verdict = if choice == Choice::Auto && device.is_software() {
            let message = format!(
                "The CPU runs the models: {name} is itself a program on the CPU, slower than this engine."
            );
            Verdict::new("cpu", Reason::Software, message)
        } else {
            examine(&device, choice).await.unwrap_or_else(|error| {
                let message = format!("The CPU runs the models: {name} failed the self-check ({error}).");
                Verdict::new("cpu", Reason::Failed, message)
            })
        };
        verdict.adapter = Some(name);
        verdict.is_software = device.is_software();
        let engine = if verdict.engine == "gpu" {
            Self::Gpu(device)
        } else {
            Self::Cpu
        };
        (engine, verdict)
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
    /// Runs the batch: one loss a target that is [wanted](Batch::scoring) (none at all with
    /// [`no_losses`](Captures::no_losses)), and what was asked to be captured of the first window, as numbers or
    /// [painted](Captures::painted).
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

    /// Runs the batch kernel by kernel, and tells what each took; nothing on the CPU.
    ///
    /// # Errors
    /// As [`forward`](Self::forward).
    #[cfg(feature = "gpu")]
    pub async fn profile(&mut self, batch: &Batch) -> Result<Option<gpu::Timings>, EngineError> {
        match self {
            Self::Cpu(_) | Self::Pooled(_) => Ok(None),
            Self::Gpu(model) => model.profile(batch).await.map(Some),
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

/// Chooses the variants of the GPU's kernels, checks it against the CPU, and measures both where the choice is
/// automatic.
///
/// # Errors
/// A GPU that failed.
#[cfg(feature = "gpu")]
async fn examine(device: &Arc<Device>, choice: Choice) -> Result<Verdict, EngineError> {
    let name = device.description();
    // On a program there is nothing to find out: registers win by far, and its slow compiler would have to
    // translate the others too.
    let selection = if device.is_software() {
        None
    } else {
        Some(device.choose_variants().await?)
    };
    let found = check::forward(device, |d_head| device.kernels(d_head)).await?;
    let largest = found
        .iter()
        .map(|difference| difference.largest)
        .fold(0.0, f32::max);
    let mut verdict = if let Some(wrong) = found.iter().find(|difference| !difference.is_within()) {
        let message = format!(
            "The CPU runs the models: in the self-check {name} was off by {:.1e} ({}), {:.0e} is allowed.",
            wrong.largest, wrong.case, wrong.limit
        );
        Verdict::new("cpu", Reason::Differs, message)
    } else {
        let speeds = match choice {
            Choice::Auto => Some(Speeds::measure(device).await?),
            Choice::Cpu | Choice::Gpu => None,
        };
        decide(&name, largest, speeds)
    };
    verdict.max_difference = Some(largest);
    verdict.variants = selection;
    Ok(verdict)
}

/// The engine for a GPU that agrees with the CPU to `largest`: the faster one, where both were measured.
#[cfg(feature = "gpu")]
fn decide(name: &str, largest: f32, speeds: Option<Speeds>) -> Verdict {
    let agreed = format!("in the self-check it agreed with the CPU to {largest:.1e}");
    let mut verdict = match speeds {
        None => Verdict::new(
            "gpu",
            Reason::Agrees,
            format!("On the GPU: {name} runs the models; {agreed}."),
        ),
        Some(measured @ Speeds { cpu_ms, gpu_ms }) if measured.gpu_is_faster() => Verdict::new(
            "gpu",
            Reason::Faster,
            format!(
                "On the GPU: {name} runs the models; a short run took it {gpu_ms} ms, and the CPU {cpu_ms} ms; {agreed}."
            ),
        ),
        Some(Speeds { cpu_ms, gpu_ms }) => Verdict::new(
            "cpu",
            Reason::Slower,
            format!("The CPU runs the models: a short run took it {cpu_ms} ms, and {name} {gpu_ms} ms."),
        ),
    };
    verdict.cpu_ms = speeds.map(|measured| measured.cpu_ms);
    verdict.gpu_ms = speeds.map(|measured| measured.gpu_ms);
    verdict
}

#[cfg(all(test, feature = "gpu"))]
mod tests {
    use super::*;

    fn decided(cpu_ms: f64, gpu_ms: f64) -> Verdict {
        decide("Some GPU", 1e-6, Some(Speeds { cpu_ms, gpu_ms }))
    }

    #[test]
    fn the_faster_engine_is_chosen_and_both_times_are_told() {
        let fast = decided(20.5, 3.1);
        assert_eq!((fast.engine, fast.reason), ("gpu", Reason::Faster));
        let slow = decided(3.1, 20.5);
        assert_eq!((slow.engine, slow.reason), ("cpu", Reason::Slower));
        for verdict in [fast, slow] {
            for part in ["3.1 ms", "20.5 ms", "Some GPU"] {
                assert!(verdict.message.contains(part), "{}", verdict.message);
            }
            let json = serde_json::to_value(&verdict).unwrap();
            assert!(json["cpu_ms"].is_f64() && json["gpu_ms"].is_f64(), "{json}");
        }
        assert_eq!(decided(5.0, 5.0).engine, "cpu");
    }

    #[test]
    fn without_a_measurement_the_gpu_runs_as_asked() {
        let verdict = decide("Some GPU", 1e-6, None);
        assert_eq!((verdict.engine, verdict.reason), ("gpu", Reason::Agrees));
        assert_eq!((verdict.cpu_ms, verdict.gpu_ms), (None, None));
    }
}
