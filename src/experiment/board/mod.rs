//! The claims of the ALiBi paper and of what came after, each with what it measures and what it makes of it.
//!
//! A [`Claim`] names its [`Task`]s; equal tasks of several claims are measured once. The [`Board`] keeps what
//! was measured and says what is to happen next: load a model, read a text, or run a step, which is a few
//! forwards at most. So whoever drives it may stop between two steps and loses nothing. A [`Finding`] can be
//! had at any time and grows more exact. The board knows neither files nor a page.

mod claims;
mod driver;
mod estimate;
mod finding;
mod keeping;
mod kept;
mod results;
mod run;
mod statistics;
mod survey;
mod task;

pub use claims::{CLAIMS, Claim, Options, Source, claim};
pub use driver::{Board, BoardError, Next, engine_name, fingerprint};
pub use estimate::{Rates, config_by_name, encoding_of, memory_bytes};
pub use finding::{
    Cell, CopyCurve, CopyPoint, CurvePoint, Finding, Part, Parts, Picture, Series, SpeedSeries, Table,
    Verdict, number, text_of,
};
pub use results::{Data, Record, Results};
pub use statistics::{Estimate, LEAVES, Limit, Losses, leaves_at, limit};
pub use survey::{Missing, Progress, Standing};
pub use task::{Key, Kind, Task, model_of};

#[cfg(test)]
mod tests;
