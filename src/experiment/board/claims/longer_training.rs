use super::super::finding::{Finding, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::Estimate;
use super::super::task::Task;
use super::{ALIBI_PAPER, Claim, Options, Source, TRAINED, losses, paper, perplexity, ratio};

/// ALiBi trained on L against ALiBi trained on 2 L, both evaluated at 2 L: the longer-trained is better.
pub struct LongerTraining;

/// Trained on half the length, trained on the length, the length.
const PAIRS: [(&str, &str, usize); 2] = [("alibi-l64", "alibi", 128), ("alibi", "alibi-l256", 256)];

impl LongerTraining {
    fn pair((short, long, length): (&str, &str, usize), options: &Options) -> [Task; 2] {
        [losses(short, options, length), losses(long, options, length)]
    }

    /// The rule: the claim holds where the longer-trained is better at every length, by twice the standard
    /// error of the paired difference; it differs where at any length it is worse by as much, and by more
    /// than two seeds of one model differ.
    fn verdict(ratios: &[Estimate], noise: f64) -> Verdict {
        if ratios
            .iter()
            .any(|ratio| ratio.is_below(1.0) && ratio.value < 1.0 - noise)
        {
            Verdict::Differs
        } else if ratios.iter().all(|ratio| ratio.is_above(1.0)) {
            Verdict::Holds
        } else {
            Verdict::Partly
        }
    }
}

impl Claim for LongerTraining {
    fn id(&self) -> &'static str {
        "longer_training"
    }

    fn number(&self) -> u8 {
        6
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "§4.1, Figure 4, Table 5",
        }
    }

    fn paper(&self) -> Table {
        let mut table = Table::new(&["length", "trained_on_half", "trained_on_whole"]);
        let rows = paper::LONGER_TRAINING.iter();
        table.rows.extend(rows.map(|row| row.map(Into::into).to_vec()));
        table
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        let mut tasks: Vec<Task> = PAIRS.iter().flat_map(|&pair| Self::pair(pair, options)).collect();
        tasks.push(losses("alibi-s2", options, TRAINED));
        tasks
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let mut table = Table::new(&["length", "trained_on_half", "trained_on_whole", "ratio"]);
        let mut ratios = Vec::new();
        let mut finding = Finding::unmeasured(Table::default());
        for (pair, name) in PAIRS.into_iter().zip(["first", "second"]) {
            let [short, long] = Self::pair(pair, options);
            let ratio = ratio(results, &short, &long);
            table.rows.push(vec![
                pair.2.into(),
                perplexity(results, &short).into(),
                perplexity(results, &long).into(),
                ratio.into(),
            ]);
            if let Some(ratio) = ratio {
                finding.parts.estimate(name, ratio);
            }
            ratios.extend(ratio);
        }
        finding.table = table;
        let [seed, other] = ["alibi", "alibi-s2"].map(|variant| losses(variant, options, TRAINED));
        // Without the second seed nobody knows what noise is.
        let seeds = super::ratio(results, &other, &seed);
        if let (Some(seeds), true) = (seeds, ratios.len() == PAIRS.len()) {
            let noise = (seeds.value - 1.0).abs();
            finding.parts.text("noise", format!("{:.1}", 100.0 * noise));
            finding.verdict = Self::verdict(&ratios, noise);
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        let ratio = |value| Estimate {
            value,
            error: Some(0.004),
        };
        assert_eq!(
            LongerTraining::verdict(&[ratio(1.03), ratio(1.02)], 0.0),
            Verdict::Holds
        );
        assert_eq!(
            LongerTraining::verdict(&[ratio(1.03), ratio(1.001)], 0.0),
            Verdict::Partly
        );
        assert_eq!(
            LongerTraining::verdict(&[ratio(1.03), ratio(0.97)], 0.0),
            Verdict::Differs
        );
        let within_seeds = LongerTraining::verdict(&[ratio(1.03), ratio(0.97)], 0.033);
        assert_eq!(within_seeds, Verdict::Partly);
    }
}
