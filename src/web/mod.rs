//! The only place that knows wasm-bindgen.

#[cfg(all(feature = "checks", feature = "gpu"))]
mod bench;
#[cfg(feature = "laboratory")]
mod board;
#[cfg(feature = "laboratory")]
mod captured;
#[cfg(all(feature = "checks", feature = "gpu"))]
mod check;
#[cfg(feature = "figures")]
mod draw;
#[cfg(feature = "laboratory")]
mod engine;
#[cfg(feature = "figures")]
mod fine;
#[cfg(feature = "laboratory")]
mod helpers;
#[cfg(feature = "laboratory")]
mod pictures;
#[cfg(feature = "laboratory")]
mod text;

use wasm_bindgen::prelude::*;

/// Runs when a page or worker has loaded the module: a panic then says where, in the console.
#[wasm_bindgen(start)]
fn start() {
    console_error_panic_hook::set_once();
}

#[cfg(feature = "laboratory")]
#[wasm_bindgen]
extern "C" {
    /// Milliseconds; in a worker there is no window to ask.
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    pub(crate) fn now_ms() -> f64;
}
