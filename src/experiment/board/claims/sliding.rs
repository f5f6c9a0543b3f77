use super::super::finding::{Finding, Picture, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::Estimate;
use super::super::task::Task;
use super::{
    ALIBI_FIRST, ALIBI_PAPER, Claim, ENCODINGS, Options, STRIDE, Source, TRAINED, curve, length_columns,
    lengths, losses_sliding, paper, ratio, row, series,
};

/// With sliding windows, where every prediction has a long context, ALiBi gains nothing from T > L.
pub struct Sliding;

const LENGTHS: &[usize] = &[64, 128, 256, 512];
const LENGTHS_QUICK: &[usize] = &[64, 128, 256];

impl Sliding {
    fn tasks_of(options: &Options, encoding: &str) -> Vec<Task> {
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK).iter();
        lengths
            .map(|&length| losses_sliding(encoding, options, length))
            .collect()
    }

    /// The rule: the best perplexity past L over that at L. The claim holds where that gains at most 1 %,
    /// partly where at most 3 %.
    fn verdict(best: Estimate) -> Verdict {
        match 1.0 - best.value {
            gain if gain <= 0.01 => Verdict::Holds,
            gain if gain <= 0.03 => Verdict::Partly,
            _ => Verdict::Differs,
        }
    }
}

impl Claim for Sliding {
    fn id(&self) -> &'static str {
        "sliding"
    }

    fn number(&self) -> u8 {
        8
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "Appendix B.2, Figure 11",
        }
    }

    fn paper(&self) -> Table {
        let mut table = length_columns(&["model"], &paper::SLIDING_LENGTHS);
        for (encoding, values) in paper::SLIDING {
            let mut row = vec![(*encoding).into()];
            row.extend(values.map(Into::into));
            table.rows.push(row);
        }
        table
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        ALIBI_FIRST
            .iter()
            .flat_map(|encoding| Self::tasks_of(options, encoding))
            .collect()
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let mut table = length_columns(&["model"], lengths(options, LENGTHS, LENGTHS_QUICK));
        let mut drawn = Vec::new();
        for encoding in ENCODINGS {
            let tasks = Self::tasks_of(options, encoding);
            table.rows.push(row(encoding, results, &tasks));
            let curve = curve(results, &tasks);
            if !curve.is_empty() {
                drawn.push(series(encoding, &curve));
            }
        }
        let mut finding = Finding::unmeasured(table);
        finding.picture = (!drawn.is_empty()).then_some(Picture::Perplexity { series: drawn });
        let tasks = Self::tasks_of(options, "alibi");
        let Some(base) = tasks.iter().find(|task| task.length() == TRAINED) else {
            return finding;
        };
        let past = tasks.iter().filter(|task| task.length() > TRAINED);
        let ratios = past.filter_map(|task| Some((task.length(), ratio(results, task, base)?)));
        if let Some((length, best)) = ratios.min_by(|(_, a), (_, b)| a.value.total_cmp(&b.value)) {
            finding.parts.estimate("ratio", best);
            finding.parts.text("length", length.to_string());
            finding.parts.text("stride", STRIDE.to_string());
            finding.verdict = Self::verdict(best);
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        assert_eq!(Sliding::verdict(Estimate::exact(1.2)), Verdict::Holds);
        assert_eq!(Sliding::verdict(Estimate::exact(0.995)), Verdict::Holds);
        assert_eq!(Sliding::verdict(Estimate::exact(0.98)), Verdict::Partly);
        assert_eq!(Sliding::verdict(Estimate::exact(0.9)), Verdict::Differs);
    }
}
