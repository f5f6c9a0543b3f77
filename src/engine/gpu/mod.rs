//! The GPU engine: the kernels of [`cpu`](super::cpu) on wgpu, WGSL beside the twin's name in `shaders/`.
//!
//! A forward is one encoder, one pass, one submit; everything stays on the GPU until one small readback.
//! Tables are computed on the CPU in f64 and uploaded: WGSL promises neither exact sines nor infinities.

// In the browser a device belongs to one thread; natively it is shared.
#![cfg_attr(target_arch = "wasm32", allow(clippy::arc_with_non_send_sync))]

mod buffer;
mod buffers;
mod captures;
pub mod check;
mod choose;
mod device;
mod kernels;
mod keys;
mod layout;
mod model;
mod picture;
mod plan;
mod profile;
mod recorder;
mod scores;
#[cfg(target_arch = "wasm32")]
mod screen;
mod source;
mod tables;
#[cfg(feature = "checks")]
mod trial;
mod uploaded;

pub use buffer::Buffer;
pub use choose::{Selection, VariantTimes};
pub use device::Device;
pub use kernels::{Kernels, Then, Variant, Variants};
pub use model::Model;
pub use picture::Picture;
pub use profile::{Timing, Timings};
pub use recorder::{Recorded, Recorder};
pub use scores::{FarInputs, Inputs};
#[cfg(target_arch = "wasm32")]
pub use screen::Screen;
pub use source::{SHADERS, Source};
#[cfg(feature = "checks")]
pub use trial::Trial;
