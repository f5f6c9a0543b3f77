//! What is measured. Mostly bookkeeping: it says which windows to run and what to make of the losses; who
//! runs them (the page's worker, the program, a test) brings the engine.

pub mod board;
mod copy;
mod curve;
mod models;
mod paired;
mod plan;
mod protocol;
mod runs;
mod variant;

pub use copy::{CopyBatches, CopyProbe, CopyScore, PASSAGE};
pub use curve::{Curve, Point, SEGMENT_TOKENS};
pub use models::{ModelError, Models};
pub use paired::{Difference, Pooled, paired_loss};
pub use plan::{Cost, ExperimentError, Plan, STEP_TOKENS, Step};
pub use protocol::Protocol;
pub use runs::{RunError, RunSettings, RunSummary, Runs, TextSummary};
pub use variant::{CHANGE_KEYS, Changes, Rescaling, Variant, VariantError};
