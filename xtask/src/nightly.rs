//! What takes too long for every change: the fuzzers at length, every shipped model measured again, a long session.

use crate::fuzz;
use crate::test::{self, Report};
use crate::workspace::{cargo, run};
use anyhow::Result;

#[derive(clap::Args)]
pub struct Arguments {
    /// For each of the fuzzers' targets
    #[arg(long, default_value_t = 600)]
    seconds: u64,
}

pub fn run_all(arguments: &Arguments) -> Result<()> {
    let mut report = Report::default();
    report.part("perplexities", || {
        run(&mut cargo(&[
            "run",
            "--release",
            "--package",
            "longview-trainer",
            "--",
            "--verify",
        ]))
    });
    report.part("fuzz", || fuzz::all_at_length(arguments.seconds));
    report.part("soak", || test::soak(30));
    report.finish()
}
