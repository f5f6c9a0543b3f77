//! Which of the two engines is the faster one here, by a short run of the same model on both.

use super::gpu::{self, Device, check};
use super::{Batch, Captures, EngineError, clock, cpu};
use crate::encoding::{Alibi, Encoding};
use crate::model::Config;
use std::sync::Arc;

/// Windows and tokens in each, of the batch that is measured.
const SHAPE: (usize, usize) = (4, 128);
/// Runs of each engine, in turns; the best counts.
const ROUNDS: usize = 2;

/// Milliseconds that the same batch takes on each engine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speeds {
    pub cpu_ms: f64,
    pub gpu_ms: f64,
}

impl Speeds {
    /// Whether the GPU is worth it: of two that are equal, the CPU leaves the GPU to the page's pictures.
    pub fn gpu_is_faster(&self) -> bool {
        self.gpu_ms < self.cpu_ms
    }

    /// Runs a random model of the usual size on both.
    ///
    /// # Errors
    /// A GPU that failed.
    pub async fn measure(device: &Arc<Device>) -> Result<Self, EngineError> {
        let config = Config::base(Encoding::Alibi(Alibi::default()), 4);
        let weights = check::random_weights(&config);
        let (windows, length) = SHAPE;
        let batch = Batch::new(vec![1; windows * (length + 1)], windows, length)?;
        let captures = Captures::default();
        let mut on_cpu = cpu::Model::new(&config, &weights)?;
        let mut on_gpu = gpu::Model::new(device, &config, &weights)?;
        // Compiles and plans.
        on_gpu.forward(&batch, &captures).await?;
        let mut best = Self {
            cpu_ms: f64::INFINITY,
            gpu_ms: f64::INFINITY,
        };
        for _ in 0..ROUNDS {
            let start = clock::now_ms();
            on_cpu.forward(&batch, &captures)?;
            let middle = clock::now_ms();
            on_gpu.forward(&batch, &captures).await?;
            best.cpu_ms = best.cpu_ms.min(middle - start);
            best.gpu_ms = best.gpu_ms.min(clock::now_ms() - middle);
        }
        Ok(best.rounded())
    }

    /// For readers: tenths of a millisecond, and never none at all.
    fn rounded(self) -> Self {
        let round = |ms: f64| (ms * 10.0).round().max(1.0) / 10.0;
        Self {
            cpu_ms: round(self.cpu_ms),
            gpu_ms: round(self.gpu_ms),
        }
    }
}
