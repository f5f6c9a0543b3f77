//! The GPU's kernels against their CPU twins, run by the browser tests.

use crate::engine::gpu::{Device, check};
use wasm_bindgen::prelude::*;

/// Compares every kernel and whole models on odd sizes; returns JSON
/// `[{"kernel", "case", "largest", "limit"}, …]`, differences as in
/// [`Difference`](crate::engine::gpu::check::Difference).
///
/// # Errors
/// No GPU, or one that failed.
#[wasm_bindgen]
pub async fn kernel_check() -> Result<String, JsError> {
    // In the browser a device belongs to one thread.
    #[allow(clippy::arc_with_non_send_sync)]
    let device = std::sync::Arc::new(Device::new().await?);
    let mut found = check::kernels(&device, |d_head| device.kernels(d_head), |_| true).await?;
    found.extend(check::forward(&device, |d_head| device.kernels(d_head)).await?);
    Ok(serde_json::to_string(&found)?)
}
