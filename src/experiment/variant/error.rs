use super::CHANGE_KEYS;
use thiserror::Error;

/// Why a variant cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum VariantError {
    #[error(
        "\"{0}\" is no name of a model; give the name of a checkpoint's file without its ending, as rotary-l64"
    )]
    Model(String),
    #[error("there is no change \"{0}\"; the changes are {keys}", keys = CHANGE_KEYS.join(", "))]
    Unknown(String),
    #[error("{0} is given twice; give it once")]
    Twice(String),
    #[error("{key} is \"{value}\"; give {need}")]
    Value {
        key: &'static str,
        value: String,
        need: String,
    },
    #[error("{key} means nothing without {other}; give both, or neither")]
    Needs { key: &'static str, other: &'static str },
    #[error("{one} and {other} both say what becomes of far keys; give one of them")]
    Clash { one: &'static str, other: &'static str },
    #[error(
        "{key} is for models with the encoding {need}, and this one has {found}; choose another model, or leave {key} out"
    )]
    Encoding {
        key: &'static str,
        need: &'static str,
        found: &'static str,
    },
}
