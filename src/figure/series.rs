//! Perplexity measured at several lengths: the points and their words.

use super::measured::{Curve, Measured, styles};
use super::order::sort_few;
use super::table::Table;
use super::words::Words;
use serde::{Deserialize, Serialize};

/// The measured points of one encoding, model or variant.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Its name: an encoding's as in `encoding::NAMES`, a model's such as "rotary-l64", or a variant's such as
    /// "rotary?scaling=yarn".
    pub encoding: String,
    /// What must be said with it, such as "last row repeated".
    #[serde(default)]
    pub note: Option<String>,
    /// What readers see in place of the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Which of six dashes and marks, from 0; absent: the next that no other of its encoding has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub style: Option<usize>,
    /// L, where it is not the figure's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trained_length: Option<usize>,
    /// In any order; they appear as they are measured.
    pub points: Vec<Point>,
}

/// Perplexity at one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Point {
    pub length: usize,
    /// `None` or not finite: it has no value.
    #[serde(default)]
    pub perplexity: Option<f64>,
    /// Of the perplexity, in its unit.
    #[serde(default)]
    pub standard_error: Option<f64>,
    /// Perplexity of the same model trained from another seed; a faint band reaches there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_seed: Option<f64>,
}

impl Point {
    pub(crate) fn value(&self) -> Option<f64> {
        self.perplexity.filter(|value| value.is_finite() && *value > 0.0)
    }
}

impl Series {
    /// What readers see, without the note.
    pub(super) fn title(&self, words: &Words) -> String {
        self.label
            .clone()
            .unwrap_or_else(|| words.encoding(&self.encoding))
    }

    /// The same with the note.
    fn full_title(&self, words: &Words) -> String {
        let title = self.title(words);
        match &self.note {
            Some(note) => format!("{title} ({note})"),
            None => title,
        }
    }
}

/// The series as curves; notes are left out where there is no room for them.
pub(super) fn curves(series: &[Series], words: &Words, selected: &str, notes: bool) -> Vec<Curve> {
    let styles = styles(
        series
            .iter()
            .map(|series| (series.encoding.as_str(), series.style)),
    );
    let curve = |(series, style): (&Series, usize)| {
        let mut points: Vec<Measured> = series
            .points
            .iter()
            .filter(|point| point.length > 0)
            .map(|point| Measured {
                x: point.length as f64,
                y: point.value().unwrap_or(f64::NAN),
                error: point.standard_error.unwrap_or(f64::NAN),
                other: point.other_seed.unwrap_or(f64::NAN),
            })
            .collect();
        sort_few(&mut points, |point| point.x);
        Curve {
            name: series.encoding.clone(),
            title: if notes {
                series.full_title(words)
            } else {
                series.title(words)
            },
            style,
            strong: series.encoding == selected,
            points,
        }
    };
    series.iter().zip(styles).map(curve).collect()
}

/// One row a length and encoding.
pub(super) fn series_table(series: &[Series], words: &Words, ratio: bool) -> Table {
    let value = if ratio { "col_ratio" } else { "col_perplexity" };
    let keys = ["col_encoding", "col_length", value, "col_standard_error"];
    let mut table = Table::new(keys.map(|key| words.say(key)));
    for series in series {
        for point in &series.points {
            let number = |value: Option<f64>| value.unwrap_or(f64::NAN).into();
            table.row([
                series.full_title(words).into(),
                point.length.into(),
                number(point.perplexity),
                number(point.standard_error),
            ]);
        }
    }
    table
}
