use super::super::finding::{Cell, Finding, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::Estimate;
use super::super::task::Task;
use super::{ALIBI_PAPER, Claim, Options, Source, TRAINED, losses, paper, perplexity, ratio};

/// The paper's 1.3 B models beside ours, as its own: at twice and four times the trained length ALiBi holds
/// and sinusoidal does not.
pub struct Scale;

/// As multiples of L.
const TIMES: [usize; 3] = [1, 2, 4];

impl Scale {
    fn tasks_of(options: &Options, encoding: &str) -> [Task; 3] {
        TIMES.map(|times| losses(encoding, options, times * TRAINED))
    }

    /// The rule: the tiny models show the same where at 4 L ALiBi is within 5 % of its perplexity at L and
    /// sinusoidal is half as high again at least; partly where only one is so.
    fn verdict(sinusoidal: Estimate, alibi: Estimate) -> Verdict {
        match (sinusoidal.value >= 1.5, alibi.value <= 1.05) {
            (true, true) => Verdict::Holds,
            (false, false) => Verdict::Differs,
            _ => Verdict::Partly,
        }
    }
}

impl Claim for Scale {
    fn id(&self) -> &'static str {
        "scale"
    }

    fn number(&self) -> u8 {
        12
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "§4.2, Figure 6, Table 12",
        }
    }

    fn paper(&self) -> Table {
        let mut table = Table::new(&["model", "at_trained", "at_twice", "at_four_times", "ratio_far"]);
        for (encoding, values) in paper::LARGE {
            let mut row = vec![(*encoding).into()];
            row.extend(values.map(Into::into));
            row.push((values[2] / values[0]).into());
            table.rows.push(row);
        }
        table
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        let encodings = paper::LARGE.iter();
        encodings
            .flat_map(|(encoding, _)| Self::tasks_of(options, encoding))
            .collect()
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let mut table = Table::new(&["model", "at_trained", "at_twice", "at_four_times", "ratio_far"]);
        let mut ratios = Vec::new();
        for (encoding, _) in paper::LARGE {
            let tasks = Self::tasks_of(options, encoding);
            let far = ratio(results, &tasks[2], &tasks[0]);
            let mut row = vec![(*encoding).into()];
            row.extend(tasks.iter().map(|task| Cell::from(perplexity(results, task))));
            row.push(far.into());
            table.rows.push(row);
            ratios.extend(far);
        }
        let mut finding = Finding::unmeasured(table);
        if let [sinusoidal, alibi] = ratios[..] {
            finding.parts.estimate("sinusoidal", sinusoidal);
            finding.parts.estimate("alibi", alibi);
            for (encoding, values) in paper::LARGE {
                let name = if *encoding == "alibi" {
                    "paper_alibi"
                } else {
                    "paper_sinusoidal"
                };
                finding.parts.number(name, values[2] / values[0]);
            }
            finding.verdict = Self::verdict(sinusoidal, alibi);
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        let verdict = |sinusoidal, alibi| Scale::verdict(Estimate::exact(sinusoidal), Estimate::exact(alibi));
        assert_eq!(verdict(2.1, 0.99), Verdict::Holds);
        assert_eq!(verdict(1.1, 0.99), Verdict::Partly);
        assert_eq!(verdict(1.1, 1.3), Verdict::Differs);
    }
}
