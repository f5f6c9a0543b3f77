//! `longview`: the page's tables, measurements and figures on the command line.

mod claims;
mod encoding;
mod evaluate;
mod figure;
mod files;
mod inspect;
mod run;
mod table;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// See what happens to a transformer when a sequence grows past the length it was trained on.
#[derive(Parser)]
#[command(name = "longview", version, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Table(Box<table::Arguments>),
    Evaluate(evaluate::Arguments),
    Claims(claims::Arguments),
    Inspect(inspect::Arguments),
    Figure(Box<figure::Arguments>),
}

fn run(command: &Command) -> Result<()> {
    match command {
        Command::Table(arguments) => table::run(arguments),
        Command::Evaluate(arguments) => evaluate::run(arguments),
        Command::Claims(arguments) => claims::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Figure(arguments) => figure::run(arguments),
    }
}

fn main() -> ExitCode {
    match run(&Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if files::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
