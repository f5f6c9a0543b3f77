//! Trains the models that the page ships: corpus, tokenizer, optimiser, and the loop.
//!
//! The forward and backward passes are the library's (`longview::engine::cpu`).

pub mod batches;
pub mod copies;
pub mod corpus;
pub mod evaluate;
pub mod grid;
pub mod manifest;
pub mod optimizer;
pub mod recipe;
pub mod run;
pub mod state;
pub mod tokenizer;
pub mod verify;
