use super::super::finding::{Finding, Picture, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::{Limit, limit};
use super::super::task::Task;
use super::extrapolation::{FINE, FINE_QUICK};
use super::{
    ALIBI_PAPER, Claim, Options, Source, TRAINED, curve, lengths, losses, perplexity, ratio, series,
};

/// Learned positions do not extrapolate, and a longer table does not help: its new rows were never trained.
pub struct Learned;

/// What stands past the end of the table.
const FILLINGS: [&str; 2] = ["learned?past=last", "learned?past=random"];

impl Learned {
    fn trained(options: &Options) -> Vec<Task> {
        let defined = lengths(options, FINE, FINE_QUICK)
            .iter()
            .filter(|length| **length <= TRAINED);
        defined
            .map(|&length| losses("learned", options, length))
            .collect()
    }

    /// Within L every filling is the trained table.
    fn filled(options: &Options, variant: &str) -> Vec<Task> {
        let past = lengths(options, FINE, FINE_QUICK)
            .iter()
            .filter(|length| **length > TRAINED);
        let mut tasks = Self::trained(options);
        tasks.extend(past.map(|&length| losses(variant, options, length)));
        tasks
    }

    /// The rule: the claim holds where both fillings leave the best by 5 % before 2 L, partly where one does.
    fn verdict(limits: [&Limit; 2]) -> Verdict {
        let leave = limits
            .iter()
            .filter(|limit| matches!(limit, Limit::At(at) if at.value <= 2.0 * TRAINED as f64))
            .count();
        match leave {
            2 => Verdict::Holds,
            1 => Verdict::Partly,
            _ => Verdict::Differs,
        }
    }
}

impl Claim for Learned {
    fn id(&self) -> &'static str {
        "learned"
    }

    fn number(&self) -> u8 {
        1
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "§2, footnote 4",
        }
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        let mut tasks = Self::trained(options);
        for variant in FILLINGS {
            let past = Self::filled(options, variant).into_iter();
            tasks.extend(past.filter(|task| task.length() > TRAINED));
        }
        tasks
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let at_trained = losses("learned", options, TRAINED);
        let filled = FILLINGS.map(|variant| Self::filled(options, variant));
        let mut table = Table::new(&["length", "last_row", "random_rows"]);
        for (last, random) in filled[0].iter().zip(&filled[1]) {
            let cells = [last, random].map(|task| perplexity(results, task).into());
            table
                .rows
                .push([vec![last.length().into()], cells.to_vec()].concat());
        }
        let curves = filled.each_ref().map(|tasks| curve(results, tasks));
        let mut finding = Finding::unmeasured(table);
        let drawn = FILLINGS
            .iter()
            .zip(&curves)
            .filter(|(_, curve)| !curve.is_empty());
        let series: Vec<_> = drawn.map(|(name, curve)| series(name, curve)).collect();
        finding.picture = (!series.is_empty()).then_some(Picture::Perplexity { series });
        let limits = curves.each_ref().map(|curve| limit(curve, TRAINED));
        let [Some(last), Some(random)] = &limits else {
            return finding;
        };
        for (name, limit) in [("last", last), ("random", random)] {
            match limit {
                Limit::At(at) => {
                    let mut past = *at;
                    past.value -= TRAINED as f64;
                    finding.parts.estimate(name, past);
                }
                Limit::Beyond(longest) => finding.parts.text(name, format!("> {}", longest - TRAINED)),
            }
        }
        for (name, tasks) in [("last_rise", &filled[0]), ("random_rise", &filled[1])] {
            let doubled = tasks.iter().find(|task| task.length() == 2 * TRAINED);
            match doubled.and_then(|task| ratio(results, task, &at_trained)) {
                Some(rise) => finding.parts.estimate(name, rise),
                None => finding.parts.text(name, "–"),
            }
        }
        finding.verdict = Self::verdict([last, random]);
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::statistics::Estimate;
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        let at = |length| Limit::At(Estimate::exact(length));
        assert_eq!(Learned::verdict([&at(140.0), &at(150.0)]), Verdict::Holds);
        assert_eq!(
            Learned::verdict([&at(140.0), &Limit::Beyond(2048)]),
            Verdict::Partly
        );
        assert_eq!(
            Learned::verdict([&at(900.0), &Limit::Beyond(2048)]),
            Verdict::Differs
        );
    }

    #[test]
    fn the_trained_table_is_measured_once() {
        let tasks = Learned.tasks(&Options::default());
        let plain = tasks.iter().filter(|task| task.variant == "learned").count();
        assert_eq!(plain, FINE.iter().filter(|length| **length <= TRAINED).count());
        assert_eq!(tasks.len(), plain + 2 * (FINE.len() - plain));
    }
}
