use super::statistics::{Estimate, Losses};
use super::task::{Kind, PAIRED_CELL, SPEED_SAMPLES, Task};
use super::windows::Pass;
use crate::experiment::CopyScore;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Mean losses by the context that a prediction had: 1 token, 2 to 3, 4 to 7 …; each `(sum, count)`.
pub type ByContext = Vec<(f64, usize)>;

/// What a task has measured so far.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    Losses {
        losses: Losses,
        contexts: ByContext,
    },
    /// By cell of positions: sum, sum of squares and number of the windows' mean differences.
    Paired {
        cells: Vec<(f64, f64, usize)>,
    },
    /// Of each window of a copy probe: the losses of the second occurrence, of its control, of the first.
    Copy {
        losses: Vec<[f64; 3]>,
    },
    /// Milliseconds a token, sample by sample.
    Speed {
        samples: Vec<f64>,
    },
}

/// A task's results, and of what they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Steps that are done.
    pub done: usize,
    /// Fingerprints of the checkpoint and of the text.
    pub model: String,
    pub text: Option<String>,
    pub data: Data,
}

/// All that was measured, by the tasks' keys.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    records: BTreeMap<String, Record>,
}

impl Data {
    /// Nothing yet.
    pub fn new(task: &Task, text_tokens: usize) -> Self {
        match task.kind {
            Kind::Losses { .. } => Self::Losses {
                losses: Losses::new(task.scored(text_tokens)),
                contexts: Vec::new(),
            },
            Kind::Paired { length, .. } => Self::Paired {
                cells: vec![(0.0, 0.0, 0); length.div_ceil(PAIRED_CELL)],
            },
            Kind::Copy { .. } => Self::Copy { losses: Vec::new() },
            Kind::Speed { .. } => Self::Speed { samples: Vec::new() },
        }
    }

    /// Takes what a step's forwards gave, each `[windows][length]`, and the time that it took.
    pub fn add(&mut self, task: &Task, scored: usize, passes: &[Pass], nll: &[Vec<f32>], elapsed_ms: f64) {
        match self {
            Self::Losses { losses, contexts } => {
                for (pass, nll) in passes.iter().zip(nll) {
                    for (place, context, loss) in pass.scored(nll) {
                        losses.add(place, scored, loss);
                        let octave = context.ilog2() as usize;
                        if contexts.len() <= octave {
                            contexts.resize(octave + 1, (0.0, 0));
                        }
                        contexts[octave].0 += loss;
                        contexts[octave].1 += 1;
                    }
                }
            }
            Self::Paired { cells } => {
                let [long, short] = nll else { return };
                let pairs = long.chunks(PAIRED_CELL).zip(short.chunks(PAIRED_CELL));
                for ((sum, squares, count), (long, short)) in cells.iter_mut().zip(pairs) {
                    let differences = long.iter().zip(short).map(|(a, b)| f64::from(a - b));
                    let mean = differences.sum::<f64>() / long.len() as f64;
                    *sum += mean;
                    *squares += mean * mean;
                    *count += 1;
                }
            }
            Self::Copy { losses } => {
                if let (Some(mut probe), [repeated, control]) = (task.probe(), nll) {
                    probe.resume(std::mem::take(losses));
                    probe.add(repeated, control);
                    *losses = probe.losses().to_vec();
                }
            }
            Self::Speed { samples } => {
                let tokens: usize = passes.iter().map(|pass| pass.windows * pass.length).sum();
                samples.push(elapsed_ms / tokens as f64);
            }
        }
    }
}

impl Results {
    pub fn get(&self, task: &Task) -> Option<&Record> {
        self.records.get(&task.key())
    }

    pub fn entry(&mut self, task: &Task, new: impl FnOnce() -> Record) -> &mut Record {
        self.records.entry(task.key()).or_insert_with(new)
    }

    pub fn remove(&mut self, task: &Task) {
        self.records.remove(&task.key());
    }

