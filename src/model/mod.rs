//! A model: its [`Config`], its [`Weights`], the [`Checkpoint`] file that holds both, and the
//! [`Tokenizer`] that makes its tokens.

mod config;
mod weights;

pub use config::{Activation, Config, ConfigError};
pub use weights::{Init, Parameter, Tensor, Weights};
