use super::super::finding::{Cell, Finding, Parts, Picture, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::{Estimate, Limit, leaves_at, limit};
use super::super::task::Task;
use super::{
    ALIBI_PAPER, Claim, Options, Source, TRAINED, curve, lengths, losses, paper, perplexity, ratio, series,
};

/// How far an encoding holds past its trained length: where perplexity leaves its best by 5 %, in tokens past
/// L and as a multiple of L, beside the paper's models by the same rule; by two seeds.
pub struct Extrapolation {
    encoding: &'static str,
    number: u8,
    /// Lengths that are measured: powers of two, and where the curve is expected to leave more of them.
    lengths: &'static [usize],
    quick: &'static [usize],
}

/// Where a curve leaves soon after L.
pub const FINE: &[usize] = &[
    16, 32, 64, 128, 136, 144, 152, 160, 176, 192, 224, 256, 320, 384, 512, 1024, 2048,
];
pub const FINE_QUICK: &[usize] = &[32, 128, 144, 160, 192, 256, 512];
/// Where it leaves late or never.
const COARSE: &[usize] = &[
    16, 32, 64, 128, 192, 256, 320, 384, 448, 512, 640, 768, 1024, 2048,
];
const COARSE_QUICK: &[usize] = &[32, 128, 256, 384, 512];

pub const SINUSOIDAL: Extrapolation = Extrapolation {
    encoding: "sinusoidal",
    number: 2,
    lengths: FINE,
    quick: FINE_QUICK,
};
pub const ROTARY: Extrapolation = Extrapolation {
    encoding: "rotary",
    number: 3,
    lengths: FINE,
    quick: FINE_QUICK,
};
pub const T5_BIAS: Extrapolation = Extrapolation {
    encoding: "t5_bias",
    number: 4,
    lengths: COARSE,
    quick: COARSE_QUICK,
};
pub const ALIBI: Extrapolation = Extrapolation {
    encoding: "alibi",
    number: 5,
    lengths: &[16, 32, 64, 128, 256, 512, 1024, 2048],
    quick: &[32, 128, 256, 512],
};

/// How far past L a curve leaves its best, as a multiple of L.
fn past(limit: &Limit) -> Option<Estimate> {
    match limit {
        Limit::At(at) => Some(Estimate {
            value: (at.value - TRAINED as f64) / TRAINED as f64,
            error: at.error.map(|error| error / TRAINED as f64),
        }),
        Limit::Beyond(_) => None,
    }
}

impl Extrapolation {
    fn seed(&self, options: &Options, ending: &str) -> Vec<Task> {
        let variant = format!("{}{ending}", self.encoding);
        let lengths = lengths(options, self.lengths, self.quick).iter();
        lengths
            .map(|&length| losses(variant.clone(), options, length))
            .collect()
    }

    /// How far past L the paper's models leave their best, as multiples of L: those trained on 512 and on
    /// 1024 tokens. One that does not leave counts with its longest length, and is marked so.
    fn paper_times(&self) -> [(f64, bool); 2] {
        [(paper::TRAINED_512, 512.0), (paper::TRAINED_1024, 1024.0)].map(|(rows, trained)| {
            let column = paper::column(self.encoding);
            let measured = rows.iter().filter(|row| row[column].is_finite());
            let points: Vec<(usize, f64)> = measured.map(|row| (row[0] as usize, row[column])).collect();
            let longest = points.last().map_or(trained, |(length, _)| *length as f64);
            match leaves_at(&points, trained as usize) {
                Some(at) => ((at - trained) / trained, true),
                None => ((longest - trained) / trained, false),
            }
        })
    }

    /// The rule. An encoding that leaves its best in the paper: the claim holds where the multiple of L lies
    /// between half of the paper's smaller and twice its larger one, and holds partly where the curve leaves
    /// elsewhere. One that never leaves there (ALiBi) must not leave here, and partly holds past 2 L.
    fn verdict(&self, times: Option<f64>) -> Verdict {
        let paper = self.paper_times();
        let never = paper.iter().all(|(_, leaves)| !leaves);
        match times {
            None if never => Verdict::Holds,
            None => Verdict::Differs,
            Some(times) if never && times > 1.0 => Verdict::Partly,
            Some(_) if never => Verdict::Differs,
            Some(times) => {
                let low = paper[0].0.min(paper[1].0) / 2.0;
                let high = paper[0].0.max(paper[1].0) * 2.0;
                if (low..=high).contains(&times) {
                    Verdict::Holds
                } else {
                    Verdict::Partly
                }
            }
        }
    }
}

impl Claim for Extrapolation {
    fn id(&self) -> &'static str {
        self.encoding
    }

    fn number(&self) -> u8 {
        self.number
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "Figure 1",
        }
    }

    fn paper(&self) -> Table {
        let mut table = Table::new(&["trained_length", "length", "perplexity"]);
        let column = paper::column(self.encoding);
        for (rows, trained) in [(paper::TRAINED_512, 512), (paper::TRAINED_1024, 1024)] {
            table.rows.extend(rows.iter().map(|row| {
                let value = row[column];
                let value = if value.is_finite() {
                    value.into()
                } else {
                    Cell::Empty
                };
                vec![trained.into(), row[0].into(), value]
            }));
        }
        table
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        [self.seed(options, ""), self.seed(options, "-s2")].concat()
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let (first, second) = (self.seed(options, ""), self.seed(options, "-s2"));
        let at_trained = losses(self.encoding, options, TRAINED);
        let mut table = Table::new(&["length", "perplexity", "second_seed", "times_at_trained"]);
        for (task, other) in first.iter().zip(&second) {
            table.rows.push(vec![
                task.length().into(),
                perplexity(results, task).into(),
                perplexity(results, other).into(),
                ratio(results, task, &at_trained).into(),
            ]);
        }
        let curves = [curve(results, &first), curve(results, &second)];
        let mut finding = Finding::unmeasured(table);
        let names = [self.encoding.to_string(), format!("{}-s2", self.encoding)];
        let drawn = names.iter().zip(&curves).filter(|(_, curve)| !curve.is_empty());
        let series: Vec<_> = drawn.map(|(name, curve)| series(name, curve)).collect();
        finding.picture = (!series.is_empty()).then_some(Picture::Perplexity { series });

        let Some(found) = limit(&curves[0], TRAINED) else {
            return finding;
        };
        let other = limit(&curves[1], TRAINED);
        let parts = &mut finding.parts;
        self.tell(parts, "", &found);
        match &other {
            Some(other) => self.tell(parts, "other_", other),
            None => ["other_tokens", "other_times"]
                .into_iter()
                .for_each(|name| parts.text(name, "–")),
        }
        let longest = first.iter().rev().find(|task| results.losses(task).is_some());
        if let Some((task, ratio)) = longest.and_then(|task| Some((task, ratio(results, task, &at_trained)?)))
        {
            parts.text("longest", task.length().to_string());
            parts.number("longest_times", task.length() as f64 / TRAINED as f64);
            parts.estimate("rise", ratio);
        }
        let [short, long] = self.paper_times().map(|(times, leaves)| {
            let mark = if leaves { "" } else { "> " };
            format!("{mark}{times:.2}")
        });
        parts.text("paper", format!("{short} L, {long} L"));

        // Of two seeds that both leave, the mean decides; where only one does, that one.
        let times: Vec<f64> = [Some(&found), other.as_ref()]
            .into_iter()
            .flatten()
            .filter_map(past)
            .map(|times| times.value)
            .collect();
        let mean = (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64);
        finding.verdict = self.verdict(mean);
        finding
    }
}

