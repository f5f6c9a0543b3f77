use super::statistics::Estimate;
use super::task::PAIRED_CELL;
use serde::{Serialize, Serializer};

/// What the numbers say of a claim, by the claim's own rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    Holds,
    Partly,
    Differs,
    /// What the rule needs is not measured yet.
    Unmeasured,
}

/// One cell of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    Empty,
    Number(f64),
    Estimate(Estimate),
    /// The name of a model or a variant, or what needs no translation.
    Text(String),
    /// A path in the files of words.
    Word {
        word: String,
    },
}

impl From<Option<Estimate>> for Cell {
    fn from(estimate: Option<Estimate>) -> Self {
        estimate.map_or(Self::Empty, Self::Estimate)
    }
}

impl From<usize> for Cell {
    fn from(number: usize) -> Self {
        Self::Number(number as f64)
    }
}

impl From<f64> for Cell {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

/// A small table.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Table {
    /// Paths in the files of words.
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// `columns` are names in the group `board.columns`.
    pub fn new(columns: &[&str]) -> Self {
        Self {
            columns: columns
                .iter()
                .map(|name| format!("board.columns.{name}"))
                .collect(),
            rows: Vec::new(),
        }
    }
}

/// Part of a sentence.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Part {
    Text(String),
    /// A path in the files of words.
    Word {
        word: String,
    },
}

/// The parts of a sentence, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts(Vec<(&'static str, Part)>);

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl Parts {
    fn insert(&mut self, name: &'static str, part: Part) {
        self.0.retain(|(known, _)| *known != name);
        self.0.push((name, part));
    }

    pub fn number(&mut self, name: &'static str, value: f64) {
        self.insert(name, Part::Text(number(value)));
    }

    pub fn estimate(&mut self, name: &'static str, estimate: Estimate) {
        self.insert(name, Part::Text(text_of(estimate)));
    }

    pub fn text(&mut self, name: &'static str, text: impl Into<String>) {
        self.insert(name, Part::Text(text.into()));
    }

    /// `word` is a name in the group `board.words`.
    pub fn word(&mut self, name: &'static str, word: &str) {
        let word = format!("board.words.{word}");
        self.insert(name, Part::Word { word });
    }

    pub fn get(&self, name: &str) -> Option<&Part> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        found.map(|(_, part)| part)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Part)> {
        self.0.iter().map(|(name, part)| (*name, part))
    }
}

/// Three significant digits, four from 1000 on; no exponent.
pub fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    format!("{value:.digits$}")
}

/// A number and, where it is known, its error: as many digits as the error warrants, and one more where the
/// number would else have fewer than three.
pub fn text_of(estimate: Estimate) -> String {
    let Some(error) = estimate.error.filter(|error| *error > 0.0 && error.is_finite()) else {
        return number(estimate.value);
    };
    // Two digits of an error that begins with 1 or 2, else one.
    let tens = error.log10().floor();
    let is_low = error / 10.0_f64.powf(tens) < 2.95;
    let warranted = i32::from(is_low) - tens as i32;
    let three = 2 - estimate.value.abs().max(f64::MIN_POSITIVE).log10().floor() as i32;
    let digits = three.clamp(warranted, warranted + 1).clamp(0, 6) as usize;
    format!("{:.digits$} ± {error:.digits$}", estimate.value)
}

/// A point of a curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CurvePoint {
    pub length: usize,
    pub perplexity: f64,
    pub standard_error: Option<f64>,
    pub tokens: usize,
}

/// A curve of perplexity by length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// The variant.
    pub name: String,
    pub encoding: String,
    pub points: Vec<CurvePoint>,
}

/// Times of an encoding over those of the first one, by length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SpeedSeries {
    pub encoding: String,
    /// By length; `None` where it is not measured.
    pub ratios: Vec<Option<f64>>,
}

/// A copy score by gap.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopyPoint {
    pub gap: usize,
    pub score: f64,
    pub standard_error: f64,
}

/// The copy scores of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopyCurve {
    pub name: String,
    pub encoding: String,
    pub points: Vec<CopyPoint>,
}

/// What a figure draws of a finding.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Picture {
    Perplexity {
        series: Vec<Series>,
    },
    PairedLoss {
        encoding: String,
        length: usize,
        base: usize,
        /// Positions of a cell.
        cell: usize,
        /// By cell, in nats.
        values: Vec<f64>,
        errors: Vec<Option<f64>>,
    },
    CopyScore {
        series: Vec<CopyCurve>,
    },
    SpeedBars {
        lengths: Vec<usize>,
        series: Vec<SpeedSeries>,
        /// The paper's, at its one length.
        paper: Vec<(String, f64)>,
    },
}

impl Picture {
    /// The paired loss of a model by cell of [`PAIRED_CELL`] positions.
    pub fn paired(encoding: &str, length: usize, base: usize, cells: &[Option<Estimate>]) -> Self {
        Self::PairedLoss {
            encoding: encoding.into(),
            length,
            base,
            cell: PAIRED_CELL,
            values: cells
                .iter()
                .map(|cell| cell.map_or(0.0, |cell| cell.value))
                .collect(),
            errors: cells
                .iter()
                .map(|cell| cell.and_then(|cell| cell.error))
                .collect(),
        }
    }
}

/// What a claim makes of the results.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    pub verdict: Verdict,
    pub parts: Parts,
    pub table: Table,
    /// What each head does, where the claim looks at heads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<Table>,
    pub picture: Option<Picture>,
}

impl Finding {
    /// With a table and nothing decided yet.
    pub fn unmeasured(table: Table) -> Self {
        Self {
            verdict: Verdict::Unmeasured,
            parts: Parts::default(),
            table,
            heads: None,
            picture: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        for (value, text) in [
            (23.456, "23.5"),
            (0.012_34, "0.0123"),
            (1234.5, "1234"),
            (-0.5, "-0.500"),
            (0.0, "0"),
        ] {
            assert_eq!(number(value), text);
        }
        let estimate = |value, error| {
            text_of(Estimate {
                value,
                error: Some(error),
            })
        };
        assert_eq!(estimate(70.9, 5.8), "70.9 ± 5.8");
        assert_eq!(estimate(26.123, 0.37), "26.1 ± 0.4");
        assert_eq!(text_of(Estimate::exact(2.0)), "2.00");
    }

    #[test]
    fn cells_are_read_by_their_shape() {
        let row = [
            Cell::Empty,
            2.5.into(),
            "alibi".into(),
            Some(Estimate {
                value: 1.0,
                error: Some(0.5),
            })
            .into(),
        ];
        assert_eq!(
            serde_json::to_string(&row).unwrap(),
            r#"[null,2.5,"alibi",{"value":1.0,"error":0.5}]"#
        );
    }
}
