use thiserror::Error;

/// Why an encoding cannot make its tables. Each message names the thing, the limit and the mend.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EncodingError {
    /// A size outside what the encoding can serve.
    #[error("{what} is {value}; {encoding} needs {need}")]
    Size {
        encoding: &'static str,
        what: &'static str,
        value: usize,
        need: &'static str,
    },
    /// A setting that makes no sense.
    #[error("{encoding}: {what} is {value}; give {need}")]
    Setting {
        encoding: &'static str,
        what: &'static str,
        value: f64,
        need: &'static str,
    },
    /// A learned table ends: positions past it were never trained.
    #[error(
        "position {position} is undefined: the learned table has {rows} rows and nothing past them was \
         trained; stay within {rows}, or choose to repeat the last row or to take random ones"
    )]
    Undefined { position: usize, rows: usize },
    /// The encoding is trained, and the weights lack its tensor.
    #[error("{encoding} is trained, and its tensor \"{name}\" is missing; give a checkpoint that has it")]
    MissingWeights {
        encoding: &'static str,
        name: &'static str,
    },
    /// The encoding's tensor has another shape than its settings say.
    #[error("the tensor \"{name}\" has the shape {found:?}; {encoding} needs {need:?}")]
    WeightShape {
        encoding: &'static str,
        name: &'static str,
        found: Vec<usize>,
        need: Vec<usize>,
    },
    /// Far keys can be treated in one way only.
    #[error("a window, ReRoPE and Self-Extend each say what becomes of far keys; choose one of them")]
    TwoWindows,
    /// A list of slopes of the wrong length.
    #[error("{found} slopes for {heads} heads; give one slope a head")]
    SlopeCount { found: usize, heads: usize },
}
