use crate::encoding::EncodingError;
use crate::model::{Config, ConfigError};
use thiserror::Error;

/// Windows of equal length, run together.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// `[windows][length + 1]`: each window's source tokens, and after them the last target. The target
    /// of a source token is the token after it.
    tokens: Vec<u32>,
    windows: usize,
    length: usize,
    /// Positions before this one are context only.
    first_scored: usize,
    /// Not to be shared out among threads.
    is_alone: bool,
}

impl Batch {
    /// `tokens` is `[windows][length + 1]`.
    ///
    /// # Errors
    /// No window, no token, or a count that does not fill the windows.
    pub fn new(tokens: Vec<u32>, windows: usize, length: usize) -> Result<Self, EngineError> {
        if windows == 0 || length == 0 || tokens.len() != windows * (length + 1) {
            return Err(EngineError::Batch {
                tokens: tokens.len(),
                windows,
                length,
            });
        }
        Ok(Self {
            tokens,
            windows,
            length,
            first_scored: 0,
            is_alone: false,
        })
    }

    /// The same, of which only the last `count` predictions of each window are wanted: an engine may skip the
    /// others, whose losses are then 0.
    pub fn scoring(mut self, count: usize) -> Self {
        self.first_scored = self.length.saturating_sub(count);
        self
    }

    /// The same, to be computed on one thread whatever the pool has: for timing, which is then that of the work and
    /// not of how it was cut.
    pub fn alone(mut self) -> Self {
        self.is_alone = true;
        self
    }

    /// Whether it is not to be shared out.
    pub fn is_alone(&self) -> bool {
        self.is_alone
    }

    /// The first position of a window whose loss is wanted.
    pub fn first_scored(&self) -> usize {
        self.first_scored
    }

    /// Number of windows, B.
    pub fn windows(&self) -> usize {
        self.windows
    }

    /// Predictions a window, T.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The source tokens of a window, `[T]`.
    pub fn sources(&self, window: usize) -> &[u32] {
        let start = window * (self.length + 1);
        &self.tokens[start..start + self.length]
    }

    /// The targets of a window, `[T]`.
    pub fn targets(&self, window: usize) -> &[u32] {
        let start = window * (self.length + 1) + 1;
        &self.tokens[start..start + self.length]
    }

    /// The windows in order, so many in each of some batches; together they are all. `None` for no window.
    pub fn parts(&self, windows: &[usize]) -> Vec<Option<Self>> {
        let mut rest = &self.tokens[..];
        let parts = windows.iter().map(|&windows| {
            let (part, others) = rest.split_at(windows * (self.length + 1));
            rest = others;
            (windows > 0).then(|| Self {
                tokens: part.to_vec(),
                windows,
                ..*self
            })
        });
        parts.collect()
    }

    /// `[windows][length + 1]`: each window's source tokens, and after them the last target.
    pub fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// # Errors
    /// The first token outside a vocabulary of that size.
    pub fn check_vocabulary(&self, vocabulary: usize) -> Result<(), EngineError> {
        match self.tokens.iter().find(|&&token| token as usize >= vocabulary) {
            Some(&token) => Err(EngineError::Token { token, vocabulary }),
            None => Ok(()),
        }
    }
}

/// One attention head of one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeadId {
    pub layer: usize,
    pub head: usize,
}

/// What a forward should keep beside the losses. All of it is of the batch's first window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// The attention of one head, pooled to a [`Raster`].
    pub attention: Option<HeadId>,
    /// The attention of every head of every layer, pooled to [`Thumbnails`] of at most so many cells a side.
    pub thumbnails: Option<usize>,
    /// The [`Profile`] of every head.
    pub profile: bool,
    /// Attention and thumbnails are painted where they are, and not given as numbers; the CPU does not.
    pub painted: Option<Painted>,
    /// Nobody asks for the losses: an engine may leave them out.
    pub no_losses: bool,
}

/// How large captures are painted: pixels along the side of a raster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Painted {
    pub attention_px: usize,
    pub thumbnail_px: usize,
}

impl Captures {
    /// Cells along a side of the thumbnails of a window of `length` tokens; `None` where none are asked for.
    pub fn thumbnail_side(&self, length: usize) -> Option<usize> {
        let side = self.thumbnails.filter(|&side| side > 0)?;
        Some(side.min(length).min(RASTER_SIDE_MAX))
    }

    /// # Errors
    /// A head that a model of this configuration does not have.
    pub fn check(&self, config: &Config) -> Result<(), EngineError> {
        match self.attention {
            Some(HeadId { layer, head }) if layer >= config.layers || head >= config.heads => {
                Err(EngineError::Head {
                    layer,
                    head,
                    layers: config.layers,
                    heads: config.heads,
                })
            }
            _ => Ok(()),
        }
    }
}

