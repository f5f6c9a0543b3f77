//! Runs a model over windows of tokens: tokens in, one negative log likelihood (nll) a token out, plus
//! what was asked to be captured. [`cpu`] is the truth and the fallback; `gpu` has the same kernels on
//! wgpu.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

mod batch;
#[cfg(feature = "gpu")]
mod clock;
mod dispatch;
mod pool;
#[cfg(feature = "gpu")]
mod speed;

pub use batch::{
    Batch, Captures, EngineError, HeadId, Output, Painted, Profile, RASTER_SIDE_MAX, Raster, Thumbnails,
};
pub use dispatch::{Choice, Engine, Model, Reason, Verdict};
pub use pool::{Computing, Pool, Pooled};
#[cfg(feature = "gpu")]
pub use speed::Speeds;
