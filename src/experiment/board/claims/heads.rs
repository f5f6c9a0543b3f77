use super::super::finding::{Cell, Finding, Picture, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::Estimate;
use super::super::task::Task;
use super::{
    ALIBI_FIRST, ALIBI_PAPER, Claim, ENCODINGS, Options, Source, TRAINED, curve, defined_at, lengths, losses,
    on_first, perplexity, ratio, series,
};

/// Perplexity past L for 1, 2, 4 and 8 heads: more heads give ALiBi more slopes, hence more reaches.
pub struct Heads;

/// Predictions scored: the rule looks for differences of several per cent.
const TOKENS: usize = 8192;
/// Heads and the endings of the models' names.
const HEADS: [(usize, &str); 4] = [(1, "-h1"), (2, "-h2"), (4, ""), (8, "-h8")];
const LENGTHS: &[usize] = &[TRAINED, 4 * TRAINED, 16 * TRAINED];
const LENGTHS_QUICK: &[usize] = &[TRAINED, 4 * TRAINED];

impl Heads {
    fn tasks_of(options: &Options, encoding: &str, ending: &str) -> Vec<Task> {
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK).iter();
        lengths
            .map(|&length| {
                let variant = defined_at(encoding, length);
                let variant = variant.replacen(encoding, &format!("{encoding}{ending}"), 1);
                on_first(TOKENS, losses(variant, options, length))
            })
            .collect()
    }

    /// The rule, for ALiBi: what perplexity at the longest length is over that at L, by number of heads. The
    /// claim holds where no number of heads is worse than a smaller one by more than twice the errors of
    /// both, and eight are better than one; partly where only the latter is so.
    fn verdict(rises: &[Estimate]) -> Verdict {
        let error = |a: &Estimate, b: &Estimate| a.error.unwrap_or(0.0).hypot(b.error.unwrap_or(0.0));
        let (Some(fewest), Some(most)) = (rises.first(), rises.last()) else {
            return Verdict::Unmeasured;
        };
        let is_better = most.value < fewest.value - 2.0 * error(most, fewest);
        let is_ordered = rises
            .windows(2)
            .all(|pair| pair[1].value <= pair[0].value + 2.0 * error(&pair[0], &pair[1]));
        match (is_better, is_ordered) {
            (true, true) => Verdict::Holds,
            (true, false) => Verdict::Partly,
            _ => Verdict::Differs,
        }
    }
}

impl Claim for Heads {
    fn id(&self) -> &'static str {
        "heads"
    }

    fn number(&self) -> u8 {
        13
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "§3",
        }
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        let mut tasks = Vec::new();
        for encoding in ALIBI_FIRST {
            for (_, ending) in HEADS {
                tasks.extend(Self::tasks_of(options, encoding, ending));
            }
        }
        tasks
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let mut table = Table::new(&["model", "heads"]);
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK);
        table
            .columns
            .extend(lengths.iter().map(|length| format!("T = {length}")));
        table.columns.push("board.columns.ratio_far".into());
        let (mut drawn, mut rises) = (Vec::new(), Vec::new());
        for encoding in ENCODINGS {
            for (heads, ending) in HEADS {
                let tasks = Self::tasks_of(options, encoding, ending);
                let rise = ratio(results, &tasks[tasks.len() - 1], &tasks[0]);
                let mut row = vec![encoding.into(), heads.into()];
                row.extend(tasks.iter().map(|task| Cell::from(perplexity(results, task))));
                row.push(rise.into());
                table.rows.push(row);
                let curve = curve(results, &tasks);
                if encoding == "alibi" && !curve.is_empty() {
                    drawn.push(series(&format!("alibi{ending}"), &curve));
                    rises.extend(rise);
                }
            }
        }
        let mut finding = Finding::unmeasured(table);
        finding.picture = (!drawn.is_empty()).then_some(Picture::Perplexity { series: drawn });
        if let [one, two, four, eight] = rises[..] {
            for (name, rise) in [("one", one), ("two", two), ("four", four), ("eight", eight)] {
                finding.parts.estimate(name, rise);
            }
            finding
                .parts
                .text("length", lengths[lengths.len() - 1].to_string());
            finding.verdict = Self::verdict(&rises);
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        let rises = |values: [f64; 4]| {
            values.map(|value| Estimate {
                value,
                error: Some(0.01),
            })
        };
        assert_eq!(Heads::verdict(&rises([1.3, 1.2, 1.0, 1.01])), Verdict::Holds);
        assert_eq!(Heads::verdict(&rises([1.3, 1.5, 1.0, 1.01])), Verdict::Partly);
        assert_eq!(Heads::verdict(&rises([1.0, 1.0, 1.0, 1.0])), Verdict::Differs);
    }

    #[test]
    fn changes_stand_after_the_whole_name() {
        let tasks = Heads::tasks_of(&Options::default(), "learned", "-h8");
        assert_eq!(
            (&tasks[0].variant[..], &tasks[1].variant[..]),
            ("learned-h8", "learned-h8?past=last")
        );
    }
}
