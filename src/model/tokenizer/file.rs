//! Reading `tokenizer.json`, the format of the `tokenizers` crate.

use super::Tokenizer;
use super::merge::{Merge, Merges};
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use thiserror::Error;

/// Files larger than this are refused before they are looked into (GPT-2's has 1.4 MB).
const SIZE_BYTES_MAX: usize = 16 << 20;

/// Why a file is no tokenizer for us. Each message names the thing and the mend.
#[derive(Debug, Error)]
pub enum TokenizerError {
    #[error("the tokenizer has {size_bytes} bytes, the limit is {SIZE_BYTES_MAX}; choose a smaller one")]
    TooLarge { size_bytes: usize },
    #[error("this is a web page, not a tokenizer; the address is wrong or the server sent an error page")]
    WebPage,
    #[error("the tokenizer cannot be read ({0}); give the tokenizer.json that belongs to the checkpoint")]
    Json(#[from] serde_json::Error),
    #[error(
        "{field} of the tokenizer is {found}; Longview reads byte-level BPE with {need} only: give the tokenizer.json that belongs to the checkpoint"
    )]
    Unsupported {
        field: &'static str,
        found: String,
        need: &'static str,
    },
    #[error("the tokenizer's {0}; the file is damaged, fetch or train it again")]
    Damaged(String),
}

#[derive(Deserialize)]
struct Model {
    vocab: HashMap<String, u32>,
    merges: Vec<Pair>,
}

/// A merge; older files join the two by a space.
#[derive(Deserialize)]
#[serde(untagged)]
enum Pair {
    Two(String, String),
    Joined(String),
}

/// What we serve: where a setting stands, its value, and that in words. Null or absent will do too,
/// except for the first two.
const SETTINGS: [(&str, &str, &str); 12] = [
    ("/model/type", "\"BPE\"", "a model of type BPE"),
    (
        "/pre_tokenizer/type",
        "\"ByteLevel\"",
        "a pre-tokenizer of type ByteLevel",
    ),
    ("/pre_tokenizer/add_prefix_space", "false", "no prefix space"),
    ("/pre_tokenizer/use_regex", "true", "GPT-2's splitting"),
    ("/decoder/type", "\"ByteLevel\"", "a decoder of type ByteLevel"),
    (
        "/post_processor/type",
        "\"ByteLevel\"",
        "a post-processor of type ByteLevel, or none",
    ),
    ("/normalizer", "null", "no normalizer"),
    ("/added_tokens", "[]", "no added tokens"),
    ("/model/unk_token", "null", "no unknown token"),
    (
        "/model/continuing_subword_prefix",
        "\"\"",
        "no prefix inside words",
    ),
    ("/model/end_of_word_suffix", "\"\"", "no suffix of words"),
    ("/model/ignore_merges", "false", "merges that are always made"),
];

/// Reads a `tokenizer.json`.
pub fn read(json: &[u8]) -> Result<Tokenizer, TokenizerError> {
    let size_bytes = json.len();
    if size_bytes > SIZE_BYTES_MAX {
        return Err(TokenizerError::TooLarge { size_bytes });
    }
    if json.trim_ascii_start().starts_with(b"<") {
        return Err(TokenizerError::WebPage);
    }
    // As text, like every other JSON here: reading bytes would compile serde_json's parser a second time.
    let text = std::str::from_utf8(json).map_err(<serde_json::Error as serde::de::Error>::custom)?;
    let mut file: Value = serde_json::from_str(text)?;
    for (index, (field, value, need)) in SETTINGS.into_iter().enumerate() {
        let found = file.pointer(field).unwrap_or(&Value::Null);
        let absent_will_do = index > 1;
        let value: Value = serde_json::from_str(value)?;
        if *found != value && !(found.is_null() && absent_will_do) {
            return Err(TokenizerError::Unsupported {
                field,
                found: shortened(found),
                need,
            });
        }
    }
    let Model { vocab, merges } = serde_json::from_value(file["model"].take())?;
    let tokens = tokens(&vocab)?;
    let mut bytes = [None; 256];
    for (id, token) in tokens.iter().enumerate() {
        if let [byte] = token[..] {
            bytes[usize::from(byte)] = Some(id as u32);
        }
    }
    Ok(Tokenizer {
        bytes,
        merges: pairs(&vocab, merges)?,
        tokens,
    })
}

/// The bytes of every token by its id.
fn tokens(vocab: &HashMap<String, u32>) -> Result<Vec<Vec<u8>>, TokenizerError> {
    let bytes = bytes_by_character();
    let mut tokens: Vec<Option<Vec<u8>>> = vec![None; vocab.len()];
    for (token, &id) in vocab {
        let place = tokens.get_mut(id as usize).ok_or_else(|| {
            TokenizerError::Damaged(format!(
                "token {token:?} has the id {id}, and there are only {} tokens",
                vocab.len()
            ))
        })?;
        let token_bytes: Option<Vec<u8>> = token.chars().map(|c| bytes.get(&c).copied()).collect();
        *place = Some(token_bytes.ok_or_else(|| {
            TokenizerError::Damaged(format!("token {token:?} has characters that stand for no byte"))
        })?);
    }
    // As many ids as tokens: if none is missing, none was given twice.
    let count = tokens.len();
    let tokens: Vec<Vec<u8>> = tokens.into_iter().flatten().collect();
    if tokens.len() < count || count == 0 {
        return Err(TokenizerError::Damaged(
            "vocabulary is empty or gives one id twice".into(),
        ));
    }
    Ok(tokens)
}