impl Extrapolation {
    /// `tokens` past L and `times` L, each with its error; `> …` where the curve did not leave.
    fn tell(&self, parts: &mut Parts, prefix: &str, limit: &Limit) {
        let (tokens, times) = if prefix.is_empty() {
            ("tokens", "times")
        } else {
            ("other_tokens", "other_times")
        };
        match (limit, past(limit)) {
            (Limit::At(at), Some(past)) => {
                let value = at.value - TRAINED as f64;
                parts.estimate(
                    tokens,
                    Estimate {
                        value,
                        error: at.error,
                    },
                );
                parts.text(times, format!("{:.2}", past.value));
            }
            (Limit::Beyond(longest), _) => {
                parts.text(tokens, format!("> {}", longest - TRAINED));
                parts.text(
                    times,
                    format!("> {:.0}", (longest - TRAINED) as f64 / TRAINED as f64),
                );
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_own_limits_are_those_of_its_tables() {
        // Sinusoidal trained on 512: 5 % above 19.91 is crossed between 562 and 712 tokens.
        let [(short, _), (long, _)] = SINUSOIDAL.paper_times();
        let at = 562.0 + 150.0 * (19.91 * 1.05 - 19.91) / (24.86 - 19.91);
        assert!((short - (at - 512.0) / 512.0).abs() < 1e-9);
        assert!((0.1..0.2).contains(&long));
        assert!(
            ROTARY
                .paper_times()
                .iter()
                .all(|(times, leaves)| *leaves && (0.2..0.8).contains(times))
        );
        assert_eq!(T5_BIAS.paper_times().map(|(_, leaves)| leaves), [true, false]);
        assert!(
            ALIBI
                .paper_times()
                .iter()
                .all(|(times, leaves)| !leaves && *times > 14.0)
        );
    }

    #[test]
    fn the_rule_goes_both_ways() {
        assert_eq!(SINUSOIDAL.verdict(Some(0.15)), Verdict::Holds);
        assert_eq!(SINUSOIDAL.verdict(Some(1.5)), Verdict::Partly);
        assert_eq!(SINUSOIDAL.verdict(None), Verdict::Differs);
        assert_eq!(ALIBI.verdict(None), Verdict::Holds);
        assert_eq!(ALIBI.verdict(Some(3.0)), Verdict::Partly);
        assert_eq!(ALIBI.verdict(Some(0.5)), Verdict::Differs);
    }
}
