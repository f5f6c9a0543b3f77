use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

/// What a device's buffers come to now.
#[derive(Debug, Default)]
pub struct Held {
    count: AtomicUsize,
    bytes: AtomicU64,
}

impl Held {
    /// How many buffers there are, and their bytes.
    pub fn now(&self) -> (usize, u64) {
        (self.count.load(Relaxed), self.bytes.load(Relaxed))
    }
}

/// A buffer on the GPU that is counted, and freed when it is dropped: in the browser dropping a `wgpu::Buffer`
/// frees nothing until the garbage collector comes by.
pub struct Buffer {
    buffer: wgpu::Buffer,
    held: Arc<Held>,
}

impl Buffer {
    pub(super) fn new(device: &wgpu::Device, held: &Arc<Held>, descriptor: &wgpu::BufferDescriptor) -> Self {
        let buffer = device.create_buffer(descriptor);
        held.count.fetch_add(1, Relaxed);
        held.bytes.fetch_add(buffer.size(), Relaxed);
        Self {
            buffer,
            held: held.clone(),
        }
    }
}

impl Deref for Buffer {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.buffer
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.buffer.destroy();
        self.held.count.fetch_sub(1, Relaxed);
        self.held.bytes.fetch_sub(self.buffer.size(), Relaxed);
    }
}
