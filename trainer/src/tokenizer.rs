//! Makes the tokenizer: byte-level BPE by the `tokenizers` crate, in the usual `tokenizer.json`.

use anyhow::{Result, anyhow};
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{Tokenizer, TokenizerBuilder};

/// A byte-level BPE of `vocabulary` tokens over the characters of `text`; the same text gives the same
/// tokenizer.
///
/// # Errors
/// What the `tokenizers` crate says.
pub fn train(text: &str, vocabulary: usize) -> Result<Tokenizer> {
    let bytes = ByteLevel::new(false, true, true);
    let mut tokenizer = TokenizerBuilder::new()
        .with_model(BPE::default())
        .with_normalizer(None::<tokenizers::NormalizerWrapper>)
        .with_pre_tokenizer(Some(bytes))
        .with_post_processor(None::<tokenizers::PostProcessorWrapper>)
        .with_decoder(Some(bytes))
        .build()
        .map_err(|error| anyhow!("cannot build a tokenizer: {error}"))?;
    let mut trainer = BpeTrainer::builder()
        .vocab_size(vocabulary)
        .show_progress(false)
        .build();
    tokenizer
        .train(&mut trainer, std::iter::once(text))
        .map_err(|error| anyhow!("cannot train the tokenizer: {error}"))?;
    // The page and the tests take the general type, read from its file.
    let json = tokenizer
        .to_string(true)
        .map_err(|error| anyhow!("cannot write the tokenizer: {error}"))?;
    json.parse()
        .map_err(|error| anyhow!("cannot read the tokenizer back: {error}"))
}

/// The tokens of a text.
///
/// # Errors
/// What the `tokenizers` crate says.
pub fn encode(tokenizer: &Tokenizer, text: &str) -> Result<Vec<u32>> {
    let encoding = tokenizer
        .encode(text, false)
        .map_err(|error| anyhow!("cannot tokenize: {error}"))?;
    Ok(encoding.get_ids().to_vec())
}
