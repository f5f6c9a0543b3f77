use super::super::finding::{Cell, Finding, Picture, Verdict};
use super::super::results::Results;
use super::super::statistics::Estimate;
use super::super::task::Task;
use super::{
    Claim, Options, Source, TRAINED, curve, length_columns, lengths, losses, perplexity, ratio, row, series,
};

/// A trained rotary model is brought back past L at inference, without training.
pub struct Rescue;

/// The changes, and their names in the words. Where no factor is given it is T/L, and then dynamic NTK is
/// NTK-aware at every length: it has a row with the factor 2, which models of Hugging Face are often given. The betas of by-parts and YaRN fit the short L (a pair that
/// turns 32 times within 128 tokens does not exist).
const METHODS: &[(&str, &str)] = &[
    ("", "none"),
    ("?scaling=pi", "pi"),
    ("?scaling=ntk", "ntk"),
    ("?scaling=dynamic_ntk&factor=2", "dynamic_ntk"),
    ("?scaling=by_parts&beta_fast=8&beta_slow=0.5", "by_parts"),
    ("?scaling=yarn&beta_fast=8&beta_slow=0.5", "yarn"),
    ("?scaling=llama3", "llama3"),
    ("?log_n=1", "log_n"),
    ("?window=64", "window"),
    ("?window=64&sinks=4", "sinks"),
    ("?rerope=64", "rerope"),
    ("?self_extend=64,8", "self_extend"),
];
const LENGTHS: &[usize] = &[TRAINED, 2 * TRAINED, 4 * TRAINED, 8 * TRAINED];
const LENGTHS_QUICK: &[usize] = &[TRAINED, 4 * TRAINED];
/// Where the rule looks.
const COMPARED: usize = 4 * TRAINED;

impl Rescue {
    fn tasks_of(options: &Options, change: &str) -> Vec<Task> {
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK).iter();
        lengths
            // At L the plain model is what is to be come back to; the changes are measured past it.
            .filter(|length| change.is_empty() || **length > TRAINED)
            .map(|&length| losses(format!("rotary{change}"), options, length))
            .collect()
    }

    /// The rule: the best method's perplexity at 4 L over that of the plain model at L. The claim holds where
    /// it is at most 10 % higher; partly where the best method takes away half of the plain model's rise.
    fn verdict(best: f64, plain: f64) -> Verdict {
        if best <= 1.1 {
            Verdict::Holds
        } else if best - 1.0 <= (plain - 1.0) / 2.0 {
            Verdict::Partly
        } else {
            Verdict::Differs
        }
    }
}

impl Claim for Rescue {
    fn id(&self) -> &'static str {
        "rescue"
    }

    fn number(&self) -> u8 {
        15
    }

    fn source(&self) -> Source {
        Source {
            url: "https://arxiv.org/abs/2309.00071",
            place: "§3",
        }
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        METHODS
            .iter()
            .flat_map(|(change, _)| Self::tasks_of(options, change))
            .collect()
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let mut table = length_columns(&["method"], lengths(options, LENGTHS, LENGTHS_QUICK));
        let at_trained = losses("rotary", options, TRAINED);
        let far = |change: &str| -> Option<Estimate> {
            let task = losses(format!("rotary{change}"), options, COMPARED);
            ratio(results, &task, &at_trained)
        };
        let (mut drawn, mut best): (Vec<_>, Option<(&str, Estimate)>) = (Vec::new(), None);
        for (change, name) in METHODS {
            let tasks = Self::tasks_of(options, change);
            let word = format!("board.words.{name}");
            let mut cells = row(Cell::Word { word }, results, &tasks);
            if !change.is_empty() {
                cells.insert(1, Cell::Empty);
            }
            table.rows.push(cells);
            let curve = curve(results, &tasks);
            if !curve.is_empty() {
                drawn.push(series(&format!("rotary{change}"), &curve));
            }
            if let Some(ratio) = far(change).filter(|_| !change.is_empty())
                && best.is_none_or(|(_, best)| ratio.value < best.value)
            {
                best = Some((name, ratio));
            }
        }
        let mut finding = Finding::unmeasured(table);
        finding.picture = (!drawn.is_empty()).then_some(Picture::Perplexity { series: drawn });
        if let (Some((name, best)), Some(plain), Some(at)) = (best, far(""), perplexity(results, &at_trained))
        {
            finding.parts.word("method", name);
            finding.parts.estimate("best", best);
            finding.parts.estimate("plain", plain);
            finding.parts.estimate("at", at);
            finding.parts.text("length", COMPARED.to_string());
            finding.verdict = Self::verdict(best.value, plain.value);
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        assert_eq!(Rescue::verdict(1.05, 2.2), Verdict::Holds);
        assert_eq!(Rescue::verdict(1.5, 2.2), Verdict::Partly);
        assert_eq!(Rescue::verdict(1.9, 2.2), Verdict::Differs);
    }
}
