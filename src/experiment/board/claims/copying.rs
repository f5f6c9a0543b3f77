use super::super::estimate::encoding_of;
use super::super::finding::{Cell, CopyCurve, CopyPoint, Finding, Picture, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::Estimate;
use super::super::task::{Kind, Task};
use super::{
    ALIBI_FIRST, ALIBI_PAPER, Claim, ENCODINGS, Options, Source, TRAINED, defined_at, lengths, losses,
    on_first, ratio,
};

/// What a flat curve hides: models that were taught to copy, and how much of it is left when the passage lies
/// farther back, beside their perplexity.
pub struct Copying;

const GAPS: &[usize] = &[16, 64, 112, 160, 256, 512];
const GAPS_QUICK: &[usize] = &[16, 64, 512];
/// Those that the second seed is probed at, for the noise.
const SECOND: &[usize] = &[NEAR, FAR];
/// The gaps that the rule compares: within L, and at 4 L.
const NEAR: usize = 64;
const FAR: usize = 4 * TRAINED;
/// Predictions scored for perplexity: within 5 % is what the rule looks for, and the error is 0.5 %.
const TOKENS: usize = 4096;
/// Heads of the models that were taught to copy.
const HEADS: usize = 4;
const LENGTHS: &[usize] = &[TRAINED, 2 * TRAINED, 4 * TRAINED, 8 * TRAINED];
const LENGTHS_QUICK: &[usize] = &[TRAINED, 4 * TRAINED];

impl Copying {
    fn variant(encoding: &str, ending: &str, length: usize) -> String {
        let variant = defined_at(encoding, length);
        variant.replacen(encoding, &format!("{encoding}-copy{ending}"), 1)
    }

    fn probes(options: &Options, encoding: &str, ending: &str) -> Vec<Task> {
        let gaps = lengths(options, GAPS, GAPS_QUICK).iter();
        let probed = gaps.filter(|gap| ending.is_empty() || SECOND.contains(*gap));
        probed
            .map(|&gap| Task {
                // The probe's window reaches a little beyond the gap; with 24 windows a score of −2.4 has an
                // error of 0.1, and the rule asks whether it halves.
                variant: Self::variant(encoding, ending, gap + 16),
                kind: Kind::Copy {
                    text: options.text.clone(),
                    gap,
                    windows: if options.quick { 16 } else { 32 },
                },
            })
            .collect()
    }

    fn curve(options: &Options, encoding: &str) -> Vec<Task> {
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK).iter();
        lengths
            .map(|&length| {
                let variant = Self::variant(encoding, "", length);
                on_first(TOKENS, losses(variant, options, length))
            })
            .collect()
    }

    /// The rule, for ALiBi: its perplexity at the longest length within 5 % of that at L; and it copies at 64
    /// tokens (its score is below 0 by twice its error), but at a gap of 4 L its score is at most half of
    /// that. The claim holds where both are so, partly where one.
    fn verdict(rise: f64, near: Estimate, far: f64) -> Verdict {
        let copies = near.value < -2.0 * near.error.unwrap_or(0.0);
        match (rise <= 1.05, copies && far > near.value / 2.0) {
            (true, true) => Verdict::Holds,
            (false, false) => Verdict::Differs,
            _ => Verdict::Partly,
        }
    }
}

/// A head that never gives more than this to the copied token is left out of the table.
const LEAST_SHARE: f64 = 0.05;