/// The merges by their pairs of ids.
fn pairs(vocab: &HashMap<String, u32>, merges: Vec<Pair>) -> Result<Merges, TokenizerError> {
    let damaged = |left: &str, right: &str| {
        TokenizerError::Damaged(format!(
            "merge of {left:?} and {right:?} is not in its vocabulary"
        ))
    };
    let mut pairs = Merges::new();
    for (pair, rank) in merges.into_iter().zip(0..) {
        let (left, right) = match pair {
            Pair::Two(left, right) => (left, right),
            Pair::Joined(text) => match text.split_once(' ') {
                Some((left, right)) => (left.to_string(), right.to_string()),
                None => return Err(damaged(&text, "")),
            },
        };
        let joined = format!("{left}{right}");
        let ids = (vocab.get(&left), vocab.get(&right), vocab.get(&joined));
        let (Some(&first), Some(&second), Some(&id)) = ids else {
            return Err(damaged(&left, &right));
        };
        pairs.insert((first, second), Merge { rank, id });
    }
    Ok(pairs)
}

/// The visible characters that stand for bytes in a vocabulary (`bytes_to_unicode` in GPT-2's
/// `encoder.py`): printable Latin-1 stands for itself, the others are counted up from U+0100.
fn bytes_by_character() -> HashMap<char, u8> {
    let mut others = '\u{100}'..;
    (0..=255_u8)
        .map(|byte| {
            let own = matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
            let other = if own { None } else { others.next() };
            (other.unwrap_or(char::from(byte)), byte)
        })
        .collect()
}

/// A value short enough for a message.
fn shortened(value: &Value) -> String {
    const MOST: usize = 40;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn small() -> Value {
        json!({
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
            "model": {
                "type": "BPE",
                "vocab": {"a": 0, "b": 1, "Ġ": 2, "Ġa": 3, "Ã": 4, "Ġab": 5},
                "merges": [["Ġ", "a"], "Ġa b"]
            }
        })
    }

    fn tokenizer(json: &Value) -> Result<Tokenizer, TokenizerError> {
        Tokenizer::from_json(json.to_string().as_bytes())
    }

    #[test]
    fn reads_both_forms_of_merges_and_counts_what_it_drops() {
        let tokenizer = tokenizer(&small()).unwrap();
        assert_eq!(tokenizer.vocabulary(), 6);
        let encoding = tokenizer.encode("a ab a z\u{e9}b");
        // The z and the é go, though one of é's two bytes is a token; the space before stays.
        assert_eq!(encoding.ids, [0, 5, 3, 2, 4, 1]);
        assert_eq!(encoding.dropped, 2);
        assert_eq!(tokenizer.decode(&[0, 5, 99, 4, 1]), "a ab\u{fffd}b");
        assert_eq!(tokenizer.token(5), Some(b" ab".as_slice()));
        assert_eq!(tokenizer.token(6), None);
    }

    #[test]
    fn every_fault_has_its_message() {
        let message = |pointer: &str, value: Value| {
            let mut json = small();
            *json.pointer_mut(pointer).unwrap() = value;
            tokenizer(&json).unwrap_err().to_string()
        };
        assert!(
            message("/model/type", json!("Unigram")).contains("/model/type of the tokenizer is \"Unigram\"")
        );
        assert!(message("/pre_tokenizer", json!(null)).contains("/pre_tokenizer/type of"));
        assert!(message("/pre_tokenizer/add_prefix_space", json!(true)).contains("no prefix space"));
        assert!(message("/model/vocab/a", json!(6)).contains("id 6"));
        assert!(message("/model/vocab/a", json!(1)).contains("twice"));
        assert!(message("/model/vocab", json!({"€": 0})).contains("stand for no byte"));
        assert!(message("/model/merges", json!([["a", "b"]])).contains("\"a\" and \"b\""));
        assert!(message("/model/merges", json!(["ab"])).contains("merge of \"ab\""));
        assert!(message("/model/merges", json!(3)).contains("cannot be read"));
        let of = |bytes: &[u8]| Tokenizer::from_json(bytes).unwrap_err().to_string();
        assert!(of(b"<!doctype html>").contains("web page"));
        assert!(of(b"").contains("cannot be read"));
        assert!(of(b"{}").contains("/model/type of the tokenizer is null"));
        assert!(of(&vec![b' '; SIZE_BYTES_MAX + 1]).contains("limit"));
    }

    proptest! {
        #[test]
        fn damaged_files_are_refused_or_read_but_never_panic(at in 0_usize..400, to: u8, cut in 0_usize..400) {
            let mut bytes = small().to_string().into_bytes();
            let at = at % bytes.len();
            bytes[at] = to;
            if let Ok(tokenizer) = Tokenizer::from_json(&bytes) {
                tokenizer.encode("a ab b");
            }
            bytes.truncate(cut);
            let _ = Tokenizer::from_json(&bytes);
        }
    }
}
