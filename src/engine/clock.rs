//! A clock, for what is chosen by measurement.

/// Milliseconds since some moment of the past.
#[cfg(target_arch = "wasm32")]
pub fn now_ms() -> f64 {
    crate::web::now_ms()
}

/// Milliseconds since some moment of the past.
#[cfg(not(target_arch = "wasm32"))]
pub fn now_ms() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64() * 1e3
}