/// Heads by what they give to the token that is to be copied, at each gap of the probes.
fn heads(options: &Options, results: &Results) -> Option<Table> {
    let mut table = Table::new(&["model", "layer", "head"]);
    let gaps = lengths(options, GAPS, GAPS_QUICK);
    gap_columns(&mut table, gaps);
    for encoding in ENCODINGS {
        let probes = Copying::probes(options, encoding, "");
        let given = |gap: &usize| results.attention_on_copied(of_gap(&probes, *gap)?);
        let by_gap: Vec<Option<Vec<f64>>> = gaps.iter().map(given).collect();
        let count = by_gap.iter().flatten().map(Vec::len).max().unwrap_or(0);
        for place in 0..count {
            let share = |heads: &Option<Vec<f64>>| heads.as_ref()?.get(place).copied();
            let shares: Vec<Option<f64>> = by_gap.iter().map(share).collect();
            if !shares.iter().flatten().any(|&share| share >= LEAST_SHARE) {
                continue;
            }
            let name = format!("{encoding}-copy");
            let mut row: Vec<Cell> = vec![name.as_str().into()];
            row.extend([place / HEADS, place % HEADS].map(Cell::from));
            row.extend(
                shares
                    .into_iter()
                    .map(|share| share.map_or(Cell::Empty, Cell::from)),
            );
            table.rows.push(row);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// The probe at a gap.
fn of_gap(probes: &[Task], gap: usize) -> Option<&Task> {
    let is_at = |task: &&Task| matches!(task.kind, Kind::Copy { gap: of, .. } if of == gap);
    probes.iter().find(is_at)
}

/// The columns of the gaps.
fn gap_columns(table: &mut Table, gaps: &[usize]) {
    table.columns.extend(gaps.iter().map(|gap| format!("→ {gap}")));
}

impl Claim for Copying {
    fn id(&self) -> &'static str {
        "copying"
    }

    fn number(&self) -> u8 {
        14
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "Appendix B.2",
        }
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        let mut tasks = Vec::new();
        for encoding in ALIBI_FIRST {
            tasks.extend(Self::probes(options, encoding, ""));
            tasks.extend(Self::curve(options, encoding));
        }
        for encoding in ALIBI_FIRST {
            tasks.extend(Self::probes(options, encoding, "-s2"));
        }
        tasks
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let mut table = Table::new(&["model"]);
        gap_columns(&mut table, lengths(options, GAPS, GAPS_QUICK));
        let spans = lengths(options, LENGTHS, LENGTHS_QUICK);
        table
            .columns
            .extend(spans.iter().map(|length| format!("T = {length}")));
        let mut drawn = Vec::new();
        for ending in ["", "-s2"] {
            for encoding in ENCODINGS {
                let name = format!("{encoding}-copy{ending}");
                let mut row: Vec<Cell> = vec![name.as_str().into()];
                let mut points = Vec::new();
                let probes = Self::probes(options, encoding, ending);
                for gap in lengths(options, GAPS, GAPS_QUICK) {
                    let score = of_gap(&probes, *gap).and_then(|task| results.copy(task));
                    row.push(score.map_or(Cell::Empty, |score| {
                        Cell::Estimate(Estimate {
                            value: score.score,
                            error: Some(score.standard_error),
                        })
                    }));
                    points.extend(score.map(|score| CopyPoint {
                        gap: score.gap,
                        score: score.score,
                        standard_error: score.standard_error,
                    }));
                }
                // The second seed shows the noise of the scores only.
                let curve = Self::curve(options, encoding);
                let shown = |task| Cell::from(results.losses(task).and_then(|losses| losses.perplexity()));
                row.extend(curve.iter().map(|task| {
                    if ending.is_empty() {
                        shown(task)
                    } else {
                        Cell::Empty
                    }
                }));
                table.rows.push(row);
                if !points.is_empty() {
                    drawn.push(CopyCurve {
                        encoding: encoding_of(&name).into(),
                        name,
                        points,
                    });
                }
            }
        }
        let mut finding = Finding::unmeasured(table);
        finding.heads = heads(options, results);
        finding.picture = (!drawn.is_empty()).then_some(Picture::CopyScore { series: drawn });
        let probes = Self::probes(options, "alibi", "");
        let at = |gap| results.copy(of_gap(&probes, gap)?);
        let curve = Self::curve(options, "alibi");
        let rise = ratio(results, &curve[curve.len() - 1], &curve[0]);
        if let (Some(near), Some(far), Some(rise)) = (at(NEAR), at(FAR), rise) {
            let [near, far] = [near, far].map(|score| Estimate {
                value: score.score,
                error: Some(score.standard_error),
            });
            finding.parts.estimate("near", near);
            finding.parts.estimate("far", far);
            finding.parts.text("near_gap", NEAR.to_string());
            finding.parts.text("far_gap", FAR.to_string());
            finding.parts.text("length", spans[spans.len() - 1].to_string());
            finding.parts.estimate("rise", rise);
            finding.verdict = Self::verdict(rise.value, near, far.value);
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        let near = |value| Estimate {
            value,
            error: Some(0.1),
        };
        assert_eq!(Copying::verdict(0.99, near(-2.3), -0.3), Verdict::Holds);
        assert_eq!(Copying::verdict(0.99, near(-2.3), -2.0), Verdict::Partly);
        assert_eq!(Copying::verdict(1.3, near(-2.3), -0.3), Verdict::Partly);
        assert_eq!(Copying::verdict(1.3, near(-2.3), -2.0), Verdict::Differs);
        // What does not copy does not fade.
        assert_eq!(Copying::verdict(0.99, near(-0.1), 0.0), Verdict::Partly);
    }

    #[test]
    fn models_are_named_as_their_files() {
        assert_eq!(Copying::variant("t5_bias", "-s2", 512), "t5_bias-copy-s2");
        assert_eq!(Copying::variant("learned", "", 512), "learned-copy?past=last");
    }
}
