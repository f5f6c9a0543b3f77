use super::buffer::{Buffer, Held};
use super::kernels::{Kernels, Variants};
use crate::engine::EngineError;
use crate::engine::cpu::paint::SCALE_WORDS;
use futures_channel::oneshot;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A GPU, ready to run kernels, and what went wrong on it.
pub struct Device {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    info: wgpu::AdapterInfo,
    failure: Arc<Mutex<Failure>>,
    /// Hears of the first failure.
    failed: Mutex<Option<oneshot::Receiver<()>>>,
    held: Arc<Held>,
    /// The kernels by the width of a head: models of one shape share them.
    compiled: Mutex<Vec<(usize, Arc<Kernels>)>>,
    /// The scale of colours that captures are painted in.
    scale: OnceLock<Buffer>,
    /// Bytes that came back from the GPU.
    bytes_read: AtomicU64,
    #[cfg(target_arch = "wasm32")]
    pub(super) instance: wgpu::Instance,
}

/// What went wrong first.
struct Failure {
    /// The first error that no error scope caught, or why the device was lost.
    message: Option<String>,
    tell: Option<oneshot::Sender<()>>,
}

impl Failure {
    fn note(slot: &Mutex<Self>, message: String) {
        if let Ok(mut failure) = slot.lock() {
            failure.message.get_or_insert(message);
            // Who does not listen any more need not know.
            let _ = failure.tell.take().map(|tell| tell.send(()));
        }
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.debug_tuple("Device").field(&self.info.name).finish()
    }
}

