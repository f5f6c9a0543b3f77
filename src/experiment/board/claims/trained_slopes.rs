use super::super::finding::{Finding, Picture, Table, Verdict};
use super::super::results::Results;
use super::super::task::Task;
use super::{
    ALIBI_PAPER, Claim, Options, Source, TRAINED, curve, lengths, losses, perplexity, ratio, series,
};

/// Trained slopes are no better than the fixed ones.
pub struct TrainedSlopes;

const LENGTHS: &[usize] = &[128, 256, 512, 1024, 2048];
const LENGTHS_QUICK: &[usize] = &[128, 256, 512];
/// Where the rule looks past L.
const PAST: usize = 4 * TRAINED;

impl TrainedSlopes {
    fn tasks_of(options: &Options, variant: &str) -> Vec<Task> {
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK).iter();
        lengths.map(|&length| losses(variant, options, length)).collect()
    }

    /// The rule: trained slopes must not be better than fixed ones by more than two seeds of fixed slopes
    /// differ, or than 1 % where they differ by less, neither at L nor at 4 L; partly at one of the two.
    fn verdict(gains: [f64; 2], noise: f64) -> Verdict {
        let allowed = noise.max(0.01);
        match gains.iter().filter(|gain| **gain > allowed).count() {
            0 => Verdict::Holds,
            1 => Verdict::Partly,
            _ => Verdict::Differs,
        }
    }
}

impl Claim for TrainedSlopes {
    fn id(&self) -> &'static str {
        "trained_slopes"
    }

    fn number(&self) -> u8 {
        9
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "§3",
        }
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        ["alibi", "alibi-trained", "alibi-s2"]
            .iter()
            .flat_map(|variant| Self::tasks_of(options, variant))
            .collect()
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let [fixed, trained, other] =
            ["alibi", "alibi-trained", "alibi-s2"].map(|variant| Self::tasks_of(options, variant));
        let mut table = Table::new(&["length", "fixed", "trained", "ratio", "second_seed"]);
        for ((fixed, trained), other) in fixed.iter().zip(&trained).zip(&other) {
            table.rows.push(vec![
                fixed.length().into(),
                perplexity(results, fixed).into(),
                perplexity(results, trained).into(),
                ratio(results, trained, fixed).into(),
                perplexity(results, other).into(),
            ]);
        }
        let mut finding = Finding::unmeasured(table);
        let curves = [("alibi", &fixed), ("alibi-trained", &trained)];
        let curves = curves.map(|(name, tasks)| (name, curve(results, tasks)));
        let drawn = curves.iter().filter(|(_, curve)| !curve.is_empty());
        let drawn: Vec<_> = drawn.map(|(name, curve)| series(name, curve)).collect();
        finding.picture = (!drawn.is_empty()).then_some(Picture::Perplexity { series: drawn });
        let at = |tasks: &[Task], length| {
            let pair = |tasks: &[Task]| tasks.iter().find(|task| task.length() == length).cloned();
            ratio(results, &pair(tasks)?, &pair(&fixed)?)
        };
        let noise = |length| Some((at(&other, length)?.value - 1.0).abs());
        // Without the second seed nobody knows what noise is.
        let noise = noise(TRAINED).zip(noise(PAST));
        if let (Some(first), Some(past), Some(noise)) = (at(&trained, TRAINED), at(&trained, PAST), noise) {
            let noise = noise.0.max(noise.1);
            finding.parts.estimate("at", first);
            finding.parts.estimate("past", past);
            finding.parts.text("noise", format!("{:.1}", 100.0 * noise));
            finding.verdict = Self::verdict([1.0 - first.value, 1.0 - past.value], noise);
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        assert_eq!(TrainedSlopes::verdict([-0.1, 0.005], 0.0), Verdict::Holds);
        assert_eq!(TrainedSlopes::verdict([0.02, 0.02], 0.03), Verdict::Holds);
        assert_eq!(TrainedSlopes::verdict([0.005, 0.05], 0.0), Verdict::Partly);
        assert_eq!(TrainedSlopes::verdict([0.05, 0.05], 0.02), Verdict::Differs);
    }
}
