//! The plain Rust twins of the kernels.
