//! A model with changes at inference, as one string: `rotary?scaling=yarn&factor=4`, `alibi?window=64`.

mod apply;
mod error;

pub use error::VariantError;

use crate::encoding::{FarKeys, PastEnd, ScalingMethod, Window};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A model and what is changed of it at inference. Equal variants have equal strings: the keys stand in one
/// order, and what changes nothing (`log_n=0`, `sinks=0`, `factor=auto`) is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// The name of the checkpoint's file, without its ending: `rotary-l64`.
    pub model: String,
    pub changes: Changes,
}

/// What can be changed of a trained model without training it again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// `scaling`, with `factor`, `beta_fast` and `beta_slow`: other frequencies past the trained length.
    pub scaling: Option<Rescaling>,
    /// `log_n`: queries grow with the logarithm of their position.
    pub log_n: bool,
    /// `window` and `sinks`: what attention sees, with any encoding.
    pub window: Option<Window>,
    /// `rerope` or `self_extend`: how far keys are scored.
    pub far: Option<FarKeys>,
    /// `past`: what stands past the end of a learned table.
    pub past: PastEnd,
}

/// A rotary encoding's frequencies at inference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rescaling {
    pub method: ScalingMethod,
    /// How many times the trained length; `None` for T/L, that of the window at hand.
    pub factor: Option<f64>,
    /// Pairs that turn more often than so within the trained length stay as they are (by_parts, yarn).
    pub beta_fast: Option<f64>,
    /// Pairs that turn less often than so are interpolated (by_parts, yarn).
    pub beta_slow: Option<f64>,
}

/// What `scaling` may be.
const METHODS: &[(&str, ScalingMethod)] = &[
    ("pi", ScalingMethod::Pi),
    ("ntk", ScalingMethod::Ntk),
    ("dynamic_ntk", ScalingMethod::DynamicNtk),
    ("by_parts", ScalingMethod::ByParts),
    ("yarn", ScalingMethod::Yarn),
    ("llama3", ScalingMethod::Llama3),
];

/// The keys of [`Changes`], in their order in a string.
pub const CHANGE_KEYS: &[&str] = &[
    "scaling",
    "factor",
    "beta_fast",
    "beta_slow",
    "log_n",
    "window",
    "sinks",
    "rerope",
    "self_extend",
    "past",
];

/// What `past` may be.
const PAST: &[(&str, PastEnd)] = &[
    ("undefined", PastEnd::Undefined),
    ("last", PastEnd::LastRow),
    ("random", PastEnd::Random),
];

fn by_name<T: Copy>(list: &[(&str, T)], name: &str) -> Option<T> {
    let found = list.iter().find(|(known, _)| *known == name);
    found.map(|&(_, value)| value)
}

