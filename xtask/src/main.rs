//! The project's chores, run as `cargo xtask CHORE`.

mod install;
mod package;
mod serve;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Build, serve, test, train and measure Longview.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Build pkg/: the wasm module, its JavaScript and its types
    Build(package::Arguments),
    /// Build pkg/ and serve the page on this machine
    #[command(after_help = "Examples:\n  cargo xtask serve\n  cargo xtask serve --port 9000 --no-open")]
    Serve(serve::Arguments),
}

fn main() -> Result<()> {
    match Arguments::parse().chore {
        Chore::Build(arguments) => package::build(&arguments).map(|_| ()),
        Chore::Serve(arguments) => serve::run(&arguments),
    }
}
