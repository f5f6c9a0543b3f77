//! Results as JSON, for a page to keep over a reload and a program to go on from.

use super::results::{Data, Record, Results};
use super::statistics::Losses;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of what is written; another is refused.
const VERSION: u32 = 2;

#[derive(Serialize, Deserialize)]
struct File {
    longview_board: u32,
    records: BTreeMap<String, Written>,
    /// Keys of results that are no more; only where changes are told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dropped: Vec<String>,
}

/// A record as it is written: short names and rounded sums, since a browser keeps hundreds of them.
#[derive(Serialize, Deserialize)]
struct Written {
    /// done
    d: usize,
    /// model
    m: String,
    /// text
    #[serde(default, skip_serializing_if = "Option::is_none")]
    t: Option<String>,
    /// Group by group: sum, count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    g: Option<Vec<(f64, usize)>>,
    /// By context: sum, count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    c: Option<Vec<(f64, usize)>>,
    /// Paired cells: sum, squares, count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    p: Option<Vec<(f64, f64, usize)>>,
    /// Windows of a copy probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    w: Option<Vec<[f64; 3]>>,
    /// Samples of speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    s: Option<Vec<f64>>,
    /// Heads of a copy probe: sums of what they give to the copied token, and of how many windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    h: Option<(Vec<f64>, usize)>,
}

/// To six digits after the point: a thousandth of what a standard error may be.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

impl Results {
    /// As JSON, for a page to keep and a program to go on from.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_json(&self) -> serde_json::Result<String> {
        self.to_json_without(Vec::new())
    }

    /// The same, and which keys are no more.
    ///
    /// # Errors
    /// None in practice.
    pub fn to_json_without(&self, dropped: Vec<String>) -> serde_json::Result<String> {
        let pairs =
            |list: &[(f64, usize)]| Some(list.iter().map(|&(sum, count)| (rounded(sum), count)).collect());
        let records = self.records.iter().map(|(key, record)| {
            let mut written = Written {
                d: record.done,
                m: record.model.clone(),
                t: record.text.clone(),
                g: None,
                c: None,
                p: None,
                w: None,
                s: None,
                h: None,
            };
            match &record.data {
                Data::Losses { losses, contexts } => {
                    (written.g, written.c) = (pairs(&losses.groups), pairs(contexts));
                }
                Data::Paired { cells } => {
                    let cells = cells
                        .iter()
                        .map(|&(sum, squares, n)| (rounded(sum), rounded(squares), n));
                    written.p = Some(cells.collect());
                }
                Data::Copy {
                    losses,
                    heads,
                    captured,
                } => {
                    // A thousandth of a nat is far below the error.
                    let short = |loss: f64| (loss * 1e4).round() / 1e4;
                    written.w = Some(losses.iter().map(|losses| losses.map(short)).collect());
                    written.h = Some((heads.iter().copied().map(short).collect(), *captured));
                }
                Data::Speed { samples } => written.s = Some(samples.iter().copied().map(rounded).collect()),
            }
            (key.clone(), written)
        });
        serde_json::to_string(&File {
            longview_board: VERSION,
            records: records.collect(),
            dropped,
        })
    }

    /// Reads what [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// Another text, or one of another version.
    pub fn from_json(json: &str) -> Result<Self, String> {
        let file: File = crate::json::read(json)
            .map_err(|error| format!("these are no results of the claims ({error}); measure anew"))?;
        if file.longview_board != VERSION {
            return Err(format!(
                "the results are of version {}, this is {VERSION}; measure anew",
                file.longview_board
            ));
        }
        let mut results = Self::default();
        for (key, written) in file.records {
            let data = match written {
                Written {
                    g: Some(groups), c, ..
                } => Data::Losses {
                    losses: Losses { groups },
                    contexts: c.unwrap_or_default(),
                },
                Written { p: Some(cells), .. } => Data::Paired { cells },
                Written {
                    w: Some(losses), h, ..
                } => {
                    let (heads, captured) = h.unwrap_or_default();
                    Data::Copy {
                        losses,
                        heads,
                        captured,
                    }
                }
                Written { s: Some(samples), .. } => Data::Speed { samples },
                _ => return Err(format!("the results of \"{key}\" hold nothing; measure anew")),
            };
            let (done, model, text) = (written.d, written.m, written.t);
            results.records.insert(
                key,
                Record {
                    done,
                    model,
                    text,
                    data,
                },
            );
        }
        Ok(results)
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::{record, speed};
    use super::*;

    #[test]
    fn results_are_written_and_read() {
        let mut results = Results::default();
        let all = [
            Data::Losses {
                losses: Losses {
                    groups: vec![(3.25, 2), (0.0, 0)],
                },
                contexts: vec![(1.5, 1), (1.75, 1)],
            },
            Data::Paired {
                cells: vec![(-0.5, 0.25, 1)],
            },
            Data::Copy {
                losses: vec![[1.5, 2.5, 3.5]],
                heads: vec![0.5, 0.25],
                captured: 1,
            },
            Data::Speed {
                samples: vec![0.5, 0.25],
            },
        ];
        for (length, data) in all.into_iter().enumerate() {
            results.entry(&speed(length), || record(1, data));
        }
        let json = results.to_json().unwrap();
        assert_eq!(Results::from_json(&json).unwrap(), results);
        assert!(Results::from_json("[]").unwrap_err().contains("measure anew"));
        let other = json.replace("\"longview_board\":2", "\"longview_board\":99");
        assert!(Results::from_json(&other).unwrap_err().contains("version 99"));
        // Only what is further replaces.
        let mut behind = Results::default();
        behind.entry(&speed(2), || record(5, Data::Speed { samples: vec![9.0] }));
        behind.restore(results);
        assert_eq!((behind.len(), behind.get(&speed(2)).unwrap().done), (4, 5));
    }
}
