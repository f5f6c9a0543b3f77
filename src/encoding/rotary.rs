use super::{EncodingError, FarKeys, Pairing, Positional, Rotation, Scaling, Shape, Table, Tables};
use crate::model::Weights;
use serde::{Deserialize, Serialize};

/// Rotary position embedding: turns pairs of dimensions of queries and keys by an angle that grows
/// with the position, so that a score depends on the distance only (Su et al. 2021, arXiv 2104.09864).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Rotary {
    pub pairing: Pairing,
    pub base: f64,
    /// The share of a head's dimensions that turn: 1 for all, 0.25 in GPT-NeoX-20B.
    pub fraction: f64,
    /// Other frequencies at inference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// Queries grow with their position, at inference: q at position i, from 0, is multiplied by
    /// max(1, ln(i + 1)/ln L) for this L (Su 2021, kexue.fm/archives/8823; Chiang and Cholak 2022,
    /// arXiv 2202.12172).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_n: Option<usize>,
    /// Keys far before the query are scored otherwise, at inference.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub far: Option<FarKeys>,
}

impl Default for Rotary {
    fn default() -> Self {
        Self {
            pairing: Pairing::default(),
            base: 10_000.0,
            fraction: 1.0,
            scaling: None,
            log_n: None,
            far: None,
        }
    }
}

/// base^(−2c/r) for the pairs c of `rotated` dimensions, `[rotated/2]`.
pub(super) fn powers(base: f64, rotated: usize) -> Vec<f64> {
    (0..rotated / 2)
        .map(|pair| base.powf(-2.0 * pair as f64 / rotated as f64))
        .collect()
}

/// The frequencies of the pairs in radians a token, `[rotated/2]`, for an encoding that turns pairs.
///
/// # Errors
/// A base that is none, or dimensions that cannot be paired.
pub(super) fn frequencies(
    encoding: &'static str,
    base: f64,
    rotated: usize,
) -> Result<Vec<f64>, EncodingError> {
    if !(base.is_finite() && base > 1.0) {
        return Err(EncodingError::Setting {
            encoding,
            what: "the base",
            value: base,
            need: "a finite number above 1 (10000 is usual)",
        });
    }
    if rotated == 0 || !rotated.is_multiple_of(2) {
        return Err(EncodingError::Size {
            encoding,
            what: "the number of rotated dimensions",
            value: rotated,
            need: "an even number of dimensions, at least 2",
        });
    }
    Ok(powers(base, rotated))
}

/// Cosines and sines, each `[rows][pairs]`, of the angles `position(row) · inv_freq[pair]`, times
/// `scale(row, pair)`.
pub(super) fn turns(
    rows: usize,
    inv_freq: &[f64],
    position: impl Fn(usize) -> f64,
    scale: impl Fn(usize, usize) -> f64,
) -> [Table; 2] {
    let table = |wave: fn(f64) -> f64| {
        Table::from_fn(rows, inv_freq.len(), |row, pair| {
            scale(row, pair) * wave(position(row) * inv_freq[pair])
        })
    };
    [table(f64::cos), table(f64::sin)]
}

impl Rotary {
    /// θ_c = base^(−2c/r) in radians a token for the pairs of `rotated` dimensions, before any scaling;
    /// `[rotated/2]`.
    pub fn inv_freq(&self, rotated: usize) -> Vec<f64> {
        powers(self.base, rotated)
    }

    /// The frequencies with which sequences of `length` tokens turn, `[rotated/2]`, and what cosines and sines
    /// are multiplied by.
    ///
    /// # Errors
    /// A base or a scaling that makes no sense.
    pub fn scaled(&self, rotated: usize, length: usize) -> Result<(Vec<f64>, f64), EncodingError> {
        let unscaled = frequencies("rotary", self.base, rotated)?;
        match &self.scaling {
            Some(scaling) => scaling.frequencies(self.base, rotated, length),
            None => Ok((unscaled, 1.0)),
        }
    }

    /// What log-n multiplies the query at a position by.
    fn query_scale(&self, position: usize) -> f64 {
        self.log_n.map_or(1.0, |length| {
            (((position + 1) as f64).ln() / (length as f64).ln()).max(1.0)
        })
    }

    /// How many dimensions of a head turn.
    ///
    /// # Errors
    /// An odd or zero count cannot be paired.
    pub fn rotated(&self, d_head: usize) -> Result<usize, EncodingError> {
        let rotated = (d_head as f64 * self.fraction).round() as usize;
        if rotated == 0 || !rotated.is_multiple_of(2) || rotated > d_head {
            return Err(EncodingError::Size {
                encoding: "rotary",
                what: "the number of rotated dimensions",
                value: rotated,
                need: "an even number of dimensions, at least 2 and at most d_head",
            });
        }
        Ok(rotated)
    }
}

impl Positional for Rotary {
    fn tables(&self, shape: &Shape, _: &Weights) -> Result<Tables, EncodingError> {
        if let Some(length) = self.log_n.filter(|length| *length < 2) {
            return Err(EncodingError::Setting {
                encoding: "rotary",
                what: "log-n's length",
                value: length as f64,
                need: "the length of training, at least 2",
            });
        }
        let (inv_freq, scale) = self.scaled(self.rotated(shape.d_head)?, shape.length)?;
        let position = |row: usize| row as f64;
        let query_scale = |row: usize| scale * self.query_scale(row);
        let [cos, sin] = turns(shape.length, &inv_freq, position, |row, _| query_scale(row));
        let far = self
            .far
            .map(|far| far.table(self.pairing, &inv_freq, shape.length, query_scale, scale));
        Ok(Tables {
            rotation: Some(Rotation {
                pairing: self.pairing,
                cos,
                sin,
                keys: self
                    .log_n
                    .map(|_| turns(shape.length, &inv_freq, position, |_, _| scale)),
            }),
            far: far.transpose()?,
            ..Tables::default()
        })
    }
}
