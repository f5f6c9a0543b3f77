//! A small encoder and decoder of byte-level BPE, for the usual `tokenizer.json`.

mod file;
mod merge;
mod split;

pub use file::TokenizerError;

use merge::{Merges, merge};
use std::collections::HashMap;

/// Byte-level BPE as GPT-2 has it: a text becomes words, a word bytes, and pairs of them merge.
/// It gives the same tokens as the `tokenizers` crate from the same file.
#[derive(Clone, Debug)]
pub struct Tokenizer {
    /// The token of each single byte; `None` where the vocabulary lacks it.
    bytes: [Option<u32>; 256],
    merges: Merges,
    /// The bytes of each token, by id.
    tokens: Vec<Vec<u8>>,
}

/// A text in tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    pub ids: Vec<u32>,
    /// How many characters were left out, wholly or in part, because the vocabulary has no token for
    /// their bytes. The shipped vocabulary has the characters of the novels only.
    pub dropped: usize,
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// Bytes that are no such file, and settings other than byte-level BPE with GPT-2's splitting.
    pub fn from_json(json: &[u8]) -> Result<Self, TokenizerError> {
        file::read(json)
    }

    /// Number of tokens in the vocabulary.
    pub fn vocabulary(&self) -> usize {
        self.tokens.len()
    }

    /// The bytes that a token stands for; they need not be whole characters.
    pub fn token(&self, id: u32) -> Option<&[u8]> {
        self.tokens.get(id as usize).map(Vec::as_slice)
    }

    /// The tokens of a text.
    pub fn encode(&self, text: &str) -> Encoding {
        let mut encoding = Encoding::default();
        // Most words of a text come again and again.
        let mut known: HashMap<&str, Encoding> = HashMap::new();
        for word in split::words(text) {
            let word = known.entry(word).or_insert_with(|| self.encode_word(word));
            encoding.ids.extend(&word.ids);
            encoding.dropped += word.dropped;
        }
        encoding
    }

    /// The text of some tokens. Ids outside the vocabulary are left out, and bytes that are no whole
    /// character become U+FFFD.
    pub fn decode(&self, ids: &[u32]) -> String {
        let bytes: Vec<u8> = ids
            .iter()
            .filter_map(|&id| self.token(id))
            .flatten()
            .copied()
            .collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn encode_word(&self, word: &str) -> Encoding {
        let known = |byte: u8| self.bytes[usize::from(byte)];
        let mut buffer = [0; 4];
        let dropped = word
            .chars()
            .filter(|character| {
                let bytes = character.encode_utf8(&mut buffer).bytes();
                bytes.into_iter().any(|byte| known(byte).is_none())
            })
            .count();
        Encoding {
            ids: merge(word.bytes().filter_map(known).collect(), &self.merges),
            dropped,
        }
    }
}
