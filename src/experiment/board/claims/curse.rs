use super::super::finding::{Cell, Finding, Picture, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::Estimate;
use super::super::task::{Kind, PAIRED_CELL, Task};
use super::{ALIBI_PAPER, Claim, Options, Source, TRAINED, losses, losses_sliding, scored};
use crate::experiment::{Plan, Protocol, Step};

/// The early token curse: the first predictions of a window have little context, longer windows have fewer of
/// them, and that is what ALiBi gains past L.
pub struct Curse;

/// Tokens of context that count as little here.
const LITTLE: usize = 16;
/// Predictions whose mean loss is told, at least.
const COUNT_MIN: usize = 256;

/// The share of predictions with at most `context` tokens of context, in windows of `length`.
pub fn share(protocol: Protocol, length: usize, scored: usize, context: usize) -> f64 {
    let Ok(plan) = Plan::whole(length, scored, protocol) else {
        return 0.0;
    };
    // Predictions before the scored part of a window have less context than those in it.
    let of_window = |step: &Step| {
        context
            .min(step.window)
            .saturating_sub(step.window - step.counted)
    };
    let starved: usize = plan.steps().map(|step| step.windows * of_window(&step)).sum();
    starved as f64 / scored as f64
}

impl Curse {
    fn longest(options: &Options) -> usize {
        if options.quick { 4 * TRAINED } else { 8 * TRAINED }
    }

    fn paired(options: &Options) -> Task {
        Task {
            variant: "alibi".into(),
            kind: Kind::Paired {
                text: options.text.clone(),
                length: Self::longest(options),
                base: TRAINED,
                tokens: 2 * scored(options),
            },
        }
    }

    /// Losses by context: windows of L and 2 L that do not overlap, and that slide.
    fn by_context(options: &Options) -> [Task; 4] {
        let [short, long] = [TRAINED, 2 * TRAINED];
        [
            losses("alibi", options, short),
            losses("alibi", options, long),
            losses_sliding("alibi", options, short),
            losses_sliding("alibi", options, long),
        ]
    }

    /// The mean of cells, with its error.
    fn mean(cells: &[Estimate]) -> Option<Estimate> {
        let n = cells.len() as f64;
        let squares: Option<f64> = cells.iter().map(|cell| Some(cell.error?.powi(2))).sum();
        (!cells.is_empty()).then(|| Estimate {
            value: cells.iter().map(|cell| cell.value).sum::<f64>() / n,
            error: squares.map(|squares| squares.sqrt() / n),
        })
    }

    /// Of the paired losses by cell: just after each multiple of L, and everywhere else past the first L.
    fn near_and_far(cells: &[Option<Estimate>]) -> Option<(Estimate, Estimate)> {
        let past = TRAINED / PAIRED_CELL;
        let mut parts = [Vec::new(), Vec::new()];
        for (place, cell) in cells.iter().enumerate().skip(past) {
            parts[usize::from(!place.is_multiple_of(past))].extend(*cell);
        }
        Some((Self::mean(&parts[0])?, Self::mean(&parts[1])?))
    }

    /// The rule: the claim holds where the gain just after the multiples of L is above twice its error, and
    /// what is gained elsewhere is at most a fifth of it; partly where it is more.
    fn verdict(near: Estimate, far: Estimate) -> Verdict {
        if !near.is_below(0.0) {
            Verdict::Differs
        } else if far.value.abs() <= near.value.abs() / 5.0 {
            Verdict::Holds
        } else {
            Verdict::Partly
        }
    }
}

impl Claim for Curse {
    fn id(&self) -> &'static str {
        "curse"
    }

    fn number(&self) -> u8 {
        7
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "Appendix B.2",
        }
    }

    fn paper(&self) -> Table {
        let mut table = Table::new(&["length", "little_context", "share"]);
        for length in [1000, 2000] {
            let share = share(Protocol::NonOverlapping, length, 2000, 100);
            table.rows.push(vec![length.into(), 100.into(), share.into()]);
        }
        table
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        let mut tasks = vec![Self::paired(options)];
        tasks.extend(Self::by_context(options));
        tasks
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        // The columns go with `by_context`.
        let mut table = Table::new(&[
            "context",
            "loss_at_trained",
            "loss_at_twice",
            "sliding_at_trained",
            "sliding_at_twice",
        ]);
        let measured = Self::by_context(options).map(|task| results.by_context(&task));
        for octave in 0..=(2 * TRAINED).ilog2() {
            let least = 1 << octave;
            let cell = |of: &Vec<(usize, f64, usize)>| {
                // Sliding windows have few predictions of little context: their mean would be noise.
                let mut enough = of.iter().filter(|(.., count)| *count >= COUNT_MIN);
                let found = enough.find(|(context, ..)| *context == least);
                found.map_or(Cell::Empty, |(_, mean, _)| (*mean).into())
            };
            let last = 2 * least - 1;
            let context = if least == last {
                format!("{least}")
            } else {
                format!("{least}–{last}")
            };
            let mut row = vec![Cell::Text(context)];
            row.extend(measured.iter().map(cell));
            // Contexts that few predictions had say nothing.
            if row[1..].iter().any(|cell| *cell != Cell::Empty) {
                table.rows.push(row);
            }
        }
        let mut finding = Finding::unmeasured(table);
        let length = Self::longest(options);
        let cells = results.cells(&Self::paired(options));
        if cells.is_empty() {
            return finding;
        }
        finding.picture = Some(Picture::paired("alibi", length, TRAINED, &cells));
        let parts = &mut finding.parts;
        for (name, length) in [
            ("share", TRAINED),
            ("share_twice", 2 * TRAINED),
            ("share_longest", length),
        ] {
            let share = share(Protocol::NonOverlapping, length, 16 * length, LITTLE);
            parts.text(name, format!("{:.1}", 100.0 * share));
        }
        parts.text("little", LITTLE.to_string());
        parts.text("length", length.to_string());
        if let Some((near, far)) = Self::near_and_far(&cells).filter(|(near, _)| near.error.is_some()) {
            parts.estimate("near", near);
            parts.estimate("far", far);
            finding.verdict = Self::verdict(near, far);
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_those_of_the_papers_appendix() {
        let share = |protocol, length| share(protocol, length, 10_000, 100);
        assert!((share(Protocol::NonOverlapping, 1000) - 0.10).abs() < 1e-12);
        assert!((share(Protocol::NonOverlapping, 2000) - 0.05).abs() < 1e-12);
        // Sliding, only the first window has predictions of little context.
        assert!((share(Protocol::Sliding { stride: 10 }, 1000) - 0.01).abs() < 1e-12);
    }

    #[test]
    fn the_rule_goes_both_ways() {
        let estimate = |value, error| Estimate {
            value,
            error: Some(error),
        };
        assert_eq!(
            Curse::verdict(estimate(-0.1, 0.01), estimate(-0.005, 0.004)),
            Verdict::Holds
        );
        assert_eq!(
            Curse::verdict(estimate(-0.1, 0.01), estimate(-0.06, 0.004)),
            Verdict::Partly
        );
        assert_eq!(
            Curse::verdict(estimate(-0.1, 0.06), estimate(0.0, 0.004)),
            Verdict::Differs
        );
    }

    #[test]
    fn only_cells_after_multiples_of_the_trained_length_are_near() {
        let cells: Vec<Option<Estimate>> = (0..24)
            .map(|cell| {
                let value = if cell % 8 == 0 { -1.0 } else { 0.5 };
                Some(Estimate {
                    value,
                    error: Some(1.0),
                })
            })
            .collect();
        let (near, far) = Curse::near_and_far(&cells).unwrap();
        assert_eq!((near.value, far.value), (-1.0, 0.5));
        assert!((near.error.unwrap() - 0.5_f64.sqrt()).abs() < 1e-12);
    }
}
