//! The GPU engine: the kernels of [`cpu`](super::cpu) on wgpu, WGSL beside the twin's name in `shaders/`.
//!
//! A forward is one encoder, one pass, one submit; everything stays on the GPU until one small readback.
//! Tables are computed on the CPU in f64 and uploaded: WGSL promises neither exact sines nor infinities.

pub mod check;
mod device;
mod kernels;
mod model;
mod plan;
mod recorder;
mod scores;
mod tables;
#[cfg(feature = "checks")]
mod trial;

pub use device::Device;
pub use kernels::{Kernels, SHADERS, Then};
pub use model::Model;
pub use recorder::{Recorded, Recorder};
pub use scores::{FarInputs, Inputs};
#[cfg(feature = "checks")]
pub use trial::Trial;
