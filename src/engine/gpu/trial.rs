//! One of the model's matrix products alone, to measure how fast the kernel is.

use super::device::Device;
use super::kernels::{Then, padded};
use super::recorder::Recorder;
use crate::engine::EngineError;
use std::sync::Arc;

/// `out[rows][outputs] = x[rows][inputs] · weight + bias` with numbers of no meaning.
pub struct Trial {
    device: Arc<Device>,
    /// (rows, inputs, outputs)
    shape: (usize, usize, usize),
    /// x, weight, bias and out.
    buffers: [wgpu::Buffer; 4],
    staging: wgpu::Buffer,
}

impl Trial {
    /// Makes and fills the buffers.
    pub fn new(device: &Arc<Device>, shape: (usize, usize, usize)) -> Self {
        let (rows, inputs, outputs) = shape;
        let sizes = [rows * inputs, inputs * padded(outputs), padded(outputs)];
        let [x, weight, bias] = sizes.map(|count| {
            let numbers: Vec<f32> = (0..count).map(|i| (i * 7 % 17) as f32 / 17.0 - 0.5).collect();
            device.upload("trial", &numbers)
        });
        let out = device.buffer("trial", (rows * outputs * 4) as u64);
        let staging = device.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("trial"),
            size: 4,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self {
            device: device.clone(),
            shape,
            buffers: [x, weight, bias, out],
            staging,
        }
    }

    /// Multiplies `times` times in one submit and waits for the end.
    ///
    /// # Errors
    /// A GPU that failed.
    pub async fn run(&self, times: usize) -> Result<(), EngineError> {
        let kernels = self.device.kernels(8);
        let [x, weight, bias, out] = &self.buffers;
        let mut recorder = Recorder::new(&self.device);
        for _ in 0..times {
            kernels.linear(&mut recorder, self.shape, Then::Store, x, weight, bias, out);
        }
        let recorded = recorder.finish();
        let mut encoder = self.device.device.create_command_encoder(&Default::default());
        recorded.encode(&mut encoder);
        encoder.copy_buffer_to_buffer(out, 0, &self.staging, 0, 4);
        self.device.queue.submit([encoder.finish()]);
        let waited = self.device.read(&self.staging).await;
        recorded.destroy();
        self.device.check()?;
        waited.map(|_| ())
    }
}
