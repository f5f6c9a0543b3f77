//! What each kernel of a forward takes.

use super::device::Device;
use super::recorder::Recorded;
use crate::engine::{EngineError, clock};
use serde::Serialize;

/// Milliseconds that kernels took, the dearest first.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timings {
    /// Whether the GPU itself measured; else each kernel was submitted and waited for alone.
    pub by_timestamps: bool,
    pub kernels: Vec<Timing>,
}

/// All dispatches of one kernel with the same sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timing {
    pub kernel: String,
    pub dispatches: usize,
    pub ms: f64,
}

impl Timings {
    fn new(by_timestamps: bool, dispatches: impl Iterator<Item = (String, f64)>) -> Self {
        let mut kernels: Vec<Timing> = Vec::new();
        for (kernel, ms) in dispatches {
            match kernels.iter_mut().find(|timing| timing.kernel == kernel) {
                Some(timing) => {
                    timing.dispatches += 1;
                    timing.ms += ms;
                }
                None => kernels.push(Timing {
                    kernel,
                    dispatches: 1,
                    ms,
                }),
            }
        }
        kernels.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        Self {
            by_timestamps,
            kernels,
        }
    }

    /// Milliseconds of all kernels together.
    pub fn total_ms(&self) -> f64 {
        self.kernels.iter().map(|timing| timing.ms).sum()
    }
}

impl Recorded {
    /// Runs the dispatches one by one, and tells what each kernel took: by timestamps around each pass where
    /// the adapter has them, else by the clock around each submit, less what an empty one takes.
    ///
    /// # Errors
    /// A GPU that failed.
    pub(super) async fn profile(&self, device: &Device) -> Result<Timings, EngineError> {
        let by_timestamps = device.has_timestamps();
        let times = if by_timestamps {
            self.by_timestamps(device).await?
        } else {
            self.by_clock(device).await?
        };
        Ok(Timings::new(
            by_timestamps,
            self.labels().map(String::from).zip(times),
        ))
    }

    async fn by_clock(&self, device: &Device) -> Result<Vec<f64>, EngineError> {
        let empty = device.time(|_| ()).await?;
        let mut times = Vec::new();
        for index in 0..self.labels().count() {
            let ms = device
                .time(|encoder| self.encode_one(encoder, index, None))
                .await?;
            times.push((ms - empty).max(0.0));
        }
        Ok(times)
    }

    async fn by_timestamps(&self, device: &Device) -> Result<Vec<f64>, EngineError> {
        let count = self.labels().count() as u32;
        let bytes = u64::from(2 * count) * 8;
        let queries = device.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("timestamps"),
            ty: wgpu::QueryType::Timestamp,
            count: 2 * count,
        });
        let buffer = |usage| device.buffer_for("timestamps", bytes, usage | wgpu::BufferUsages::COPY_DST);
        let resolved = buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC);
        let staging = buffer(wgpu::BufferUsages::MAP_READ);
        let mut encoder = device.device.create_command_encoder(&Default::default());
        for index in 0..count {
            self.encode_one(&mut encoder, index as usize, Some(&queries));
        }
        encoder.resolve_query_set(&queries, 0..2 * count, &resolved, 0);
        encoder.copy_buffer_to_buffer(&resolved, 0, &staging, 0, bytes);
        device.queue.submit([encoder.finish()]);
        let stamps = device.read(&staging, u64::from_le_bytes).await?;
        let ms = f64::from(device.queue.get_timestamp_period()) * 1e-6;
        let (pairs, _) = stamps.as_chunks();
        Ok(pairs
            .iter()
            .map(|[start, end]| end.saturating_sub(*start) as f64 * ms)
            .collect())
    }
}

impl Device {
    /// Milliseconds from the submit of what is encoded to its end.
    ///
    /// # Errors
    /// A GPU that failed.
    pub(super) async fn time(
        &self,
        encode: impl FnOnce(&mut wgpu::CommandEncoder),
    ) -> Result<f64, EngineError> {
        let mut encoder = self.device.create_command_encoder(&Default::default());
        encode(&mut encoder);
        let commands = encoder.finish();
        let start = clock::now_ms();
        self.queue.submit([commands]);
        self.idle().await?;
        Ok(clock::now_ms() - start)
    }
}