fn name_of<T: PartialEq>(list: &[(&'static str, T)], value: &T) -> &'static str {
    let found = list.iter().find(|(_, known)| known == value);
    found.map_or("", |(name, _)| name)
}

/// "one, other or third"
fn choices<T>(list: &[(&str, T)]) -> String {
    let names: Vec<&str> = list.iter().map(|(name, _)| *name).collect();
    match names.split_last() {
        Some((last, [])) => (*last).into(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// The longest window, and the most sinks.
const TOKENS_MAX: usize = 1 << 20;

impl Variant {
    /// A model as it was trained.
    pub fn of(model: impl Into<String>) -> Self {
        Self {
            model: model.into(),
            changes: Changes::default(),
        }
    }
}

impl FromStr for Variant {
    type Err = VariantError;

    fn from_str(text: &str) -> Result<Self, VariantError> {
        let (model, changes) = text.split_once('?').unwrap_or((text, ""));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if model.is_empty() || !model.chars().all(is_plain) {
            return Err(VariantError::Model(model.into()));
        }
        Ok(Self {
            model: model.into(),
            changes: changes.parse()?,
        })
    }
}

impl Display for Variant {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let changes = self.changes.to_string();
        let mark = if changes.is_empty() { "" } else { "?" };
        write!(out, "{}{mark}{changes}", self.model)
    }
}

/// The changes of a string, each taken once; what is left is unknown.
struct Given<'a>(Vec<(&'a str, &'a str)>);

impl<'a> Given<'a> {
    fn read(text: &'a str) -> Result<Self, VariantError> {
        let mut given: Vec<(&str, &str)> = Vec::new();
        for part in text.split('&').filter(|part| !part.is_empty()) {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if !CHANGE_KEYS.contains(&key) {
                return Err(VariantError::Unknown(key.into()));
            }
            if given.iter().any(|(known, _)| *known == key) {
                return Err(VariantError::Twice(key.into()));
            }
            given.push((key, value));
        }
        Ok(Self(given))
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        let found = self.0.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| *value)
    }

    /// A value as `read` takes it, which says what it needs where it takes none.
    fn take<T>(
        &self,
        key: &'static str,
        need: &str,
        read: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, VariantError> {
        self.value(key)
            .map(|value| {
                read(value).ok_or_else(|| VariantError::Value {
                    key,
                    value: value.into(),
                    need: need.into(),
                })
            })
            .transpose()
    }

    fn count(&self, key: &'static str, least: usize) -> Result<Option<usize>, VariantError> {
        let need = format!("a whole number of tokens from {least} to {TOKENS_MAX}");
        self.take(key, &need, |value| count(value, least))
    }

    fn positive(&self, key: &'static str) -> Result<Option<f64>, VariantError> {
        let is_usable = |value: &f64| value.is_finite() && *value > 0.0;
        self.take(key, "a number above 0", |value| {
            value.parse().ok().filter(is_usable)
        })
    }

    /// A key that means nothing without another.
    fn needs(&self, key: &'static str, other: &'static str, has: bool) -> Result<(), VariantError> {
        match self.value(key) {
            Some(_) if !has => Err(VariantError::Needs { key, other }),
            _ => Ok(()),
        }
    }
}

fn count(value: &str, least: usize) -> Option<usize> {
    let tokens = value.parse().ok()?;
    (least..=TOKENS_MAX).contains(&tokens).then_some(tokens)
}

impl FromStr for Changes {
    type Err = VariantError;

    fn from_str(text: &str) -> Result<Self, VariantError> {
        let given = Given::read(text)?;
        let method = given.take("scaling", &choices(METHODS), |name| by_name(METHODS, name))?;
        let has_ramp = matches!(method, Some(ScalingMethod::ByParts | ScalingMethod::Yarn));
        given.needs("factor", "scaling", method.is_some())?;
        given.needs("beta_fast", "scaling=by_parts or scaling=yarn", has_ramp)?;
        given.needs("beta_slow", "scaling=by_parts or scaling=yarn", has_ramp)?;
        let factor = given.take(
            "factor",
            "a number from 1 up, or auto for T/L",
            |value| match value {
                "auto" => Some(None),
                number => {
                    let is_usable = |value: &f64| value.is_finite() && *value >= 1.0;
                    number.parse().ok().filter(is_usable).map(Some)
                }
            },
        )?;
        let (beta_fast, beta_slow) = (given.positive("beta_fast")?, given.positive("beta_slow")?);
        let flag = |value: &str| match value {
            "1" => Some(true),
            "0" => Some(false),
            _ => None,
        };
        let keys = given.count("window", 1)?;
        let sinks = given.count("sinks", 0)?;
        given.needs("sinks", "window", keys.is_some())?;
        let rerope = given.count("rerope", 1)?;
        let self_extend = given.take(
            "self_extend",
            "a window and a group in tokens, as 64,8: the window at least as long as the group",
            |value| {
                let (window, group) = value.split_once(',')?;
                let (window, group) = (count(window, 1)?, count(group, 1)?);
                (group <= window).then_some(FarKeys::SelfExtend { window, group })
            },
        )?;
        let far = ["window", "rerope", "self_extend"];
        let mut of_far = far.into_iter().filter(|key| given.value(key).is_some());
        if let (Some(one), Some(other)) = (of_far.next(), of_far.next()) {
            return Err(VariantError::Clash { one, other });
        }
        let past = given.take("past", &choices(PAST), |name| by_name(PAST, name))?;
        Ok(Self {
            scaling: method.map(|method| Rescaling {
                method,
                factor: factor.flatten(),
                beta_fast,
                beta_slow,
            }),
            log_n: given.take("log_n", "1, or 0 for none", flag)?.unwrap_or(false),
            window: keys.map(|keys| Window {
                keys,
                sinks: sinks.unwrap_or(0),
            }),
            far: self_extend.or(rerope.map(|window| FarKeys::ReRope { window })),
            past: past.unwrap_or_default(),
        })
    }
}

impl Display for Changes {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = Vec::new();
        if let Some(scaling) = &self.scaling {
            parts.push(format!("scaling={}", name_of(METHODS, &scaling.method)));
            for (key, value) in [
                ("factor", scaling.factor),
                ("beta_fast", scaling.beta_fast),
                ("beta_slow", scaling.beta_slow),
            ] {
                parts.extend(value.map(|value| format!("{key}={value}")));
            }
        }
        if self.log_n {
            parts.push("log_n=1".into());
        }
        if let Some(Window { keys, sinks }) = self.window {
            parts.push(format!("window={keys}"));
            parts.extend((sinks > 0).then(|| format!("sinks={sinks}")));
        }
        parts.extend(self.far.map(|far| match far {
            FarKeys::ReRope { window } => format!("rerope={window}"),
            FarKeys::SelfExtend { window, group } => format!("self_extend={window},{group}"),
        }));
        if self.past != PastEnd::Undefined {
            parts.push(format!("past={}", name_of(PAST, &self.past)));
        }
        out.write_str(&parts.join("&"))
    }
}

#[cfg(test)]
mod tests;
