use super::chart::Chart;
use super::error::FigureError;
use super::table::Table;
use super::words::Words;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use serde_json::Value;

/// Reads the settings of a figure that a page shows first. In the browser what these need is one module, and
/// the rest of the charts another that comes after it: `xtask/src/split.rs` finds the functions by the names
/// of these two traits and of [`Chart`]'s methods.
trait First: Sized {
    /// # Errors
    /// Fields of another shape.
    fn read(fields: Value) -> serde_json::Result<Figure>;
}

/// As [`First`], of a figure that comes later.
trait Later: Sized {
    /// # Errors
    /// Fields of another shape.
    fn read(fields: Value) -> serde_json::Result<Figure>;
}

macro_rules! figures {
    ($($turn:ident $variant:ident = $name:literal;)*) => {
        /// One picture and its settings; in JSON `{"figure": "alibi", "heads": 8, "length": 64, …}`.
        /// The numbers that a model gave stand apart, as `values`.
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(remote = "Self")]
        pub enum Figure {
            $(
                #[serde(rename = $name)]
                $variant(super::$variant),
            )*
        }

        /// The names of all figures in JSON and in the command.
        pub const FIGURES: &[&str] = &[$($name),*];

        $(
            impl $turn for super::$variant {
                // A function of its own, so that the browser's two modules can be told apart.
                #[inline(never)]
                fn read(fields: Value) -> serde_json::Result<Figure> {
                    serde_json::from_value(fields).map(Figure::$variant)
                }
            }
        )*

        impl Figure {
            /// The name in JSON and in the command.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            pub(crate) fn chart(&self) -> &dyn Chart {
                match self { $(Self::$variant(chart) => chart,)* }
            }

            fn of(name: &str, fields: Value) -> serde_json::Result<Self> {
                match name {
                    $($name => <super::$variant as $turn>::read(fields),)*
                    other => Err(Error::unknown_variant(other, FIGURES)),
                }
            }

            /// Whether a page can draw the figure of a name before all of the charts are there.
            #[cfg(target_arch = "wasm32")]
            pub(crate) fn is_first(name: &str) -> bool {
                match name {
                    $($name => stringify!($turn) == "First",)*
                    _ => false,
                }
            }
        }
    };
}

figures! {
    First Sinusoidal = "sinusoidal";
    First Rotary = "rotary";
    First T5Buckets = "t5_bias";
    First AlibiMatrices = "alibi";
    First Learned = "learned";
    First CausalMask = "none";
    Later Attention = "attention";
    Later Distance = "distance";
    Later Perplexity = "perplexity";
    Later PositionLoss = "position_loss";
    Later Similarity = "similarity";
    Later Offsets = "offsets";
    Later Waves = "waves";
    Later Counter = "counter";
    Later T5Matrix = "t5_matrix";
    Later Wavelengths = "wavelengths";
    Later RotaryTable = "rotary_table";
    Later RotaryScores = "rotary_scores";
    Later RotaryDecay = "rotary_decay";
    Later AlibiSlopes = "alibi_slopes";
    Later AlibiSoftmax = "alibi_softmax";
    Later AttentionHeads = "attention_heads";
    Later EffectiveContext = "context";
    Later Paper = "paper";
    Later Windows = "windows";
    Later PairedLoss = "paired_loss";
    Later CopyScore = "copy_score";
    Later SpeedBars = "speed_bars";
    First BiasCurves = "bias_curves";
    First RotaryMethods = "rotary_methods";
    First XposDecay = "xpos_decay";
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let read = crate::json::untag("figure", value).and_then(|(name, fields)| Self::of(&name, fields));
        read.map_err(D::Error::custom)
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = Self::serialize(self, serde_json::value::Serializer).map_err(ser::Error::custom)?;
        crate::json::retag("figure", value).serialize(serializer)
    }
}

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
        let cells = length.saturating_mul(chart.columns());
        at_most("table", cells.max(1), CELLS_MAX, "of at most 4194304 numbers")?;
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
        let Ok(Value::Object(fields)) = serde_json::to_value(self) else {
            return self.name().into();
        };
        let mut line = self.name().to_string();
        for (name, value) in fields.iter().filter(|(name, _)| *name != "figure") {
            match value {
                Value::Null | Value::Object(_) => {}
                Value::Array(list) if list.iter().any(|item| item.is_object()) => {}
                Value::Array(list) => {
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
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // Without ".0", also for numbers that may have a fraction.
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN).to_string(),
        other => other.to_string(),
    }
}

/// Sizes that a picture can show.
const SIZE_MAX: usize = 1 << 17;
/// Numbers in a picture's table, which takes some 100 MB then.
const CELLS_MAX: usize = 1 << 22;

/// # Errors
/// A size of zero, or beyond what a picture can show.
pub(super) fn size(what: &'static str, value: usize) -> Result<(), FigureError> {
    at_most(what, value, SIZE_MAX, "from 1 to 131072")
}

/// # Errors
/// A position beyond what a picture can show.
pub(super) fn positions(query: usize, key: usize) -> Result<(), FigureError> {
    for (what, position) in [("query's position", query), ("key's position", key)] {
        at_most(what, position.max(1), SIZE_MAX, "from 0 to 131072")?;
    }
    Ok(())
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