/// The largest side of a [`Raster`] and of [`Thumbnails`], in cells.
pub const RASTER_SIDE_MAX: usize = 512;

/// Attention probabilities of one head, pooled. With T ≤ 512 a cell is one query and one key; beyond,
/// query i falls into row ⌊i·side/T⌋ and key j into column ⌊j·side/T⌋, and a cell is the mean over its
/// queries of the sum over its keys, so that each row still sums to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Raster {
    /// min(T, 512)
    pub side: usize,
    /// `[side][side]`: query, key.
    pub data: Vec<f32>,
}

/// The attention of every head of every layer, each pooled as a [`Raster`] is.
#[derive(Clone, Debug, PartialEq)]
pub struct Thumbnails {
    pub layers: usize,
    pub heads: usize,
    /// min(T, 512, the side asked for)
    pub side: usize,
    /// `[layers][heads][side][side]`: query, key.
    pub data: Vec<f32>,
}

/// Mean attention by distance: for each distance n, the mean over queries i ≥ n of the probability
/// that i gives to the key i − n. And, of the same probabilities, how widely they are spread.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub layers: usize,
    pub heads: usize,
    pub length: usize,
    /// `[layers][heads][length]`
    pub data: Vec<f32>,
    /// `[layers][heads]`, in nats: the mean over queries i of the entropy −Σ_j p_ij ln p_ij.
    pub entropy: Vec<f32>,
}

impl Profile {
    /// `data` and `by_distance` are `[layers][heads][length]`: for each distance n, the means over queries
    /// i ≥ n of p_ij and of −p_ij ln p_ij with j = i − n. T − n queries have a key at the distance n.
    pub(super) fn new(
        (layers, heads, length): (usize, usize, usize),
        data: Vec<f32>,
        by_distance: &[f32],
    ) -> Self {
        let mean = |by_distance: &[f32]| {
            let weighted = by_distance
                .iter()
                .enumerate()
                .map(|(n, &mean)| f64::from(mean) * (length - n) as f64);
            (weighted.sum::<f64>() / length as f64) as f32
        };
        Self {
            layers,
            heads,
            length,
            data,
            entropy: by_distance.chunks_exact(length).map(mean).collect(),
        }
    }
}

/// What a forward gives.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Negative log likelihood of every target, in nats; `[windows][length]`, or empty with
    /// [`no_losses`](Captures::no_losses).
    pub nll: Vec<f32>,
    /// As it was asked for; `None` where it was [painted](Captures::painted) in place of it.
    pub attention: Option<Raster>,
    /// As it was asked for; `None` where it was [painted](Captures::painted) in place of it.
    pub thumbnails: Option<Thumbnails>,
    pub profile: Option<Profile>,
}

/// Why an engine cannot run.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EngineError {
    #[error(
        "{tokens} tokens do not make {windows} windows of {length} + 1; give windows × (length + 1) tokens, at least one of each"
    )]
    Batch {
        tokens: usize,
        windows: usize,
        length: usize,
    },
    #[error(
        "token {token} is outside the model's vocabulary of {vocabulary}; tokenize with the tokenizer that belongs to the checkpoint"
    )]
    Token { token: u32, vocabulary: usize },
    #[error("layer {layer}, head {head} does not exist: the model has {layers} layers of {heads} heads")]
    Head {
        layer: usize,
        head: usize,
        layers: usize,
        heads: usize,
    },
    #[error("the model lacks the tensor \"{0}\"; load a complete checkpoint")]
    MissingTensor(String),
    #[error("the tensor \"{name}\" has the shape {found:?}, the configuration says {need:?}")]
    TensorShape {
        name: String,
        found: Vec<usize>,
        need: Vec<usize>,
    },
    #[error(transparent)]
    Encoding(#[from] EncodingError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(
        "a window of {length} tokens needs {need_bytes} bytes in one buffer and this GPU allows {limit_bytes}; choose a shorter length, or the CPU engine"
    )]
    TooLong {
        length: usize,
        need_bytes: u64,
        limit_bytes: u64,
    },
    #[error(
        "a window, ReRoPE and Self-Extend are for models that are already trained; train without, and switch them on afterwards"
    )]
    FarInTraining,
    #[error("the GPU failed: {0}")]
    Gpu(String),
    #[error("a picture of {width} × {height} pixels is not to be had; ask for 1 to {most} a side")]
    PictureSize {
        width: usize,
        height: usize,
        most: usize,
    },
    #[error("a scale of colours has {need} words, and this one {found}; take the one that the figures give")]
    Scale { found: usize, need: usize },
    #[error("pictures cannot be shown ({0}); ask for numbers")]
    Shown(String),
    #[error("a helper of the CPU engine failed: {0}")]
    Helper(String),
}
