//! The only place that knows wasm-bindgen.

mod bench;
#[cfg(feature = "gpu")]
mod check;
