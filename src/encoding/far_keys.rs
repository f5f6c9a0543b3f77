use super::rotary::turns;
use super::{EncodingError, Far, Pairing, Rotation};
use serde::{Deserialize, Serialize};

/// How a rotary encoding scores keys far before the query, at inference: so that no distance arises that
/// training has not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum FarKeys {
    /// ReRoPE: the distance n counts as min(n, window) (Su 2023, kexue.fm/archives/9708).
    #[serde(rename = "rerope")]
    ReRope { window: usize },
    /// Self-Extend: distances below `window` W are exact; beyond, groups of G = `group` tokens share a
    /// position, and the distance is ⌊i/G⌋ + W − ⌊W/G⌋ − ⌊j/G⌋ (Jin et al. 2024, arXiv 2401.01325).
    SelfExtend { window: usize, group: usize },
}

impl FarKeys {
    /// The far scores' table for `length` tokens. Rows of queries are also multiplied by `scale(row)`, those
    /// of keys by `key_scale`, as the near ones are.
    pub(super) fn table(
        self,
        pairing: Pairing,
        inv_freq: &[f64],
        length: usize,
        scale: impl Fn(usize) -> f64,
        key_scale: f64,
    ) -> Result<Far, EncodingError> {
        self.validate()?;
        let (from, queries, group) = match self {
            Self::ReRope { window } => (window, None, None),
            Self::SelfExtend { window, group } => (window, Some(window - window / group), Some(group)),
        };
        // ReRoPE turns all far queries by the window, and far keys not at all.
        let grouped = |row: usize| group.map_or(0, |group| row / group);
        let query = |row: usize| (grouped(row) + queries.unwrap_or(from)) as f64;
        let [cos, sin] = turns(length, inv_freq, query, |row, _| scale(row));
        let keys = turns(length, inv_freq, |row| grouped(row) as f64, |_, _| key_scale);
        Ok(Far {
            from,
            keys: usize::MAX,
            last: usize::MAX,
            rotation: Some(Rotation {
                pairing,
                cos,
                sin,
                keys: Some(keys),
            }),
        })
    }

    fn validate(self) -> Result<(), EncodingError> {
        let wrong = |what: &'static str, value: usize, need: &'static str| {
            Err(EncodingError::Setting {
                encoding: "rotary",
                what,
                value: value as f64,
                need,
            })
        };
        match self {
            Self::ReRope { window: 0 } => wrong("ReRoPE's window", 0, "at least 1 token"),
            Self::SelfExtend { group: 0, .. } => wrong("Self-Extend's group", 0, "at least 1 token"),
            Self::SelfExtend { window, group } if window < group => wrong(
                "Self-Extend's window",
                window,
                "a window at least as long as the group, and a group of at least 1",
            ),
            _ => Ok(()),
        }
    }
}