impl Device {
    /// Finds the fastest adapter and opens it.
    ///
    /// # Errors
    /// No WebGPU in this browser, no adapter, or an adapter that gives no device.
    pub async fn new() -> Result<Self, EngineError> {
        #[cfg(target_arch = "wasm32")]
        if !wgpu::util::is_browser_webgpu_supported().await {
            return Err(EngineError::Gpu("this browser offers no WebGPU adapter".into()));
        }
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        let adapter = instance
            .request_adapter(&options)
            .await
            .map_err(|error| EngineError::Gpu(format!("there is no adapter ({error})")))?;
        let most = adapter.limits();
        // Long windows need large buffers: take what the adapter has, beyond the defaults.
        let limits = wgpu::Limits {
            max_storage_buffer_binding_size: most.max_storage_buffer_binding_size,
            max_buffer_size: most.max_buffer_size,
            // What WebGPU promises everywhere; the attention kernels take five.
            max_storage_buffers_per_shader_stage: 8,
            ..wgpu::Limits::downlevel_defaults().using_resolution(most)
        };
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("longview"),
            required_features: adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
            required_limits: limits,
            ..Default::default()
        };
        let (device, queue) = adapter
            .request_device(&descriptor)
            .await
            .map_err(|error| EngineError::Gpu(format!("the adapter gives no device ({error})")))?;
        let (tell, failed) = oneshot::channel();
        let failure = Arc::new(Mutex::new(Failure {
            message: None,
            tell: Some(tell),
        }));
        let (lost, uncaptured) = (failure.clone(), failure.clone());
        device.set_device_lost_callback(move |reason, message| {
            // Dropping the device also "loses" it; nobody looks any more then.
            Failure::note(&lost, format!("the device was lost ({reason:?}: {message})"));
        });
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            Failure::note(&uncaptured, error.to_string());
        }));
        Ok(Self {
            device,
            queue,
            info: adapter.get_info(),
            failure,
            failed: Mutex::new(Some(failed)),
            held: Arc::default(),
            compiled: Mutex::default(),
            scale: OnceLock::new(),
            bytes_read: AtomicU64::new(0),
            #[cfg(target_arch = "wasm32")]
            instance,
        })
    }

    /// The adapter's name, as its driver tells it.
    pub fn description(&self) -> String {
        let name = self.info.name.trim();
        if name.is_empty() {
            "the WebGPU adapter of this browser".into()
        } else {
            name.into()
        }
    }

    /// Whether the "GPU" is a program on the CPU (SwiftShader, llvmpipe), where the CPU engine is faster.
    pub fn is_software(&self) -> bool {
        let name = self.info.name.to_lowercase();
        self.info.device_type == wgpu::DeviceType::Cpu
            || ["swiftshader", "llvmpipe", "basic render"]
                .iter()
                .any(|software| name.contains(software))
    }

    /// # Errors
    /// The first failure since the device was opened; it stays.
    pub fn check(&self) -> Result<(), EngineError> {
        match self.failure.lock().map(|failure| failure.message.clone()) {
            Ok(None) => Ok(()),
            Ok(Some(message)) => Err(EngineError::Gpu(message)),
            Err(_) => Err(EngineError::Gpu("an error handler failed".into())),
        }
    }

    /// Waits for the first failure, which [`check`](Self::check) then tells; may be asked for once.
    pub fn failed(&self) -> Option<impl Future<Output = ()> + 'static> {
        let receiver = self.failed.lock().ok()?.take()?;
        Some(async move {
            // A device that is dropped without a failure ends the waiting too.
            let _ = receiver.await;
        })
    }

    /// The kernels for heads of width `d_head`; each is compiled once.
    pub fn kernels(&self, d_head: usize) -> Arc<Kernels> {
        let Ok(mut compiled) = self.compiled.lock() else {
            return Arc::new(Kernels::new(&self.device, d_head));
        };
        if let Some((_, kernels)) = compiled.iter().find(|(width, _)| *width == d_head) {
            return kernels.clone();
        }
        let kernels = match compiled.first() {
            Some((_, others)) => others.for_heads(d_head),
            None => Kernels::new(&self.device, d_head),
        };
        let kernels = Arc::new(kernels);
        compiled.push((d_head, kernels.clone()));
        kernels
    }

    /// Has [`kernels`](Self::kernels) give these variants from now on.
    pub fn set_variants(&self, variants: Variants) {
        if let Ok(mut compiled) = self.compiled.lock() {
            for (_, kernels) in compiled.iter_mut() {
                *kernels = Arc::new(kernels.with_variants(variants));
            }
        }
    }

    /// Has [`kernels`](Self::kernels) give one of another template for heads of width `d_head`: for tests that
    /// break a kernel.
    pub fn alter(&self, d_head: usize, name: &str, alter: impl FnOnce(String) -> String) {
        let altered = Arc::new(self.kernels(d_head).altered(name, alter));
        if let Ok(mut compiled) = self.compiled.lock() {
            compiled.retain(|(width, _)| *width != d_head);
            compiled.push((d_head, altered));
        }
    }

    /// Whether the GPU can tell when a pass begins and ends.
    pub(super) fn has_timestamps(&self) -> bool {
        self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY)
    }

    /// The largest buffer that a kernel can see, in bytes.
    pub(super) fn binding_bytes_max(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_storage_buffer_binding_size.min(limits.max_buffer_size)
    }

    /// A buffer that kernels read and write, and that can be copied.
    pub fn buffer(&self, label: &str, size_bytes: u64) -> Buffer {
        use wgpu::BufferUsages as Usage;
        // An empty binding is not allowed, and copies go by four bytes.
        let size_bytes = size_bytes.next_multiple_of(16).max(16);
        self.buffer_for(
            label,
            size_bytes,
            Usage::STORAGE | Usage::COPY_SRC | Usage::COPY_DST,
        )
    }

    /// A buffer for other uses.
    pub(super) fn buffer_for(&self, label: &str, size: u64, usage: wgpu::BufferUsages) -> Buffer {
        let descriptor = wgpu::BufferDescriptor {
            label: Some(label),
            size,
            usage,
            mapped_at_creation: false,
        };
        Buffer::new(&self.device, &self.held, &descriptor)
    }

    /// How many buffers there are on the GPU, and their bytes.
    pub fn buffers_held(&self) -> (usize, u64) {
        self.held.now()
    }

    /// A buffer with these values in it.
    pub fn upload<T: bytemuck::NoUninit>(&self, label: &str, values: &[T]) -> Buffer {
        let buffer = self.buffer(label, std::mem::size_of_val(values) as u64);
        self.queue.write_buffer(&buffer, 0, bytemuck::cast_slice(values));
        buffer
    }

    /// The buffer of the scale that captures are painted in.
    pub(super) fn scale(&self) -> &Buffer {
        self.scale
            .get_or_init(|| self.buffer("scale", SCALE_WORDS as u64 * 4))
    }

    /// Takes the scale of colours for captures that are painted from now on, as
    /// [`paint`](crate::engine::cpu::paint::paint) has it.
    ///
    /// # Errors
    /// Another count of words than a scale has.
    pub fn set_scale(&self, scale: &[u32]) -> Result<(), EngineError> {
        if scale.len() != SCALE_WORDS {
            return Err(EngineError::Scale {
                found: scale.len(),
                need: SCALE_WORDS,
            });
        }
        let bytes = bytemuck::cast_slice(scale);
        self.queue.write_buffer(self.scale(), 0, bytes);
        Ok(())
    }

    /// How many bytes came back from the GPU since the device was opened.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// Does something with the GPU, and waits for what that has against it (something invalid, or no memory
    /// left). This is returned as `refused` has it, and the device is not held to have failed.
    ///
    /// # Errors
    /// The GPU's, or else the work's own.
    pub async fn attempt<T>(
        &self,
        work: impl FnOnce() -> Result<T, EngineError>,
        refused: fn(String) -> EngineError,
    ) -> Result<T, EngineError> {
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let done = work();
        // Both scopes are closed before anything is awaited, innermost first.
        let (validation, memory) = (validation.pop(), memory.pop());
        match (validation.await, memory.await) {
            (None, None) => done,
            (Some(error), _) | (None, Some(error)) => Err(refused(error.to_string())),
        }
    }

    /// Waits until all that was submitted is done.
    ///
    /// # Errors
    /// A device that was lost.
    pub async fn idle(&self) -> Result<(), EngineError> {
        let (sender, receiver) = oneshot::channel();
        self.queue.on_submitted_work_done(move || {
            // The receiver is gone only if nobody waits any more.
            let _ = sender.send(());
        });
        self.poll()?;
        receiver
            .await
            .map_err(|error| EngineError::Gpu(format!("waiting failed ({error})")))?;
        self.check()
    }

    /// Waits for the GPU natively; in the browser polling does nothing and the event loop calls back.
    fn poll(&self) -> Result<(), EngineError> {
        #[cfg(not(target_arch = "wasm32"))]
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|error| EngineError::Gpu(error.to_string()))?;
        Ok(())
    }

    /// Waits for the buffer, which was made to be mapped, and reads its values.
    ///
    /// # Errors
    /// A mapping that failed, as it does on a lost device.
    pub(super) async fn read<T, const BYTES: usize>(
        &self,
        buffer: &wgpu::Buffer,
        value: fn([u8; BYTES]) -> T,
    ) -> Result<Vec<T>, EngineError> {
        let (sender, receiver) = oneshot::channel();
        buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            // The receiver is gone only if the forward was given up.
            let _ = sender.send(result);
        });
        self.poll()?;
        let failed = |error: String| EngineError::Gpu(format!("reading back failed ({error})"));
        receiver
            .await
            .map_err(|error| failed(error.to_string()))?
            .map_err(|error| failed(error.to_string()))?;
        let values = {
            let view = buffer
                .get_mapped_range(..)
                .map_err(|error| failed(error.to_string()))?;
            // The mapping need not be aligned to the values.
            view.as_chunks().0.iter().map(|&bytes| value(bytes)).collect()
        };
        buffer.unmap();
        self.bytes_read.fetch_add(buffer.size(), Ordering::Relaxed);
        Ok(values)
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        self.device.destroy();
    }
}
