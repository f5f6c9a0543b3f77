//! The CPU engine: one function a kernel, in plain Rust. It is the truth that the GPU kernels are tested
//! against, the fallback in the browser (SIMD128), and with the `_backward` twins what the trainer runs.
//!
//! Activations are `[rows][width]` with rows = windows × T; q, k and v of a layer lie side by side in
//! one buffer `qkv`, `[rows][3 · d_model]`. Work is cut into pieces of fixed size, so results do not
//! depend on the number of threads.

pub mod activation;
pub mod attention;
pub mod attention_backward;
mod attention_tiles;
pub mod capture;
pub mod copy_qk;
pub mod embed;
pub mod exp;
pub mod lanes;
mod layer;
pub mod layer_norm;
pub mod linear;
pub(crate) mod model;
pub mod nll;
pub mod paint;
mod parallel;
pub(crate) mod parameters;
pub mod product;
pub mod rotate;
pub mod scores;
pub mod smear;
mod tables;
mod tiles;
mod train;

pub use model::Model;
pub use tables::{FarF32, RotationF32, TablesF32};
pub use train::Trainee;
