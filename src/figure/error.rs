use crate::encoding::EncodingError;
use thiserror::Error;

/// Why a figure cannot be drawn. Each message names the thing, the limit and the mend.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum FigureError {
    /// Values of another shape than the figure's settings say.
    #[error("{found} values for the figure \"{figure}\", which needs {need}")]
    Values {
        figure: &'static str,
        found: usize,
        need: String,
    },
    /// A setting that no figure can have.
    #[error("the figure's {what} is {value}; it must be {need}")]
    Setting {
        what: &'static str,
        value: String,
        need: &'static str,
    },
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    /// The drawing surface refused.
    #[error("the figure could not be drawn: {0}")]
    Backend(String),
}
