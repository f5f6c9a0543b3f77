//! What the fuzz targets share.

mod limited;
pub mod targets;
