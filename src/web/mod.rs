//! The only place that knows wasm-bindgen.
