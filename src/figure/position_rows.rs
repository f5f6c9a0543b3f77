//! The rows that an encoding adds to the embedding, one a position, and how two of them compare.

use super::error::FigureError;
use super::frame;
use super::geometry::Rect;
use super::scene::Scene;
use super::settings::size;
use super::sinusoidal::check_sinusoidal;
use super::style::Style;
use super::text;
use super::words::Words;
use crate::encoding::{Layout, Sinusoidal};
use serde::{Deserialize, Serialize};

/// How two rows are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The cosine of the angle between them, −1 to 1.
    #[default]
    Cosine,
    /// The dot product, divided by nothing.
    Dot,
    /// The Euclidean distance.
    Distance,
}

impl Measure {
    /// The key of its name.
    pub(super) fn key(self) -> &'static str {
        match self {
            Self::Cosine => "measure_cosine",
            Self::Dot => "measure_dot",
            Self::Distance => "measure_distance",
        }
    }

    /// Compares two rows of the same length. Rows of zeros have no cosine.
    pub(super) fn of(self, a: &[f32], b: &[f32]) -> f64 {
        match self {
            Self::Cosine => f64::from(dot(a, b) / (dot(a, a).sqrt() * dot(b, b).sqrt())),
            Self::Dot => f64::from(dot(a, b)),
            Self::Distance => f64::from(distance(a, b)),
        }
    }
}

/// Sums that the compiler keeps in one vector register each.
const LANES: usize = 8;

fn sum(a: &[f32], b: &[f32], term: impl Fn(f32, f32) -> f32) -> f32 {
    let (a, b) = (a.chunks_exact(LANES), b.chunks_exact(LANES));
    let rest: f32 = a
        .remainder()
        .iter()
        .zip(b.remainder())
        .map(|(&a, &b)| term(a, b))
        .sum();
    let mut sums = [0.0f32; LANES];
    for (a, b) in a.zip(b) {
        for lane in 0..LANES {
            sums[lane] += term(a[lane], b[lane]);
        }
    }
    sums.iter().sum::<f32>() + rest
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    sum(a, b, |a, b| a * b)
}

fn distance(a: &[f32], b: &[f32]) -> f32 {
    sum(a, b, |a, b| (a - b) * (a - b)).sqrt()
}

/// Where the rows come from: a trained table, which ends at L, or sines and cosines.
pub(super) struct Source<'a> {
    /// "learned" or "sinusoidal".
    pub encoding: &'a str,
    pub length: usize,
    pub trained_length: usize,
    pub d_model: usize,
    pub layout: Layout,
    pub base: f64,
}

impl Source<'_> {
    fn is_learned(&self) -> bool {
        self.encoding == "learned"
    }

    /// # Errors
    /// An encoding that adds no rows, or dimensions and a base that make none.
    pub fn check(&self) -> Result<(), FigureError> {
        match self.encoding {
            "learned" => size("d_model", self.d_model),
            "sinusoidal" => check_sinusoidal(self.d_model, self.layout, self.base),
            other => Err(FigureError::Setting {
                what: "encoding",
                value: format!("\"{other}\""),
                need: "\"learned\" or \"sinusoidal\", which add a row to the embedding",
            }),
        }
    }

    /// As [`Chart::values_needed`](super::chart::Chart::values_needed).
    pub fn values_needed(&self) -> Option<(String, usize)> {
        let (rows, columns) = (self.trained_length, self.d_model);
        let shape = format!("{rows} positions × {columns} dimensions");
        self.is_learned().then_some((shape, rows.saturating_mul(columns)))
    }

    /// How many positions all pairs of which can be compared in a few milliseconds: 256, and fewer where
    /// rows are longer than 256.
    pub fn positions(&self) -> usize {
        const MULTIPLICATIONS: f64 = 256.0 * 256.0 * 256.0;
        let most = (MULTIPLICATIONS / self.d_model as f64).sqrt() as usize;
        self.length.min(most.clamp(1, 256))
    }

    /// How many of those positions have a row.
    pub fn defined(&self) -> usize {
        let most = if self.is_learned() {
            self.trained_length
        } else {
            usize::MAX
        };
        self.positions().min(most)
    }

    /// The rows of the positions that have one; `None` while a trained table is not loaded.
    pub fn rows(&self, values: &[f32]) -> Option<Rows> {
        let (count, columns) = (self.defined(), self.d_model);
        let values = if self.is_learned() {
            values.get(..count * columns)?.to_vec()
        } else {
            sinusoidal_rows(self.layout, self.base, [count, columns])
        };
        Some(Rows { columns, values })
    }

    /// What a summary adds about positions that are not compared: none, one or two sentences.
    pub fn left_out(&self, words: &Words) -> String {
        let (shown, missing) = (self.positions(), self.positions() - self.defined());
        let mut sentences = String::new();
        if missing > 0 {
            sentences += &words.fill("sum_rows_missing", &[("missing", &text::count(missing))]);
        }
        if shown < self.length {
            let parts: [(&str, &dyn ToString); 2] = [
                ("shown", &text::count(shown)),
                ("length", &text::count(self.length)),
            ];
            sentences += &words.fill("sum_rows_cut", &parts);
        }
        sentences
    }
}

/// Rows `[positions][d_model]`.
pub(super) struct Rows {
    columns: usize,
    values: Vec<f32>,
}

