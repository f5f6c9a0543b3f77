use super::super::finding::{Finding, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::Estimate;
use super::super::task::Task;
use super::{
    ALIBI_FIRST, ALIBI_PAPER, Claim, ENCODINGS, Options, Source, TRAINED, lengths, losses, ratio, row,
};

/// Hiding everything older than W tokens changes nothing for W ≥ about L: what must be so where the paper's
/// surmise holds that past L ALiBi uses no context longer than L. The paper itself hides nothing.
pub struct Masking;

const WINDOWS: &[usize] = &[16, 32, 64, 128, 256];
const WINDOWS_QUICK: &[usize] = &[32, 128, 256];
/// The length of evaluation.
const LENGTH: usize = 4 * TRAINED;

impl Masking {
    /// Windows from the narrowest on, and last without one.
    fn tasks_of(options: &Options, encoding: &str) -> Vec<Task> {
        // Past its end a learned table repeats its last row.
        let past = if encoding == "learned" { "past=last" } else { "" };
        let windows = lengths(options, WINDOWS, WINDOWS_QUICK).iter();
        let changes = windows
            .map(|window| format!("window={window}"))
            .chain([String::new()]);
        changes
            .map(|change| {
                let changes: Vec<&str> = [change.as_str(), past]
                    .into_iter()
                    .filter(|c| !c.is_empty())
                    .collect();
                let mark = if changes.is_empty() { "" } else { "?" };
                losses(format!("{encoding}{mark}{}", changes.join("&")), options, LENGTH)
            })
            .collect()
    }

    /// The rule: of ALiBi the largest change that a window of L or more makes. The claim holds where it is at
    /// most 1 %, partly where at most 3 %.
    fn verdict(largest: f64) -> Verdict {
        match largest {
            change if change <= 0.01 => Verdict::Holds,
            change if change <= 0.03 => Verdict::Partly,
            _ => Verdict::Differs,
        }
    }
}

impl Claim for Masking {
    fn id(&self) -> &'static str {
        "masking"
    }

    fn number(&self) -> u8 {
        8
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "Appendix B.2",
        }
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        ALIBI_FIRST
            .iter()
            .flat_map(|encoding| Self::tasks_of(options, encoding))
            .collect()
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let windows = lengths(options, WINDOWS, WINDOWS_QUICK);
        let mut table = Table::new(&["model"]);
        table
            .columns
            .extend(windows.iter().map(|window| format!("W = {window}")));
        table.columns.push("board.columns.unmasked".into());
        for encoding in ENCODINGS {
            table
                .rows
                .push(row(encoding, results, &Self::tasks_of(options, encoding)));
        }
        let mut finding = Finding::unmeasured(table);
        let change = |encoding: &str, window: usize| -> Option<Estimate> {
            let tasks = Self::tasks_of(options, encoding);
            let masked = windows.iter().position(|of| *of == window)?;
            ratio(results, tasks.get(masked)?, tasks.last()?)
        };
        let alibi: Vec<Estimate> = windows
            .iter()
            .filter(|window| **window >= TRAINED)
            .filter_map(|window| change("alibi", *window))
            .collect();
        let Some(largest) = alibi
            .iter()
            .max_by(|a, b| (a.value - 1.0).abs().total_cmp(&(b.value - 1.0).abs()))
        else {
            return finding;
        };
        finding.parts.estimate("ratio", *largest);
        finding.parts.text("length", LENGTH.to_string());
        for (name, encoding, window) in [("rotary", "rotary", 128), ("sinusoidal", "sinusoidal", 128)] {
            match change(encoding, window) {
                Some(ratio) => finding.parts.estimate(name, ratio),
                None => finding.parts.text(name, "–"),
            }
        }
        finding.verdict = Self::verdict((largest.value - 1.0).abs());
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        assert_eq!(Masking::verdict(0.004), Verdict::Holds);
        assert_eq!(Masking::verdict(0.02), Verdict::Partly);
        assert_eq!(Masking::verdict(0.2), Verdict::Differs);
    }

    #[test]
    fn windows_stand_before_what_is_past_the_end() {
        let tasks = Masking::tasks_of(&Options::default(), "learned");
        assert_eq!(tasks[0].variant, "learned?window=16&past=last");
        assert_eq!(tasks.last().unwrap().variant, "learned?past=last");
        assert_eq!(
            Masking::tasks_of(&Options::default(), "alibi")
                .last()
                .unwrap()
                .variant,
            "alibi"
        );
    }
}
