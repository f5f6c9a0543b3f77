use super::super::finding::{Cell, Finding, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::LEAVES;
use super::super::task::Task;
use super::{
    ALIBI_PAPER, Claim, ENCODINGS, Options, Source, TRAINED, defined_at, lengths, losses_on, perplexity,
    ratio,
};

/// On another text the same encodings hold, and the same do not.
pub struct OtherText;

const LENGTHS: &[usize] = &[TRAINED, 4 * TRAINED, 16 * TRAINED];
const LENGTHS_QUICK: &[usize] = &[TRAINED, 4 * TRAINED];

impl OtherText {
    /// The text that is held out, one by another hand, and the reader's own.
    fn texts(options: &Options) -> Vec<&'static str> {
        let own = options.own.then_some("own");
        ["persuasion", "hamlet"].into_iter().chain(own).collect()
    }

    fn tasks_of(options: &Options, text: &str, encoding: &str) -> Vec<Task> {
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK).iter();
        lengths
            .map(|&length| losses_on(defined_at(encoding, length), text, options, length))
            .collect()
    }

    /// Whether an encoding leaves its perplexity at L by 5 % at 4 L.
    fn leaves(options: &Options, results: &Results, text: &str, encoding: &str) -> Option<bool> {
        let tasks = Self::tasks_of(options, text, encoding);
        Some(ratio(results, &tasks[1], &tasks[0])?.value > LEAVES)
    }

    /// The rule: the claim holds where on every text the same encodings leave their perplexity at L by 5 % at
    /// 4 L as on the first, partly where all but one in six do.
    fn verdict(same: usize, all: usize) -> Verdict {
        match all - same {
            0 => Verdict::Holds,
            others if 6 * others <= all => Verdict::Partly,
            _ => Verdict::Differs,
        }
    }
}

impl Claim for OtherText {
    fn id(&self) -> &'static str {
        "other_text"
    }

    fn number(&self) -> u8 {
        11
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "§4.1, Appendix A.3",
        }
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        let texts = Self::texts(options);
        let of_text = |text: &&'static str| {
            let text = *text;
            ENCODINGS
                .iter()
                .flat_map(move |encoding| Self::tasks_of(options, text, encoding))
        };
        texts.iter().flat_map(of_text).collect()
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK);
        let mut table = Table::new(&["text", "model"]);
        table
            .columns
            .extend(lengths.iter().map(|length| format!("T = {length}")));
        table.columns.push("board.columns.ratio_far".into());
        let texts = Self::texts(options);
        let (mut same, mut all) = (0, 0);
        for text in &texts {
            for encoding in ENCODINGS {
                let tasks = Self::tasks_of(options, text, encoding);
                let mut row = vec![
                    Cell::Word {
                        word: format!("texts.{text}"),
                    },
                    encoding.into(),
                ];
                row.extend(tasks.iter().map(|task| Cell::from(perplexity(results, task))));
                row.push(ratio(results, &tasks[tasks.len() - 1], &tasks[0]).into());
                table.rows.push(row);
                let leaves = |text| Self::leaves(options, results, text, encoding);
                if *text != texts[0]
                    && let (Some(first), Some(other)) = (leaves(texts[0]), leaves(text))
                {
                    all += 1;
                    same += usize::from(first == other);
                }
            }
        }
        let mut finding = Finding::unmeasured(table);
        if all > 0 {
            finding.parts.text("same", same.to_string());
            finding.parts.text("all", all.to_string());
            let tasks = Self::tasks_of(options, "hamlet", "alibi");
            match ratio(results, &tasks[1], &tasks[0]) {
                Some(ratio) => finding.parts.estimate("alibi", ratio),
                None => finding.parts.text("alibi", "–"),
            }
        }
        if all >= ENCODINGS.len() {
            finding.verdict = Self::verdict(same, all);
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        assert_eq!(OtherText::verdict(6, 6), Verdict::Holds);
        assert_eq!(OtherText::verdict(5, 6), Verdict::Partly);
        assert_eq!(OtherText::verdict(4, 6), Verdict::Differs);
        assert_eq!(OtherText::verdict(10, 12), Verdict::Partly);
    }

    #[test]
    fn the_readers_text_is_measured_where_there_is_one() {
        let on_own = |own| {
            let options = Options {
                own,
                ..Options::default()
            };
            OtherText
                .tasks(&options)
                .iter()
                .filter(|task| task.text() == Some("own"))
                .count()
        };
        assert_eq!((on_own(false), on_own(true)), (0, 18));
    }
}
