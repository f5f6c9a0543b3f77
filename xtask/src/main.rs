//! The project's chores, run as `cargo xtask CHORE`.

mod bench;
mod compile;
mod compress;
mod document;
mod fuzz;
mod habits;
mod install;
mod licences;
mod nightly;
mod offline;
mod package;
mod pictures;
mod release;
mod scripts;
mod serve;
mod site;
mod split;
mod test;
mod workspace;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

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
    /// Build the page as a folder for any static host, under any base path
    #[command(after_help = "Example:\n  cargo xtask site --out /srv/www/longview")]
    Site(site::Arguments),
    /// Build the page as one file that works offline
    #[command(
        after_help = "Examples:\n  cargo xtask bundle\n  cargo xtask bundle --models alibi,rotary --out talk.html"
    )]
    Bundle(offline::Arguments),
    /// Install what is missing and run every test: native, kernels, real browser
    #[command(
        after_help = "Examples:\n  cargo xtask test\n  cargo xtask test --native\n  cargo xtask test --browser -- --grep \"main path\"\n  cargo xtask test --soak 30"
    )]
    Test(test::Arguments),
    /// Feed made-up input to everything that reads (by libFuzzer, on Linux)
    #[command(after_help = "Examples:\n  cargo xtask fuzz --seconds 600\n  cargo xtask fuzz figure --keep")]
    Fuzz(fuzz::Arguments),
    /// Draw the still pictures of www/pictures, which stand in for a program that a browser refuses
    Pictures(pictures::Arguments),
    /// Run what takes too long for every change: fuzzers for ten minutes each, every model's perplexity
    Nightly(nightly::Arguments),
    /// Give a version its number and date, and build all that is published, into out/release/
    #[command(after_help = "Example:\n  cargo xtask release 0.2.0")]
    Release(release::Arguments),
    /// Check the crates we depend on by cargo-deny, which has to be installed, against deny.toml
    Deny,
    /// Train the shipped checkpoints from the corpus (`--help` for the trainer's options)
    #[command(disable_help_flag = true)]
    Train {
        /// Given to the trainer
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Print how fast engines and pictures are beside those of other libraries, in one Chromium
    #[command(
        after_help = "Examples:\n  cargo xtask bench --parts speed --models alibi --engines ours-cpu,ort-wasm --sizes 16x128\n  cargo xtask bench --training"
    )]
    Bench(bench::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // One line with its causes; a stack trace says nothing to who ran a chore.
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Build(arguments) => package::build_within_budget(&arguments),
        Chore::Serve(arguments) => serve::run(&arguments),
        Chore::Site(arguments) => site::run(&arguments),
        Chore::Bundle(arguments) => offline::run(&arguments),
        Chore::Test(arguments) => test::run_all(&arguments),
        Chore::Fuzz(arguments) => fuzz::run_all(&arguments),
        Chore::Pictures(arguments) => pictures::run_all(&arguments),
        Chore::Nightly(arguments) => nightly::run_all(&arguments),
        Chore::Release(arguments) => release::run(&arguments),
        Chore::Deny => licences::deny(),
        Chore::Train { arguments } => train(&arguments),
        Chore::Bench(arguments) => bench::run_all(&arguments),
    }
}

/// Runs the trainer with all of the optimiser; `gemm` finds the processor's vector units when it runs.
fn train(arguments: &[String]) -> Result<()> {
    let mut trainer = workspace::cargo(&["run", "--release", "--package", "longview-trainer", "--"]);
    workspace::run(trainer.args(arguments))
}
