//! The cleaning of the trained texts, for a text of the reader's own.

use crate::model;
use wasm_bindgen::prelude::*;

/// Joins wrapped lines and writes in ASCII, as was done with the texts that the models were trained on.
#[wasm_bindgen]
pub fn clean(text: &str) -> String {
    model::clean(text)
}
