use super::device::Device;
use super::picture::Picture;
use crate::engine::EngineError;
use wasm_bindgen::JsValue;
use web_sys::{ImageBitmap, OffscreenCanvas};

/// A canvas nobody sees, through which pictures go from the GPU's buffers to a page without being read back.
pub struct Screen {
    canvas: OffscreenCanvas,
    surface: wgpu::Surface<'static>,
    size: [u32; 2],
}

fn refused(error: impl std::fmt::Debug) -> EngineError {
    EngineError::Shown(format!("{error:?}"))
}

impl Screen {
    /// # Errors
    /// A browser whose workers have no such canvas.
    pub fn new(device: &Device) -> Result<Self, EngineError> {
        let canvas = OffscreenCanvas::new(1, 1).map_err(refused)?;
        let target = wgpu::SurfaceTarget::OffscreenCanvas(canvas.clone());
        let surface = device.instance.create_surface(target).map_err(refused)?;
        Ok(Self {
            canvas,
            surface,
            size: [0, 0],
        })
    }

    /// The picture as a bitmap that the browser keeps where it is.
    ///
    /// # Errors
    /// A browser that does not do so.
    pub fn show(&mut self, device: &Device, picture: &Picture) -> Result<ImageBitmap, EngineError> {
        let [width, height] = picture.canvas.size().map(|px| px as u32);
        if self.size != [width, height] {
            self.surface.configure(
                &device.device,
                &wgpu::SurfaceConfiguration {
                    usage: wgpu::TextureUsages::COPY_DST,
                    // What the pictures are made of, and every browser's canvas takes.
                    format: wgpu::TextureFormat::Rgba8Unorm,
                    color_space: wgpu::SurfaceColorSpace::Auto,
                    width,
                    height,
                    present_mode: wgpu::PresentMode::Fifo,
                    desired_maximum_frame_latency: 2,
                    alpha_mode: wgpu::CompositeAlphaMode::Opaque,
                    view_formats: Vec::new(),
                },
            );
            self.size = [width, height];
        }
        let wgpu::CurrentSurfaceTexture::Success(frame) = self.surface.get_current_texture() else {
            self.size = [0, 0];
            return Err(refused("the canvas has no texture"));
        };
        let mut encoder = device.device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_texture(
            wgpu::TexelCopyBufferInfo {
                buffer: &picture.buffer,
                layout: wgpu::TexelCopyBufferLayout {
                    offset: 0,
                    bytes_per_row: Some(picture.canvas.stride() as u32 * 4),
                    rows_per_image: None,
                },
            },
            frame.texture.as_image_copy(),
            wgpu::Extent3d {
                width,
                height,
                depth_or_array_layers: 1,
            },
        );
        device.queue.submit([encoder.finish()]);
        // In the same turn of the event loop: after it the canvas has another texture.
        self.canvas
            .transfer_to_image_bitmap()
            .map_err(|error: JsValue| refused(error))
    }
}