    /// Keeps what `is_kept` says of a key and its record.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&str, &Record) -> bool) {
        self.records.retain(|key, record| is_kept(key, record));
    }

    pub fn len(&self) -> usize {
        self.records.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The losses of a task, where there are any.
    pub fn losses(&self, task: &Task) -> Option<&Losses> {
        match &self.get(task)?.data {
            Data::Losses { losses, .. } if losses.tokens() > 0 => Some(losses),
            _ => None,
        }
    }

    /// The mean loss by context: `(least context, mean, count)`.
    pub fn by_context(&self, task: &Task) -> Vec<(usize, f64, usize)> {
        let Some(Data::Losses { contexts, .. }) = self.get(task).map(|record| &record.data) else {
            return Vec::new();
        };
        let filled = contexts.iter().enumerate().filter(|(_, (_, count))| *count > 0);
        filled
            .map(|(octave, &(sum, count))| (1 << octave, sum / count as f64, count))
            .collect()
    }

    /// The paired losses of a task by cell.
    pub fn cells(&self, task: &Task) -> Vec<Option<Estimate>> {
        match self.get(task).map(|record| &record.data) {
            Some(Data::Paired { cells }) => cells.iter().copied().map(Estimate::of_sums).collect(),
            _ => Vec::new(),
        }
    }

    /// The copy score of a task.
    pub fn copy(&self, task: &Task) -> Option<CopyScore> {
        let Data::Copy { losses } = &self.get(task)?.data else {
            return None;
        };
        let mut probe = task.probe()?;
        probe.resume(losses.clone());
        probe.score()
    }

    /// The median of the times a token, in milliseconds, and half of what lies between their quartiles. The
    /// first sample only warmed up.
    pub fn time(&self, task: &Task) -> Option<Estimate> {
        let Data::Speed { samples } = &self.get(task)?.data else {
            return None;
        };
        let mut sorted: Vec<f64> = samples.iter().skip(1).take(SPEED_SAMPLES - 1).copied().collect();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().checked_sub(1)?;
        let spread = (sorted[last * 3 / 4] - sorted[last / 4]) / 2.0;
        Some(Estimate {
            value: sorted[last / 2],
            error: (last > 0).then_some(spread),
        })
    }

    /// Takes over records that are not there, or not as far. How many there were.
    pub fn restore(&mut self, others: Self) -> usize {
        let count = others.len();
        for (key, record) in others.records {
            if self
                .records
                .get(&key)
                .is_none_or(|known| known.done < record.done)
            {
                self.records.insert(key, record);
            }
        }
        count
    }
}

/// The version of what is written; another is refused.
const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct File {
    longview_board: u32,
    records: BTreeMap<String, Written>,
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
                Data::Copy { losses } => {
                    // A thousandth of a nat is far below the error.
                    let short = |loss: f64| (loss * 1e4).round() / 1e4;
                    written.w = Some(losses.iter().map(|losses| losses.map(short)).collect());
                }
                Data::Speed { samples } => written.s = Some(samples.iter().copied().map(rounded).collect()),
            }
            (key.clone(), written)
        });
        serde_json::to_string(&File {
            longview_board: VERSION,
            records: records.collect(),
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
                Written { w: Some(losses), .. } => Data::Copy { losses },
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
    use super::*;

    fn record(done: usize, data: Data) -> Record {
        Record {
            done,
            model: "m".into(),
            text: Some("t".into()),
            data,
        }
    }

    fn speed(length: usize) -> Task {
        Task {
            variant: "alibi".into(),
            kind: Kind::Speed { length },
        }
    }

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
        let other = json.replace("\"longview_board\":1", "\"longview_board\":99");
        assert!(Results::from_json(&other).unwrap_err().contains("version 99"));
        // Only what is further replaces.
        let mut behind = Results::default();
        behind.entry(&speed(2), || record(5, Data::Speed { samples: vec![9.0] }));
        assert_eq!(behind.restore(results), 4);
        assert_eq!((behind.len(), behind.get(&speed(2)).unwrap().done), (4, 5));
    }

    #[test]
    fn times_are_medians_without_the_first() {
        let mut results = Results::default();
        let samples = vec![99.0, 3.0, 1.0, 2.0, 5.0, 4.0];
        results.entry(&speed(8), || record(6, Data::Speed { samples }));
        let time = results.time(&speed(8)).unwrap();
        assert_eq!((time.value, time.error), (3.0, Some(1.0)));
        results.entry(&speed(9), || record(1, Data::Speed { samples: vec![1.0] }));
        assert_eq!(results.time(&speed(9)), None);
    }

    #[test]
    fn paired_losses_are_means_of_windows() {
        let task = Task {
            variant: "alibi".into(),
            kind: Kind::Paired {
                text: "t".into(),
                length: 32,
                base: 16,
                tokens: 64,
            },
        };
        let mut data = Data::new(&task, 65);
        let nll = |first: f32, second: f32| [vec![first; 16], vec![second; 16]].concat();
        data.add(&task, 64, &[], &[nll(2.0, 1.0), nll(2.0, 2.0)], 0.0);
        data.add(&task, 64, &[], &[nll(2.0, 2.0), nll(2.0, 2.0)], 0.0);
        let mut results = Results::default();
        results.entry(&task, || record(2, data));
        let cells = results.cells(&task);
        assert_eq!(
            cells[0],
            Some(Estimate {
                value: 0.0,
                error: Some(0.0)
            })
        );
        assert_eq!(
            cells[1],
            Some(Estimate {
                value: -0.5,
                error: Some(0.5)
            })
        );
    }
}
