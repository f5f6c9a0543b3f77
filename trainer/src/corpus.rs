//! The texts: what is trained on, what is held out.

use anyhow::{Context, Result};
use longview::model::clean;
use std::path::Path;

/// The novels of the training text, in order.
const TRAINING: [&str; 5] = [
    "emma",
    "mansfield-park",
    "northanger-abbey",
    "pride-and-prejudice",
    "sense-and-sensibility",
];

/// Cleaned texts.
pub struct Corpus {
    /// Five novels of Jane Austen.
    pub training: String,
    /// Her *Persuasion*: never trained on.
    pub persuasion: String,
    /// Shakespeare's *Hamlet*, another author and form: never trained on.
    pub hamlet: String,
}

impl Corpus {
    /// Reads `folder`, the repository's `corpus/`.
    ///
    /// # Errors
    /// A text that is not there.
    pub fn read(folder: &Path) -> Result<Self> {
        let text = |name: &str| -> Result<String> {
            let path = folder.join(name);
            let raw = std::fs::read_to_string(&path).with_context(|| {
                format!(
                    "cannot read {}; run in the repository, or give --corpus",
                    path.display()
                )
            })?;
            Ok(clean(&raw))
        };
        let mut training = String::new();
        for name in TRAINING {
            training.push_str(&text(&format!("austen/{name}.txt"))?);
        }
        Ok(Self {
            training,
            persuasion: text("austen/persuasion.txt")?,
            hamlet: text("shakespeare/hamlet.txt")?,
        })
    }
}
