use super::statistics::{Estimate, Losses};
use super::task::{Kind, PAIRED_CELL, SPEED_SAMPLES, Task};
use crate::engine::Output;
use crate::experiment::{CopyScore, Step};
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
        /// What each head gives to the token that is copied, `[layers][heads]`, summed over `captured` windows.
        heads: Vec<f64>,
        captured: usize,
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
    pub(super) records: BTreeMap<String, Record>,
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
            Kind::Copy { .. } => Self::Copy {
                losses: Vec::new(),
                heads: Vec::new(),
                captured: 0,
            },
            Kind::Speed { .. } => Self::Speed { samples: Vec::new() },
        }
    }

    /// Takes what a step's forwards gave, losses `[windows][length]`, and the time that it took.
    pub fn add(&mut self, task: &Task, scored: usize, steps: &[Step], outputs: &[Output], elapsed_ms: f64) {
        let nll: Vec<&[f32]> = outputs.iter().map(|output| &output.nll[..]).collect();
        match self {
            Self::Losses { losses, contexts } => {
                for (step, nll) in steps.iter().zip(nll) {
                    for (place, position, loss) in step.scored(nll) {
                        let loss = f64::from(loss);
                        losses.add(place, scored, loss);
                        // At position 0 a prediction has one token of context, itself.
                        let octave = (position + 1).ilog2() as usize;
                        if contexts.len() <= octave {
                            contexts.resize(octave + 1, (0.0, 0));
                        }
                        contexts[octave].0 += loss;
                        contexts[octave].1 += 1;
                    }
                }
            }
            Self::Paired { cells } => {
                let [long, short] = nll[..] else { return };
                let pairs = long.chunks(PAIRED_CELL).zip(short.chunks(PAIRED_CELL));
                for ((sum, squares, count), (long, short)) in cells.iter_mut().zip(pairs) {
                    let differences = long.iter().zip(short).map(|(a, b)| f64::from(a - b));
                    let mean = differences.sum::<f64>() / long.len() as f64;
                    *sum += mean;
                    *squares += mean * mean;
                    *count += 1;
                }
            }
            Self::Copy {
                losses,
                heads,
                captured,
            } => {
                let (Some(mut probe), [repeated, control]) = (task.probe(), &nll[..]) else {
                    return;
                };
                probe.resume(std::mem::take(losses));
                probe.add(repeated, control);
                *losses = probe.losses().to_vec();
                let attention = outputs.first().and_then(|output| output.thumbnails.as_ref());
                if let Some(given) = attention.and_then(|all| probe.attention_on_copied(all)) {
                    heads.resize(given.len(), 0.0);
                    for (sum, given) in heads.iter_mut().zip(given) {
                        *sum += f64::from(given);
                    }
                    *captured += 1;
                }
            }
            Self::Speed { samples } => {
                let tokens: usize = steps.iter().map(Step::tokens).sum();
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

    /// Says whether there was any.
    pub fn remove(&mut self, task: &Task) -> bool {
        self.records.remove(&task.key()).is_some()
    }

    /// Keeps what `is_kept` says of a key and its record.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&str, &Record) -> bool) {
        self.records.retain(|key, record| is_kept(key, record));
    }

    /// Those of some keys.
    pub fn of(&self, keys: &[String]) -> Self {
        let records = keys
            .iter()
            .filter_map(|key| Some((key.clone(), self.records.get(key)?.clone())));
        Self {
            records: records.collect(),
        }
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
        let Data::Copy { losses, .. } = &self.get(task)?.data else {
            return None;
        };
        let mut probe = task.probe()?;
        probe.resume(losses.clone());
        probe.score()
    }

    /// What each head gives to the token that is to be copied, `[layers][heads]`; `None` where it was not
    /// captured.
    pub fn attention_on_copied(&self, task: &Task) -> Option<Vec<f64>> {
        match &self.get(task)?.data {
            Data::Copy { heads, captured, .. } if *captured > 0 => {
                Some(heads.iter().map(|sum| sum / *captured as f64).collect())
            }
            _ => None,
        }
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

    /// Takes over records that are not there, or not as far.
    pub fn restore(&mut self, others: Self) {
        for (key, record) in others.records {
            if self
                .records
                .get(&key)
                .is_none_or(|known| known.done < record.done)
            {
                self.records.insert(key, record);
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::engine::Thumbnails;

    pub fn record(done: usize, data: Data) -> Record {
        Record {
            done,
            model: "m".into(),
            text: Some("t".into()),
            data,
        }
    }

    pub fn speed(length: usize) -> Task {
        Task {
            variant: "alibi".into(),
            kind: Kind::Speed {
                length,
                engine: "cpu".into(),
            },
        }
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
        let nll = |first: f32, second: f32| Output {
            nll: [vec![first; 16], vec![second; 16]].concat(),
            ..Output::default()
        };
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

    #[test]
    fn what_heads_give_to_the_copied_token_is_a_mean_over_windows() {
        let task = Task {
            variant: "alibi-copy".into(),
            kind: Kind::Copy {
                text: "t".into(),
                gap: 16,
                windows: 2,
            },
        };
        let side = task.length();
        assert_eq!(task.captures().thumbnails, Some(side));
        let mut data = Data::new(&task, 500);
        for share in [0.25, 0.75] {
            let mut cells = vec![0.0; side * side];
            // The place before a token of the second occurrence looks at the same token of the first.
            for query in 16..side {
                cells[query * side + query + 1 - 16] = share;
            }
            let repeated = Output {
                nll: vec![1.0; side],
                thumbnails: Some(Thumbnails {
                    layers: 1,
                    heads: 2,
                    side,
                    data: [vec![0.0; side * side], cells].concat(),
                }),
                ..Output::default()
            };
            let control = Output {
                nll: vec![1.0; side],
                ..Output::default()
            };
            data.add(&task, 2, &[], &[repeated, control], 0.0);
        }
        let mut results = Results::default();
        results.entry(&task, || record(2, data));
        assert_eq!(results.attention_on_copied(&task), Some(vec![0.0, 0.5]));
        let far = Task {
            kind: Kind::Copy {
                text: "t".into(),
                gap: 768,
                windows: 2,
            },
            ..task
        };
        // Pooled attention would not tell one token from its neighbours.
        assert_eq!(far.captures().thumbnails, None);
    }
}