impl Rows {
    pub fn row(&self, position: usize) -> &[f32] {
        &self.values[position * self.columns..(position + 1) * self.columns]
    }

    fn count(&self) -> usize {
        self.values.len() / self.columns
    }

    /// All pairs of rows p and p + `offset`, which must be below the count of rows.
    pub fn offset(&self, measure: Measure, offset: usize) -> Offset {
        let pairs = self.count() - offset;
        let mut found = Offset {
            pairs,
            mean: 0.0,
            least: f64::INFINITY,
            least_at: 0,
            most: f64::NEG_INFINITY,
        };
        for position in 0..pairs {
            let value = measure.of(self.row(position), self.row(position + offset));
            found.mean += value / pairs as f64;
            found.most = found.most.max(value);
            // Of pairs that differ by rounding, the first.
            if value < found.least - value.abs() * ROUNDING {
                found.least_at = position;
            }
            found.least = found.least.min(value);
        }
        found
    }
}

/// Below this share a difference is what sums of 32-bit numbers leave.
pub(super) const ROUNDING: f64 = 5e-6;

/// All pairs of rows at one offset.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offset {
    pub pairs: usize,
    pub mean: f64,
    pub least: f64,
    /// The first position of the pair that has the least.
    pub least_at: usize,
    pub most: f64,
}

/// `[positions][d_model]`, each frequency computed once.
fn sinusoidal_rows(layout: Layout, base: f64, [positions, d_model]: [usize; 2]) -> Vec<f32> {
    let encoding = Sinusoidal { layout, base };
    let waves: Vec<_> = (0..d_model)
        .map(|column| encoding.wave(column, d_model))
        .collect();
    let value = |position: usize, wave: &Option<(f64, bool)>| match *wave {
        Some((frequency, true)) => (position as f64 * frequency).sin() as f32,
        Some((frequency, false)) => (position as f64 * frequency).cos() as f32,
        None => 0.0,
    };
    (0..positions)
        .flat_map(|position| waves.iter().map(move |wave| value(position, wave)))
        .collect()
}

/// Fills a part of a plot where there is no row, and says so there if the words fit.
pub(super) fn undefined_part(scene: &mut Scene, style: &Style, part: Rect, trained: usize) {
    let (words, size) = (style.words(), style.text_px());
    let parts: [(&str, &dyn ToString); 1] = [("length", &text::count(trained))];
    let fits = |sentence: &String| text::width(sentence, size) + 24.0 <= part.width;
    let sentence = ["undefined_no_row", "undefined_past"]
        .map(|key| words.fill(key, &parts))
        .into_iter()
        .find(fits);
    if let Some(sentence) = sentence.filter(|_| part.height > size * 2.0) {
        frame::note(scene, style, part, &sentence, style.ink().undefined);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(encoding: &str, length: usize, d_model: usize) -> Source<'_> {
        Source {
            encoding,
            length,
            trained_length: 4,
            d_model,
            layout: Layout::Fairseq,
            base: 10_000.0,
        }
    }

    #[test]
    fn rows_are_the_encodings_or_the_tables() {
        let rows = source("sinusoidal", 9, 7).rows(&[]).unwrap();
        let encoding = Sinusoidal {
            layout: Layout::Fairseq,
            base: 10_000.0,
        };
        for position in 0..9 {
            for column in 0..7 {
                let value = encoding.value(position, column, 7) as f32;
                assert_eq!(rows.row(position)[column], value);
            }
        }
        let table: Vec<f32> = (0..12).map(|i| i as f32).collect();
        let learned = source("learned", 9, 3);
        assert_eq!(learned.rows(&table).unwrap().row(3), [9.0, 10.0, 11.0]);
        assert_eq!((learned.positions(), learned.defined()), (9, 4));
        assert!(learned.rows(&[]).is_none());
        assert!(source("rotary", 9, 3).check().is_err());
    }

    #[test]
    fn long_rows_leave_fewer_positions() {
        assert_eq!(source("sinusoidal", 4096, 96).positions(), 256);
        assert_eq!(source("sinusoidal", 4096, 1024).positions(), 128);
        assert_eq!(source("sinusoidal", 100, 1024).positions(), 100);
        assert_eq!(source("sinusoidal", 4096, 1 << 20).positions(), 4);
    }

    #[test]
    fn measures_are_their_formulas() {
        let a: Vec<f32> = (0..19).map(|i| (i as f32 * 0.7).sin()).collect();
        let b: Vec<f32> = (0..19).map(|i| (i as f32 * 1.3).cos() * 2.0).collect();
        let [mut dot, mut aa, mut bb, mut square] = [0.0f64; 4];
        for (&a, &b) in a.iter().zip(&b) {
            let (a, b) = (f64::from(a), f64::from(b));
            dot += a * b;
            aa += a * a;
            bb += b * b;
            square += (a - b) * (a - b);
        }
        for (measure, wanted) in [
            (Measure::Dot, dot),
            (Measure::Cosine, dot / (aa * bb).sqrt()),
            (Measure::Distance, square.sqrt()),
        ] {
            let found = measure.of(&a, &b);
            assert!((found - wanted).abs() < 1e-5, "{measure:?} {found} {wanted}");
        }
    }
}
