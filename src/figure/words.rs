//! The words of figures in the reader's language. They stand under `chart` in `www/locales/NAME.json`,
//! beside the page's own: one file a language.

use super::measured::base_of;
use serde_json::{Map, Value};
use std::sync::{LazyLock, Mutex};

/// The language that is used where another one is not known.
pub const DEFAULT_LOCALE: &str = "en";

/// The sentences of one language, by key. In them `{name}` stands for what is filled in.
pub struct Words(Map<String, Value>);

static KNOWN: Mutex<Vec<(String, &'static Words)>> = Mutex::new(Vec::new());

/// The locale files that programs carry with them; the page gives the module the ones it needs.
#[cfg(not(target_arch = "wasm32"))]
const CARRIED: &[(&str, &str)] = &[
    ("en", include_str!("../../www/locales/en.json")),
    ("zh-Hant", include_str!("../../www/locales/zh-Hant.json")),
];
#[cfg(target_arch = "wasm32")]
const CARRIED: &[(&str, &str)] = &[];

/// Makes a language known; `chart` is a JSON object of sentences by key.
///
/// # Errors
/// A text that is no JSON object.
pub fn add_locale(name: &str, chart: &str) -> serde_json::Result<()> {
    let words = Words(serde_json::from_str(chart)?);
    if let Ok(mut known) = KNOWN.lock()
        && known.iter().all(|(other, _)| other != name)
    {
        // There are a few languages, each is made known once, and they are used until the end.
        known.push((name.into(), Box::leak(Box::new(words))));
    }
    Ok(())
}

/// The names of the languages that are known.
pub fn locales() -> Vec<String> {
    load_carried();
    let known = KNOWN.lock();
    known.map_or(Vec::new(), |known| {
        known.iter().map(|(name, _)| name.clone()).collect()
    })
}

fn load_carried() {
    for (name, file) in CARRIED {
        let is_known = |known: &Vec<(String, _)>| known.iter().any(|(other, _)| other == name);
        if KNOWN.lock().is_ok_and(|known| is_known(&known)) {
            continue;
        }
        let chart = serde_json::from_str::<Value>(file).map(|file| file["chart"].to_string());
        let added = chart.and_then(|chart| add_locale(name, &chart));
        debug_assert!(added.is_ok(), "{name}: {added:?}");
    }
}

impl Words {
    /// The words of a language, or of the usual one where it is not known.
    pub fn of(locale: &str) -> &'static Self {
        static NOTHING: LazyLock<Words> = LazyLock::new(|| Words(Map::new()));
        load_carried();
        let Ok(known) = KNOWN.lock() else {
            return &NOTHING;
        };
        let find = |wanted: &str| {
            known
                .iter()
                .find(|(name, _)| name == wanted)
                .map(|(_, words)| *words)
        };
        find(locale).or_else(|| find(DEFAULT_LOCALE)).unwrap_or(&NOTHING)
    }

    /// The sentence of a key; the key itself where the language lacks it.
    pub fn say<'a>(&'a self, key: &'a str) -> &'a str {
        self.0.get(key).and_then(Value::as_str).unwrap_or(key)
    }

    /// The sentence of a key with `{name}` replaced by what stands beside the name.
    pub fn fill(&self, key: &str, parts: &[(&str, &dyn ToString)]) -> String {
        let mut sentence = self.say(key).to_string();
        for (name, value) in parts {
            sentence = sentence.replace(&["{", name, "}"].concat(), &value.to_string());
        }
        sentence
    }

    /// An encoding's name for readers, followed by what makes a model or variant of it:
    /// `rotary?scaling=yarn&factor=4` is "Rotary scaling=yarn factor=4". The given name of an unknown one.
    pub fn encoding(&self, name: &str) -> String {
        let base = base_of(name);
        let key = ["encoding_", base].concat();
        match self.say(&key) {
            missing if missing == key => name.to_string(),
            title => title.to_string() + &name[base.len()..].replace(['?', '-', '&'], " "),
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::encoding::NAMES;

    #[test]
    fn every_encoding_has_its_name_in_every_language() {
        for locale in locales() {
            let words = Words::of(&locale);
            for name in NAMES {
                let key = format!("encoding_{name}");
                assert_ne!(
                    words.say(&key),
                    key,
                    "the encoding {name} has no name for readers: give it one at \"chart\", \"{key}\" in \
                     www/locales/{locale}.json"
                );
            }
        }
    }

    #[test]
    fn sentences_are_filled_and_unknown_languages_are_english() {
        let words = Words::of("xx");
        assert_eq!(words.fill("trained_label", &[("length", &"128")]), "L = 128");
        assert_eq!(words.say("no such key"), "no such key");
        assert_eq!(words.encoding("alibi"), "ALiBi");
        assert_eq!(words.encoding("mine"), "mine");
        assert_eq!(words.encoding("my-model"), "my-model");
        assert_eq!(
            words.encoding("rotary?scaling=yarn&factor=4"),
            "Rotary scaling=yarn factor=4"
        );
        assert_eq!(words.encoding("alibi-h8"), "ALiBi h8");
        assert!(locales().contains(&"zh-Hant".to_string()));
    }
}
