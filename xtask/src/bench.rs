//! Measures the engines and the pictures in Chromium.

use crate::serve::Site;
use crate::workspace::{find_program, root, run};
use crate::{install, package};
use anyhow::Result;
use std::process::Command;

const BENCH: &str = "bench";

#[derive(clap::Args)]
pub struct Arguments {
    /// Parts to run: speed, cold, growth, limits, figures, and, when they are named, native and training
    #[arg(long, value_delimiter = ',', value_parser = PARTS)]
    parts: Vec<String>,
    /// Engines to measure, such as ours-cpu,ort-wasm; by default all of them
    #[arg(long)]
    engines: Option<String>,
    /// Models to measure, of alibi, rotary and t5_bias; by default all of them
    #[arg(long)]
    models: Option<String>,
    /// Batches, as windows x length [default: 16x128,8x512,2x2048,1x8192]
    #[arg(long)]
    sizes: Option<String>,
    /// Runs of each engine with each batch, in turn; medians are printed
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seconds that one run may take
    #[arg(long, default_value_t = 60)]
    patience: u32,
    /// Only the pictures: one redrawn by Longview, Plotly and Observable Plot, and the page's slider
    #[arg(long, conflicts_with = "parts")]
    figures: bool,
    /// Only steps of training, beside JAX
    #[arg(long, conflicts_with_all = ["parts", "figures"])]
    training: bool,
}

/// The parts, in the order in which they run; all but the last are bench/run.js's.
const PARTS: [&str; 7] = [
    "speed", "cold", "growth", "limits", "native", "training", "figures",
];
/// Those that run where none is named: the others build or install for minutes.
const USUAL: [&str; 5] = ["speed", "cold", "growth", "limits", "figures"];

impl Arguments {
    fn wanted(&self) -> Vec<&str> {
        match (self.figures, self.training) {
            (true, _) => vec!["figures"],
            (_, true) => vec!["training"],
            _ if self.parts.is_empty() => USUAL.to_vec(),
            _ => self.parts.iter().map(String::as_str).collect(),
        }
    }
}

/// Prints how fast the engines are beside others in the same Chromium, and how fast pictures are drawn.
pub fn run_all(arguments: &Arguments) -> Result<()> {
    let (figures, engines): (Vec<&str>, Vec<&str>) = arguments
        .wanted()
        .into_iter()
        .partition(|part| *part == "figures");
    let chromium = install::chromium()?;
    install::npm_packages(BENCH)?;
    let node = || {
        let mut node = Command::new(find_program(&["node"]).unwrap_or_else(|| "node".into()));
        node.current_dir(root().join(BENCH))
            .env("LONGVIEW_CHROMIUM", &chromium);
        node
    };
    if !engines.is_empty() {
        // Helpers are of the module that readers download.
        package::build(&package::Arguments { fast: false })?;
        package::build_checks(true)?;
        let mut script = node();
        script.arg("run.js").args(["--parts", &engines.join(",")]);
        script.args(["--rounds", &arguments.rounds.max(1).to_string()]);
        script.args(["--patience", &arguments.patience.to_string()]);
        for (name, value) in [
            ("--engines", &arguments.engines),
            ("--models", &arguments.models),
            ("--sizes", &arguments.sizes),
        ] {
            if let Some(value) = value {
                script.args([name, value]);
            }
        }
        run(&mut script)?;
    }
    if !figures.is_empty() {
        package::build(&package::Arguments { fast: false })?;
        let site = Site::start(0)?;
        run(node()
            .arg("figures.js")
            .env("LONGVIEW_URL", &site.address)
            .env("LONGVIEW_BENCH_ROUNDS", arguments.rounds.max(1).to_string()))?;
    }
    Ok(())
}
