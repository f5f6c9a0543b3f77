use super::super::estimate::{config_by_name, memory_bytes};
use super::super::finding::{Cell, Finding, Picture, SpeedSeries, Table, Verdict};
use super::super::results::Results;
use super::super::statistics::Estimate;
use super::super::task::{Kind, Task};
use super::{ALIBI_PAPER, Claim, Options, Source, lengths, paper};

/// Time a token and memory of each encoding at equal sizes.
pub struct Speed;

/// The encodings of the paper's table and, last, none. Past its end a learned table has nothing to time.
const TIMED: [&str; 5] = ["sinusoidal", "rotary", "t5_bias", "alibi", "none"];
const LENGTHS: &[usize] = &[128, 512, 2048];
const LENGTHS_QUICK: &[usize] = &[128, 512];
/// The length that the rule looks at: the paper's.
const COMPARED: usize = 512;

impl Speed {
    fn task(options: &Options, encoding: &str, length: usize) -> Task {
        let engine = options.engine.clone();
        Task {
            variant: encoding.into(),
            kind: Kind::Speed { length, engine },
        }
    }

    /// Time a token over that of sinusoidal, with the errors of both.
    fn ratio(options: &Options, results: &Results, encoding: &str, length: usize) -> Option<Estimate> {
        let time = |encoding| results.time(&Self::task(options, encoding, length));
        let (of, base) = (time(encoding)?, time("sinusoidal")?);
        let share = |estimate: Estimate| Some((estimate.error? / estimate.value).powi(2));
        let value = of.value / base.value;
        let error = share(of).zip(share(base)).map(|(a, b)| value * (a + b).sqrt());
        Some(Estimate { value, error })
    }

    /// The rule: the claim is that ALiBi is as fast as sinusoidal (at most a tenth slower) and that T5 bias
    /// is slower than ALiBi (by a fifth at least). It holds partly where only the first is so.
    fn verdict(alibi: f64, t5_bias: f64) -> Verdict {
        match (alibi <= 1.1, t5_bias >= 1.2 * alibi) {
            (true, true) => Verdict::Holds,
            (true, false) => Verdict::Partly,
            _ => Verdict::Differs,
        }
    }

    /// Megabytes of one window of a length.
    fn megabytes(encoding: &str, length: usize) -> Cell {
        let bytes = config_by_name(encoding).and_then(|config| memory_bytes(&config, 1, length));
        bytes.map_or(Cell::Empty, |bytes| Cell::Number(bytes as f64 / 1e6))
    }
}

impl Claim for Speed {
    fn id(&self) -> &'static str {
        "speed"
    }

    fn number(&self) -> u8 {
        10
    }

    fn source(&self) -> Source {
        Source {
            url: ALIBI_PAPER,
            place: "Figure 2, Table 1",
        }
    }

    fn paper(&self) -> Table {
        let mut table = Table::new(&[
            "model",
            "words_training",
            "words_evaluation",
            "memory_gb",
            "time_ratio",
        ]);
        let base = paper::SPEED[0].1[1];
        for (encoding, values) in paper::SPEED {
            let mut row = vec![(*encoding).into()];
            row.extend(values.map(Into::into));
            row.push((base / values[1]).into());
            table.rows.push(row);
        }
        table
    }

    fn tasks(&self, options: &Options) -> Vec<Task> {
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK).iter();
        lengths
            .flat_map(|&length| TIMED.map(|encoding| Self::task(options, encoding, length)))
            .collect()
    }

    fn finding(&self, options: &Options, results: &Results) -> Finding {
        let lengths = lengths(options, LENGTHS, LENGTHS_QUICK);
        let mut table = Table::new(&["model", "length", "microseconds", "time_ratio", "megabytes"]);
        for &length in lengths {
            for encoding in TIMED {
                let time = results
                    .time(&Self::task(options, encoding, length))
                    .map(|time| Estimate {
                        value: time.value * 1000.0,
                        error: time.error.map(|error| error * 1000.0),
                    });
                table.rows.push(vec![
                    encoding.into(),
                    length.into(),
                    time.into(),
                    Self::ratio(options, results, encoding, length).into(),
                    Self::megabytes(encoding, length),
                ]);
            }
        }
        let mut finding = Finding::unmeasured(table);
        let series = TIMED.map(|encoding| SpeedSeries {
            encoding: encoding.into(),
            ratios: lengths
                .iter()
                .map(|&length| Some(Self::ratio(options, results, encoding, length)?.value))
                .collect(),
        });
        if series
            .iter()
            .any(|series| series.ratios.iter().any(Option::is_some))
        {
            let base = paper::SPEED[0].1[1];
            finding.picture = Some(Picture::SpeedBars {
                lengths: lengths.to_vec(),
                series: series.to_vec(),
                paper: paper::SPEED
                    .iter()
                    .map(|(encoding, values)| ((*encoding).into(), base / values[1]))
                    .collect(),
            });
        }
        let at = |encoding| Self::ratio(options, results, encoding, COMPARED);
        if let (Some(alibi), Some(t5_bias), Some(rotary)) = (at("alibi"), at("t5_bias"), at("rotary")) {
            let ratios = [("alibi", alibi), ("t5_bias", t5_bias), ("rotary", rotary)];
            ratios
                .into_iter()
                .for_each(|(name, ratio)| finding.parts.estimate(name, ratio));
            finding.parts.text("length", COMPARED.to_string());
            let is_gpu = options.engine.starts_with("gpu");
            finding
                .parts
                .word("engine", if is_gpu { "engine_gpu" } else { "engine_cpu" });
            finding.verdict = Self::verdict(alibi.value, t5_bias.value);
        }
        finding
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_goes_both_ways() {
        assert_eq!(Speed::verdict(1.02, 3.0), Verdict::Holds);
        assert_eq!(Speed::verdict(1.02, 1.03), Verdict::Partly);
        assert_eq!(Speed::verdict(1.5, 3.0), Verdict::Differs);
    }

    #[test]
    fn memory_needs_no_measurement() {
        let finding = Speed.finding(&Options::default(), &Results::default());
        assert_eq!(finding.verdict, Verdict::Unmeasured);
        assert!(
            finding
                .table
                .rows
                .iter()
                .all(|row| matches!(row[4], Cell::Number(megabytes) if megabytes > 1.0))
        );
    }
}
