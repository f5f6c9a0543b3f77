use super::buffer::Buffer;
use super::device::Device;
use crate::engine::EngineError;
use crate::engine::cpu::paint::Canvas;

/// The most pixels along a side of a texture that every adapter allows.
const SIDE_MAX_PX: usize = 8192;

/// A picture that a forward paints on the GPU.
pub struct Picture {
    pub(super) canvas: Canvas,
    /// `[down][stride]` colours `0xAABBGGRR`
    pub(super) buffer: Buffer,
}

impl Picture {
    /// # Errors
    /// No pixels, or more than a texture may have.
    pub(super) fn new(device: &Device, canvas: Canvas) -> Result<Self, EngineError> {
        let [width, height] = canvas.size();
        let most = width.max(height);
        if most == 0 || most > SIDE_MAX_PX {
            return Err(EngineError::PictureSize {
                width,
                height,
                most: SIDE_MAX_PX,
            });
        }
        let bytes = canvas.stride() as u64 * height as u64 * 4;
        Ok(Self {
            canvas,
            buffer: device.buffer("picture", bytes),
        })
    }

    /// Where it is and how large.
    pub fn canvas(&self) -> Canvas {
        self.canvas
    }

    /// Its pixels, read back: for tests.
    ///
    /// # Errors
    /// A GPU that failed.
    #[cfg(not(target_arch = "wasm32"))]
    pub async fn pixels(&self, device: &Device) -> Result<Vec<u32>, EngineError> {
        super::check::read_words(device, &self.buffer).await
    }
}
