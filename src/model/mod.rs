//! A model: its [`Config`], its [`Weights`], the [`Checkpoint`] file that holds both, and the
//! [`Tokenizer`] that makes its tokens.

mod checkpoint;
mod config;
mod operations;
mod text;
pub mod tokenizer;
mod weights;

pub use checkpoint::{Checkpoint, CheckpointError, SIZE_BYTES_MAX};
pub use config::{Activation, Config, ConfigError};
pub use operations::Operations;
pub use text::clean;
pub use tokenizer::{Tokenizer, TokenizerError};
pub use weights::{Init, Parameter, Tensor, Weights};
