//! GPT-2's splitting of a text into words, before any merging. It is the regular expression
//! `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
//! (`encoder.py` in openai/gpt-2), written by hand so that the page need not carry a regex engine.

include!(concat!(env!("OUT_DIR"), "/categories.rs"));

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// `\s`
    Space,
    /// `\p{L}`
    Letter,
    /// `\p{N}`
    Number,
    Other,
}

fn class(character: char) -> Class {
    match character {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Number,
        _ if character.is_whitespace() => Class::Space,
        _ if character.is_ascii() => Class::Other,
        _ if is_in(&LETTERS, character) => Class::Letter,
        _ if is_in(&NUMBERS, character) => Class::Number,
        _ => Class::Other,
    }
}

/// Whether a table of ranges, which `build.rs` wrote, holds a character.
fn is_in(ranges: &[(u32, u32)], character: char) -> bool {
    let point = u32::from(character);
    let after = ranges.partition_point(|&(first, _)| first <= point);
    after > 0 && point <= ranges[after - 1].1
}

/// The words of a text: they follow each other without gaps, so joined they are the text.
pub fn words(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        if text.is_empty() {
            return None;
        }
        let (word, rest) = text.split_at(word_length(text));
        text = rest;
        Some(word)
    })
}

/// The bytes of the first word of a text that is not empty.
fn word_length(text: &str) -> usize {
    const SUFFIXES: [&str; 7] = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d"];
    if let Some(suffix) = SUFFIXES.iter().find(|suffix| text.starts_with(**suffix)) {
        return suffix.len();
    }
    let bare = text.strip_prefix(' ').unwrap_or(text);
    match bare.chars().next().map(class) {
        Some(kind) if kind != Class::Space => {
            let run = run_length(bare, kind);
            text.len() - bare.len() + run
        }
        _ => {
            let run = run_length(text, Class::Space);
            // The last space before a word belongs to it (or stands alone, where it is no ' ').
            match text[..run].char_indices().next_back() {
                Some((last, _)) if run < text.len() && last > 0 => last,
                _ => run,
            }
        }
    }
}

/// The bytes of the run of characters of a class that begins a text.
fn run_length(text: &str, kind: Class) -> usize {
    text.find(|character| class(character) != kind)
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn splits_as_the_expression_does() {
        let split = |text| words(text).collect::<Vec<_>>();
        assert_eq!(
            split("I'll see\n\n  you're 25, ok"),
            ["I", "'ll", " see", "\n\n ", " you", "'re", " 25", ",", " ok"]
        );
        assert_eq!(split("a \n b"), ["a", " \n", " b"]);
        assert_eq!(split("a\tb"), ["a", "\t", "b"]);
        assert_eq!(split("a  "), ["a", "  "]);
        assert_eq!(split("!'s 's"), ["!'", "s", " '", "s"]);
        assert_eq!(split("é½\u{a0}x\u{301}"), ["é", "½", "\u{a0}", "x", "\u{301}"]);
        assert!(split("").is_empty());
    }
}
