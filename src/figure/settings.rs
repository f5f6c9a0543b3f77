use super::chart::Chart;
use super::error::FigureError;
use super::table::Table;
use super::words::Words;
use serde::{Deserialize, Serialize};

macro_rules! figures {
    ($($variant:ident = $name:literal;)*) => {
        /// One picture and its settings; in JSON `{"figure": "alibi", "heads": 8, "length": 64, …}`.
        /// The numbers that a model gave stand apart, as `values`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(remote = "Self")]
        pub enum Figure {
            $(
                #[serde(rename = $name)]
                $variant(super::$variant),
            )*
        }

        /// The names of all figures in JSON and in the command.
        pub const FIGURES: &[&str] = &[$($name),*];

        impl Figure {
            /// The name in JSON and in the command.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            pub(crate) fn chart(&self) -> &dyn Chart {
                match self { $(Self::$variant(chart) => chart,)* }
            }
        }
    };
}

figures! {
    Sinusoidal = "sinusoidal";
    Rotary = "rotary";
    T5Buckets = "t5_bias";
    AlibiMatrices = "alibi";
    Learned = "learned";
    CausalMask = "none";
    Attention = "attention";
    Distance = "distance";
    Perplexity = "perplexity";
    PositionLoss = "position_loss";
    Similarity = "similarity";
    Offsets = "offsets";
    Waves = "waves";
    Counter = "counter";
    T5Matrix = "t5_matrix";
    Wavelengths = "wavelengths";
    RotaryTable = "rotary_table";
    RotaryScores = "rotary_scores";
    RotaryDecay = "rotary_decay";
    AlibiSlopes = "alibi_slopes";
    AlibiSoftmax = "alibi_softmax";
    AttentionHeads = "attention_heads";
    EffectiveContext = "context";
    Paper = "paper";
    Windows = "windows";
    PairedLoss = "paired_loss";
    CopyScore = "copy_score";
    SpeedBars = "speed_bars";
    BiasCurves = "bias_curves";
    RotaryMethods = "rotary_methods";
    XposDecay = "xpos_decay";
}

crate::json::tagged!(Figure, "figure");

pub(super) fn usual_base() -> f64 {
    10_000.0
}

impl Figure {
    pub(super) fn check(&self, values: &[f32]) -> Result<(), FigureError> {
        let wrong = |need: String| {
            Err(FigureError::Values {
                figure: self.name(),
                found: values.len(),
                need,
            })
        };
        let chart = self.chart();
        let (length, trained) = chart.lengths();
        size("length", length)?;
        size("trained length", trained.unwrap_or(1))?;
        chart.check()?;
        match chart.values_needed() {
            _ if values.is_empty() => Ok(()),
            Some((_, count)) if chart.takes_errors() && values.len() == 2 * count => Ok(()),
            Some((shape, count)) if values.len() != count => {
                let more = if chart.takes_errors() {
                    ", or as many standard errors after them"
                } else {
                    ""
                };
                wrong(format!("none, or {count} ({shape}){more}"))
            }
            None => wrong("none".into()),
            Some(_) => Ok(()),
        }
    }

    /// One sentence that says what the figure shows with its present numbers.
    ///
    /// # Errors
    /// Settings or values that make no figure.
    pub fn summary(&self, values: &[f32], locale: &str) -> Result<String, FigureError> {
        self.check(values)?;
        Ok(self.chart().summary(values, Words::of(locale)))
    }

    /// The numbers of the figure.
    ///
    /// # Errors
    /// Settings or values that make no figure.
    pub fn table(&self, values: &[f32], locale: &str) -> Result<Table, FigureError> {
        self.check(values)?;
        Ok(self.chart().table(values, Words::of(locale)))
    }

    /// The table as a CSV file, whose first line names the settings.
    ///
    /// # Errors
    /// Settings or values that make no figure.
    pub fn csv(&self, values: &[f32], locale: &str) -> Result<String, FigureError> {
        let parameters = ["Longview: ", &self.parameters()].concat();
        Ok(self.table(values, locale)?.csv(&parameters))
    }

    /// A name for files, without an ending, that tells the settings: `longview-alibi-heads8-length64`.
    pub fn file_stem(&self) -> String {
        let is_tame = |letter: &char| letter.is_ascii_alphanumeric() || ".,-".contains(*letter);
        let words = self.parameters();
        let words = words
            .split(' ')
            .map(|word| word.replacen('=', "", 1).replace('_', "-"));
        let words: Vec<String> = words.map(|word| word.chars().filter(is_tame).collect()).collect();
        // File systems allow 255 bytes; the settings that come last are the least telling.
        let words: String = words.join("-").chars().take(120).collect();
        ["longview-", &words].concat()
    }

    /// The figure's settings as one line, for names and metadata of files: `alibi heads=8 length=64`.
    pub fn parameters(&self) -> String {
        let Ok(serde_json::Value::Object(fields)) = serde_json::to_value(self) else {
            return self.name().into();
        };
        let mut line = self.name().to_string();
        for (name, value) in fields.iter().filter(|(name, _)| *name != "figure") {
            match value {
                serde_json::Value::Null | serde_json::Value::Object(_) => {}
                serde_json::Value::Array(list) if list.iter().any(|item| item.is_object()) => {}
                serde_json::Value::Array(list) => {
                    let list: Vec<String> = list.iter().map(plain).collect();
                    line += &format!(" {name}={}", list.join(","));
                }
                value => line += &format!(" {name}={}", plain(value)),
            }
        }
        line
    }
}

/// A JSON value without quotes.
fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        // Without ".0", also for numbers that may have a fraction.
        serde_json::Value::Number(number) => number.as_f64().unwrap_or(f64::NAN).to_string(),
        other => other.to_string(),
    }
}

/// Sizes that a picture can show.
const SIZE_MAX: usize = 1 << 20;

/// # Errors
/// A size of zero, or beyond what a picture can show.
pub(super) fn size(what: &'static str, value: usize) -> Result<(), FigureError> {
    at_most(what, value, SIZE_MAX, "from 1 to 1048576")
}

/// # Errors
/// A size of zero, or above `most`.
pub(super) fn at_most(
    what: &'static str,
    value: usize,
    most: usize,
    need: &'static str,
) -> Result<(), FigureError> {
    if value == 0 || value > most {
        return Err(FigureError::Setting {
            what,
            value: value.to_string(),
            need,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_its_settings() {
        let json =
            r#"{"figure": "alibi", "heads": 2, "length": 64, "slopes": [0.5, -1], "trained_length": 128}"#;
        let figure: Figure = crate::json::read(json).unwrap();
        assert_eq!(
            figure.parameters(),
            "alibi heads=2 length=64 slopes=0.5,-1 trained_length=128"
        );
        assert_eq!(
            figure.file_stem(),
            "longview-alibi-heads2-length64-slopes0.5,-1-trained-length128"
        );
        let json = r#"{"figure": "position_loss", "length": 8, "trained_length": 8, "encoding": "../a/b"}"#;
        let figure: Figure = crate::json::read(json).unwrap();
        assert!(!figure.file_stem().contains('/'), "{}", figure.file_stem());
    }
}
