//! The kernels on wgpu.
