//! What is measured: perplexity by length, loss by position.
