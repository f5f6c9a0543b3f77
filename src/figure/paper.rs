use super::chart::{At, Chart};
use super::error::FigureError;
use super::frame;
use super::measured;
use super::perplexity::{self, Perplexity};
use super::scene::Scene;
use super::series::{self, Point, Series, series_table};
use super::style::Style;
use super::table::Table;
use super::text;
use super::words::Words;
use serde::{Deserialize, Serialize};

/// What the ALiBi paper measured with large models. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paper {
    /// The length that the paper's models were trained on: 512 or 1024.
    pub trained: usize,
    #[serde(default)]
    pub protocol: Protocol,
    /// The name of the encoding to draw strong.
    #[serde(default)]
    pub selected: String,
}

/// How the text was cut for the evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Windows side by side: the first tokens of each have little context.
    #[default]
    NonOverlapping,
    /// A window that moves on by one token: every token but the first has the full context.
    Sliding,
}

// Press, Smith and Lewis, "Train Short, Test Long", ICLR 2022, arXiv 2108.12409: perplexity of models of
// 247 M parameters on the validation set of WikiText-103.

/// The columns of the tables below.
const ENCODINGS: [&str; 4] = ["sinusoidal", "rotary", "t5_bias", "alibi"];

/// T, and the perplexity of each encoding; what is not a number was not measured.
type Row = (usize, [f64; 4]);

const NONE: f64 = f64::NAN;

/// Appendix, table of the extrapolation of models with L = 512 (the numbers of figure 1, left). T5's last
/// one ran out of memory.
const TRAINED_512: [Row; 10] = [
    (512, [20.05, 20.07, 19.65, 19.73]),
    (532, [19.91, 19.98, 19.53, 19.61]),
    (562, [19.91, 19.87, 19.39, 19.49]),
    (712, [24.86, 19.79, 19.10, 19.14]),
    (1012, [43.54, 21.37, 18.79, 18.73]),
    (1112, [50.36, 22.01, 18.77, 18.68]),
    (1512, [76.23, 25.99, 18.91, 18.52]),
    (3512, [178.97, 35.54, 22.91, 18.40]),
    (12512, [373.17, 69.70, 64.94, 18.31]),
    (15512, [406.01, 79.25, NONE, 18.31]),
];

/// Appendix, table of the extrapolation of models with L = 1024 (the numbers of figure 1, right). T5's last
/// one ran out of memory.
const TRAINED_1024: [Row; 7] = [
    (1024, [19.34, 19.33, 18.80, 18.66]),
    (1074, [19.19, 19.19, 18.65, 18.49]),
    (1124, [19.26, 19.18, 18.62, 18.46]),
    (1424, [26.45, 21.27, 18.48, 18.28]),
    (1824, [42.23, 27.63, 18.30, 18.08]),
    (3024, [96.46, 35.67, 18.62, 17.92]),
    (16024, [453.32, 106.99, NONE, 17.98]),
];

/// Appendix, tables of sliding window evaluation with stride 1, L = 512; rotary is not there.
const SLIDING_512: [Row; 5] = [
    (512, [18.35, NONE, 17.92, 17.98]),
    (1024, [204.42, NONE, 18.51, 17.92]),
    (1536, [264.74, NONE, 20.36, 18.2]),
    (2048, [306.19, NONE, 22.62, 18.28]),
    (3072, [360.12, NONE, 30.77, 18.3]),
];

/// The same with L = 1024: T5 and ALiBi only.
const SLIDING_1024: [Row; 4] = [
    (1024, [NONE, NONE, 17.65, 17.46]),
    (1536, [NONE, NONE, 17.87, 17.47]),
    (2048, [NONE, NONE, 18.51, 17.62]),
    (3072, [NONE, NONE, 20.66, 17.92]),
];

impl Paper {
    fn rows(&self) -> &'static [Row] {
        match (self.trained, self.protocol) {
            (512, Protocol::NonOverlapping) => &TRAINED_512,
            (1024, Protocol::NonOverlapping) => &TRAINED_1024,
            (512, Protocol::Sliding) => &SLIDING_512,
            (1024, Protocol::Sliding) => &SLIDING_1024,
            _ => &[],
        }
    }

    /// The encodings that the paper has in this table.
    fn series(&self) -> Vec<Series> {
        let column = |column: usize| {
            let points = self.rows().iter().map(|(length, values)| Point {
                length: *length,
                perplexity: Some(values[column]).filter(|value| !value.is_nan()),
                ..Point::default()
            });
            Series {
                encoding: ENCODINGS[column].into(),
                points: points.collect(),
                ..Series::default()
            }
        };
        (0..ENCODINGS.len())
            .map(column)
            .filter(|series| series.points.iter().any(|point| point.perplexity.is_some()))
            .collect()
    }

    /// The same as the figure of measured perplexities.
    fn measured(&self) -> Perplexity {
        Perplexity {
            trained_length: self.trained,
            length: self.trained,
            selected: self.selected.clone(),
            series: self.series(),
            undefined: Vec::new(),
            ratio: false,
        }
    }

    /// `(encoding, sentence)` for what ran out of memory.
    fn out_of_memory(&self, words: &Words) -> Vec<(String, String)> {
        let mut notes = Vec::new();
        for series in self.series() {
            for point in series.points.iter().filter(|point| point.perplexity.is_none()) {
                let parts: [(&str, &dyn ToString); 2] = [
                    ("encoding", &words.encoding(&series.encoding)),
                    ("length", &text::count(point.length)),
                ];
                notes.push((series.encoding.clone(), words.fill("paper_memory", &parts)));
            }
        }
        notes
    }

    /// Where the numbers are from, so that nobody takes them for the page's own models.
    fn source(&self, words: &Words) -> String {
        let protocol = words.say(match self.protocol {
            Protocol::NonOverlapping => "paper_non_overlapping",
            Protocol::Sliding => "paper_sliding",
        });
        words.fill("paper_source", &[("protocol", &protocol)])
    }
}

impl Chart for Paper {
    fn lengths(&self) -> (usize, Option<usize>) {
        let longest = self.rows().last().map_or(1, |(length, _)| *length);
        (longest, Some(self.trained))
    }

    fn check(&self) -> Result<(), FigureError> {
        if self.rows().is_empty() {
            return Err(FigureError::Setting {
                what: "trained length of the paper's models",
                value: self.trained.to_string(),
                need: "512 or 1024",
            });
        }
        Ok(())
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        let words = style.words();
        let mut notes = self.out_of_memory(words);
        let lines = frame::wrap(&self.source(words), style.width - 6.0, style.text_px());
        notes.extend(lines.into_iter().map(|line| (String::new(), line)));
        perplexity::compose(scene, style, &self.measured(), notes)
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let curves = series::curves(&self.series(), words, "", true);
        measured::readout(&curves, at, words, "read_perplexity")
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let notes = self.out_of_memory(words).into_iter().map(|(_, note)| note);
        let notes: Vec<String> = notes.collect();
        let says = self.measured().summary(&[], words);
        let key = if notes.is_empty() {
            "sum_paper"
        } else {
            "sum_paper_notes"
        };
        words.fill(
            key,
            &[
                ("source", &self.source(words)),
                ("says", &says),
                ("notes", &notes.join(words.say("list_separator"))),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        series_table(&self.series(), words, false)
    }
}
