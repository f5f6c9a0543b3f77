//! Longview: what happens to a transformer when a sequence grows past the length it was trained on.
//!
//! Data flows one way: state → [`encoding`] tables → [`figure`]; and for the live models
//! [`model`] → [`engine`] → [`experiment`] → [`figure`]. ARCHITECTURE.md walks through the rooms.

pub mod encoding;
pub mod engine;
pub mod experiment;
#[cfg(feature = "figures")]
pub mod figure;
mod json;
pub mod model;
#[cfg(target_arch = "wasm32")]
mod web;
