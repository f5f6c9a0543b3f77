//! Measures the engines and the pictures in Chromium.

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
    /// Only the pictures: one redrawn by Longview, Plotly and Observable Plot, and the page's slider
    #[arg(long)]
    figures: bool,
}

/// Prints tokens per second of the GPU and the CPU engine at several lengths, and how fast pictures are drawn.
pub fn run_all(arguments: &Arguments) -> Result<()> {
    package::build(&package::Arguments { fast: false })?;
    let mut scripts = vec!["figures.js"];
    if !arguments.figures {
        package::build_checks()?;
        scripts.insert(0, "run.js");
    }
    let chromium = install::chromium()?;
    install::npm_packages(BENCH)?;
    let site = Site::start(0)?;
    for script in scripts {
        run(
            Command::new(find_program(&["node"]).unwrap_or_else(|| "node".into()))
                .current_dir(root().join(BENCH))
                .arg(script)
                .env("LONGVIEW_URL", &site.address)
                .env("LONGVIEW_CHROMIUM", &chromium)
                .env("LONGVIEW_BENCH_ROUNDS", arguments.rounds.max(1).to_string()),
        )?;
    }
    Ok(())
}
