//! One of the model's matrix products alone, to measure how fast the kernel is.

use super::buffer::Buffer;
use super::device::Device;
use super::kernels::Then;
use super::layout::padded;
use super::recorder::Recorder;
use crate::engine::EngineError;
use std::sync::Arc;

/// `out[rows][outputs] = x[rows][inputs] · weight + bias` with numbers of no meaning.
pub struct Trial {
    device: Arc<Device>,
    /// (rows, inputs, outputs)
    shape: (usize, usize, usize),
    x: Buffer,
    /// Weight and bias.
    layer: [Buffer; 2],
    out: Buffer,
}

impl Trial {
    /// Makes and fills the buffers.
    pub fn new(device: &Arc<Device>, shape: (usize, usize, usize)) -> Self {
        let (rows, inputs, outputs) = shape;
        let sizes = [
            rows * padded(inputs),
            padded(inputs) * padded(outputs),
            padded(outputs),
        ];
        let [x, weight, bias] = sizes.map(|count| {
            let numbers: Vec<f32> = (0..count).map(|i| (i * 7 % 17) as f32 / 17.0 - 0.5).collect();
            device.upload("trial", &numbers)
        });
        let out = device.buffer("trial", (rows * padded(outputs) * 4) as u64);
        Self {
            device: device.clone(),
            shape,
            x,
            layer: [weight, bias],
            out,
        }
    }

    /// Multiplies `times` times in one submit and waits for the end.
    ///
    /// # Errors
    /// A GPU that failed.
    pub async fn run(&self, times: usize) -> Result<(), EngineError> {
        let kernels = self.device.kernels(8);
        let mut recorder = Recorder::new(&self.device);
        for _ in 0..times {
            kernels.linear(
                &mut recorder,
                self.shape,
                Then::Store,
                &self.x,
                &self.layer,
                &self.out,
            );
        }
        let recorded = recorder.finish();
        self.device.time(|encoder| recorded.encode(encoder)).await?;
        Ok(())
    }
}
