use super::super::finding::{Cell, Table};
use super::super::finding::{Finding, Picture, Verdict};
use super::super::results::Results;
use super::super::statistics::LEAVES;
use super::super::task::Task;
use super::{Claim, Options, Source, TRAINED, curve, length_columns, lengths, losses, ratio, row, series};

/// Encodings that came after ALiBi, trained by the same recipe: which of them hold past L.
pub struct Newcomers;

/// Those that are compared: two of the base models first.
const MODELS: [&str; 8] = [
    "rotary",
    "alibi",
    "none",
    "alibi-trained",
    "kerple",
    "sandwich",
    "xpos",
    "randomized",
];
/// Those that were made to extrapolate.
const CLAIMED: [&str; 4] = ["kerple", "sandwich", "xpos", "randomized"];
const LENGTHS: &[usize] = &[TRAINED, 2 * TRAINED, 4 * TRAINED, 16 * TRAINED];
const LENGTHS_QUICK: &[usize] = &[TRAINED, 4 * TRAINED];
/// Where the rule looks.
const COMPARED: usize = 4 * TRAINED;

impl Newcomers {
    fn tasks_of(options: &Options, model: &str) -> Vec<Task> {
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK).iter();
        lengths.map(|&length| losses(model, options, length)).collect()
    }

    /// The rule: how many of those that were made to extrapolate are at 4 L within 5 % of their perplexity at
    /// L. The claim holds where all are, partly where some are.
    fn verdict(hold: usize, all: usize) -> Verdict {
        match hold {
            0 => Verdict::Differs,
            hold if hold == all => Verdict::Holds,
            _ => Verdict::Partly,
        }
    }
}

impl Claim for Newcomers {
    fn id(&self) -> &'static str {
        "newcomers"
    }

    fn number(&self) -> u8 {
        15
    }

    fn source(&self) -> Source {
        Source {
            url: "https://arxiv.org/abs/2205.09921",
            place: "§5",
        }
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        MODELS
            .iter()
            .flat_map(|model| Self::tasks_of(options, model))
            .collect()
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let mut table: Table = length_columns(&["model"], lengths(options, LENGTHS, LENGTHS_QUICK));
        table.columns.push("board.columns.ratio_far".into());
        let (mut drawn, mut hold, mut all) = (Vec::new(), 0, 0);
        for model in MODELS {
            let tasks = Self::tasks_of(options, model);
            let mut cells = row(model, results, &tasks);
            cells.push(Cell::from(ratio(results, &tasks[tasks.len() - 1], &tasks[0])));
            table.rows.push(cells);
            let curve = curve(results, &tasks);
            if !curve.is_empty() {
                drawn.push(series(model, &curve));
            }
            let rise = ratio(results, &losses(model, options, COMPARED), &tasks[0]);
            if let Some(rise) = rise.filter(|_| CLAIMED.contains(&model)) {
                all += 1;
                hold += usize::from(rise.value <= LEAVES);
            }
        }
        let mut finding = Finding::unmeasured(table);
        finding.picture = (!drawn.is_empty()).then_some(Picture::Perplexity { series: drawn });
        if all > 0 {
            finding.parts.text("hold", hold.to_string());
            finding.parts.text("all", all.to_string());
            finding.parts.text("length", COMPARED.to_string());
            // The rule speaks of all four.
            if all == CLAIMED.len() {
                finding.verdict = Self::verdict(hold, all);
            }
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        assert_eq!(Newcomers::verdict(4, 4), Verdict::Holds);
        assert_eq!(Newcomers::verdict(1, 4), Verdict::Partly);
        assert_eq!(Newcomers::verdict(0, 4), Verdict::Differs);
    }
}
