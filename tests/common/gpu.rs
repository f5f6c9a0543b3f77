//! The GPU of the tests that need one.

use longview::engine::gpu::Device;
use std::sync::Arc;

/// The GPU, or nothing where there is none and none is required.
pub fn device() -> Option<Arc<Device>> {
    match pollster::block_on(Device::new()) {
        Ok(device) => Some(Arc::new(device)),
        Err(error) => {
            let required = std::env::var_os("LONGVIEW_REQUIRE_GPU").is_some();
            assert!(!required, "LONGVIEW_REQUIRE_GPU is set, but: {error}");
            eprintln!("NOT TESTED: {error}. On Debian: apt-get install mesa-vulkan-drivers");
            None
        }
    }
}
