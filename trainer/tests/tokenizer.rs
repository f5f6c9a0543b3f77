//! The library's small tokenizer against the `tokenizers` crate: from the shipped file, from a file
//! of another vocabulary, on the corpus and on random strings.

use longview::model::Tokenizer;
use longview_trainer::corpus::Corpus;
use longview_trainer::tokenizer;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Theirs and ours from one file.
struct Both {
    theirs: tokenizers::Tokenizer,
    ours: Tokenizer,
}

impl Both {
    fn new(json: &str) -> Self {
        Self {
            theirs: json.parse().unwrap(),
            ours: Tokenizer::from_json(json.as_bytes()).unwrap(),
        }
    }

    /// Ours, checked against theirs; returns the tokens and how many characters were dropped.
    fn encode(&self, text: &str) -> (Vec<u32>, usize) {
        let ours = self.ours.encode(text);
        let theirs = self.theirs.encode(text, false).unwrap();
        assert!(ours.ids == theirs.get_ids(), "{:.200?}", text);
        (ours.ids, ours.dropped)
    }
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

static SHIPPED: LazyLock<Both> = LazyLock::new(|| {
    let path = repository().join("www/checkpoints/tokenizer.json");
    Both::new(&std::fs::read_to_string(path).unwrap())
});

/// Many scripts, so that bytes outside ASCII have tokens and merges too.
const SAMPLE: &str =
    "déjà vu — ¿qué? «Ελλάδα» ½ Ⅻ 東京 ١٢٣ naïve naïve déjà\u{a0}là 'tis \u{2003} e\u{301} 🙂🙂🙂";

static MIXED: LazyLock<Both> = LazyLock::new(|| {
    let text = SAMPLE.repeat(20);
    let trained = tokenizer::train(&text, 160).unwrap();
    Both::new(&trained.to_string(false).unwrap())
});

#[test]
fn the_corpus_has_the_same_tokens_and_comes_back() {
    let corpus = Corpus::read(&repository().join("corpus")).unwrap();
    assert_eq!(SHIPPED.ours.vocabulary(), 512);
    for text in [&corpus.training, &corpus.persuasion] {
        let (ids, dropped) = SHIPPED.encode(text);
        assert_eq!(dropped, 0);
        assert!(SHIPPED.ours.decode(&ids) == **text);
    }
    let (ids, dropped) = SHIPPED.encode(&corpus.hamlet);
    assert_eq!(
        SHIPPED.ours.decode(&ids).chars().count() + dropped,
        corpus.hamlet.chars().count()
    );
}

#[test]
fn the_shipped_texts_are_the_cleaned_corpus() {
    let corpus = Corpus::read(&repository().join("corpus")).unwrap();
    for (name, text) in [("persuasion", &corpus.persuasion), ("hamlet", &corpus.hamlet)] {
        let path = repository().join(format!("www/texts/{name}.txt"));
        assert!(std::fs::read_to_string(path).unwrap() == **text, "{name}");
    }
}

#[test]
fn every_character_is_split_and_encoded_alike() {
    let all: Vec<char> = ('\0'..=char::MAX).collect();
    for piece in all.chunks(4096) {
        // Between letters, digits, signs and spaces each character shows its class.
        let text: String = piece
            .iter()
            .flat_map(|&c| ['a', c, ' ', c, '1', c, '.', c])
            .collect();
        MIXED.encode(&text);
        SHIPPED.encode(&text);
    }
}

#[test]
fn long_runs_are_encoded_alike() {
    for unit in ["a", " ", "\n", " \n", "'", "e", "é", "the", "🙂"] {
        let text = unit.repeat(20_000);
        MIXED.encode(&text);
        SHIPPED.encode(&text);
    }
}

#[test]
fn ours_decodes_as_theirs_does() {
    for both in [&*SHIPPED, &*MIXED] {
        let ids: Vec<u32> = (0..both.ours.vocabulary() as u32).rev().collect();
        for ids in ids.chunks(7) {
            assert_eq!(both.ours.decode(ids), both.theirs.decode(ids, false).unwrap());
        }
    }
}

/// Strings full of what the splitting looks at.
fn tricky() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        proptest::sample::select(vec![
            " ", "  ", "\n", "\t", "\u{a0}", "\u{2003}", "\r\n", "'s", "'t", "'re", "'ve", "'m", "'ll", "'d",
            "'S", "'", "''", "l", "the", "ing", "é", "déjà", "½", "7", "٣", "_", "—", "🙂", "\u{301}", "東",
            "\u{85}", "\u{feff}", "\0",
        ])
        .prop_map(str::to_string),
        "[ -~]{0,6}",
        "\\PC{0,4}",
    ];
    proptest::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn random_strings_are_encoded_alike(text in tricky()) {
        SHIPPED.encode(&text);
        let (ids, dropped) = MIXED.encode(&text);
        if dropped == 0 {
            prop_assert_eq!(MIXED.ours.decode(&ids), text);
        }
    }

    #[test]
    fn random_ascii_is_encoded_alike(text in "[ -~\n\t]{0,200}") {
        SHIPPED.encode(&text);
    }

    #[test]
    fn any_string_is_encoded_alike(text in any::<String>()) {
        SHIPPED.encode(&text);
        MIXED.encode(&text);
    }
}
