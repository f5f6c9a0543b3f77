//! Measures the engines in Chromium.

use crate::serve::Site;
use crate::workspace::{find_program, root, run};
use crate::{install, package};
use anyhow::Result;
use std::process::Command;

const BENCH: &str = "bench";

#[derive(clap::Args)]
pub struct Arguments {
    /// Runs of each engine at each length; the median is printed
    #[arg(long, default_value_t = 5)]
    rounds: u32,
}

/// Prints tokens per second of the GPU and the CPU engine at several lengths.
pub fn run_all(arguments: &Arguments) -> Result<()> {
    package::build_checks()?;
    let chromium = install::chromium()?;
    install::npm_packages(BENCH)?;
    let site = Site::start(0)?;
    run(
        Command::new(find_program(&["node"]).unwrap_or_else(|| "node".into()))
            .current_dir(root().join(BENCH))
            .arg("run.js")
            .env("LONGVIEW_URL", &site.address)
            .env("LONGVIEW_CHROMIUM", chromium)
            .env("LONGVIEW_BENCH_ROUNDS", arguments.rounds.max(1).to_string()),
    )
}
