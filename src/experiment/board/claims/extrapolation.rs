use super::super::finding::{Cell, Finding, Picture, Table, Verdict, text_of};
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

/// How far past L a curve holds, in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reach {
    /// It leaves its best there.
    Until(Estimate),
    /// It does not, as far as was measured.
    Beyond(f64),
}

impl Reach {
    fn of(limit: &Limit) -> Self {
        match limit {
            Limit::At(at) => Self::Until(Estimate {
                value: at.value - TRAINED as f64,
                ..*at
            }),
            Limit::Beyond(longest) => Self::Beyond((longest - TRAINED) as f64),
        }
    }

    fn tokens(self) -> f64 {
        match self {
            Self::Until(at) => at.value,
            Self::Beyond(longest) => longest,
        }
    }

    /// As a multiple of L.
    fn times(self) -> f64 {
        self.tokens() / TRAINED as f64
    }

    /// The mean of seeds: a lower bound where one of them does not leave.
    fn mean(seeds: &[Self]) -> Option<Self> {
        let n = seeds.len() as f64;
        let value = seeds.iter().map(|seed| seed.tokens()).sum::<f64>() / n;
        let mut squares = Some(0.0);
        for seed in seeds {
            let Self::Until(at) = seed else {
                return Some(Self::Beyond(value));
            };
            squares = squares.zip(at.error).map(|(sum, error)| sum + error * error);
        }
        let error = squares.map(|squares| squares.sqrt() / n);
        (!seeds.is_empty()).then_some(Self::Until(Estimate { value, error }))
    }

    fn text(self) -> String {
        match self {
            Self::Until(at) => text_of(at),
            Self::Beyond(longest) => format!("> {longest:.0}"),
        }
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

    /// The rule, for the mean of the seeds. Of the paper's models that leave their best, the one that leaves
    /// first and the one that leaves last, as multiples of L: the claim holds between half of the first and
    /// twice the last, and partly where the curve leaves elsewhere. A model of the paper's that does not
    /// leave, as far as was measured, says nothing of where it would: then there is no upper end. Where none
    /// of them leaves (ALiBi) the curve must not leave here either, and partly holds past 2 L.
    fn verdict(&self, reach: Reach) -> Verdict {
        let paper = self.paper_times();
        let left = || {
            paper
                .iter()
                .filter(|(_, leaves)| *leaves)
                .map(|(times, _)| *times)
        };
        let is_open = paper.iter().any(|(_, leaves)| !leaves);
        let first = left().fold(f64::INFINITY, f64::min);
        let last = left().fold(0.0, f64::max);
        match reach {
            Reach::Beyond(_) if first.is_infinite() => Verdict::Holds,
            Reach::Until(_) if first.is_infinite() => match reach.times() > 1.0 {
                true => Verdict::Partly,
                false => Verdict::Differs,
            },
            Reach::Beyond(_) if is_open => Verdict::Partly,
            Reach::Beyond(_) => Verdict::Differs,
            Reach::Until(_) => match first / 2.0 <= reach.times() && (is_open || reach.times() <= 2.0 * last)
            {
                true => Verdict::Holds,
                false => Verdict::Partly,
            },
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
            place: "§2.2, Figure 1",
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

        let seeds = curves.map(|curve| limit(&curve, TRAINED).as_ref().map(Reach::of));
        let known: Vec<Reach> = seeds.into_iter().flatten().collect();
        let Some(mean) = Reach::mean(&known) else {
            return finding;
        };
        let parts = &mut finding.parts;
        parts.text("tokens", mean.text());
        let mark = if matches!(mean, Reach::Beyond(_)) {
            "> "
        } else {
            ""
        };
        parts.text("times", format!("{mark}{:.2}", mean.times()));
        for (name, seed) in ["first", "second"].into_iter().zip(seeds) {
            parts.text(name, seed.map_or("–".into(), Reach::text));
        }
        let longest = first.iter().rev().find(|task| results.losses(task).is_some());
        if let Some((task, ratio)) = longest.and_then(|task| Some((task, ratio(results, task, &at_trained)?)))
        {
            parts.text("longest", task.length().to_string());
            parts.text("longest_times", (task.length() / TRAINED).to_string());
            parts.estimate("rise", ratio);
        }
        let [short, long] = self.paper_times().map(|(times, leaves)| {
            let mark = if leaves { "" } else { "> " };
            format!("{mark}{times:.2}")
        });
        parts.text("paper", format!("{short} L, {long} L"));

        finding.verdict = self.verdict(mean);
        finding
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

    fn until(times: f64) -> Reach {
        Reach::Until(Estimate::exact(times * TRAINED as f64))
    }

    #[test]
    fn the_rule_goes_both_ways() {
        let never = Reach::Beyond(15.0 * TRAINED as f64);
        assert_eq!(SINUSOIDAL.verdict(until(0.15)), Verdict::Holds);
        assert_eq!(SINUSOIDAL.verdict(until(1.5)), Verdict::Partly);
        assert_eq!(SINUSOIDAL.verdict(never), Verdict::Differs);
        assert_eq!(ALIBI.verdict(never), Verdict::Holds);
        assert_eq!(ALIBI.verdict(until(3.0)), Verdict::Partly);
        assert_eq!(ALIBI.verdict(until(0.5)), Verdict::Differs);
        // The paper's one T5 model leaves at 2.7 L, the other not as far as it was measured, 1.95 L.
        assert_eq!(T5_BIAS.verdict(until(1.2)), Verdict::Partly);
        assert_eq!(T5_BIAS.verdict(until(1.5)), Verdict::Holds);
        assert_eq!(T5_BIAS.verdict(until(9.0)), Verdict::Holds);
        assert_eq!(T5_BIAS.verdict(never), Verdict::Partly);
    }

    #[test]
    fn a_seed_that_does_not_leave_makes_the_mean_a_lower_bound() {
        let at = |value, error| Reach::Until(Estimate { value, error });
        let both = [at(100.0, Some(3.0)), at(110.0, Some(4.0))];
        assert_eq!(Reach::mean(&both), Some(at(105.0, Some(2.5))));
        assert_eq!(Reach::mean(&[both[0], at(110.0, None)]), Some(at(105.0, None)));
        let open = Reach::mean(&[both[0], Reach::Beyond(1920.0)]);
        assert_eq!(open, Some(Reach::Beyond(1010.0)));
        assert_eq!(open.map(Reach::text), Some("> 1010".into()));
        assert_eq!(Reach::mean(&[]), None);
        // Neither does leave: so does not the mean.
        assert_eq!(
            Reach::mean(&[Reach::Beyond(1920.0); 2]),
            Some(Reach::Beyond(1920.0))
        );
    }
}
