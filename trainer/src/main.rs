//! `longview-trainer`: retrains the checkpoints that the page ships.

use anyhow::{Result, bail, ensure};
use clap::Parser;
use longview::encoding::{Encoding, NAMES};
use longview_trainer::corpus::Corpus;
use longview_trainer::grid::{self, Model, Set};
use longview_trainer::manifest;
use longview_trainer::recipe::Recipe;
use longview_trainer::run::{Tokens, complete};
use longview_trainer::state::write_whole;
use longview_trainer::tokenizer;
use longview_trainer::verify::verify;
use std::path::PathBuf;
use std::time::Instant;

/// Trains the checkpoints from the corpus: a minute or two each on two cores, the base six first.
///
/// A run that was interrupted goes on where it stopped; models that are there already are left alone.
#[derive(Parser)]
#[command(
    name = "longview-trainer",
    after_help = "Examples:\n  cargo xtask train\n  cargo xtask train --only alibi --again\n  cargo xtask train --quick --out out/quick"
)]
struct Arguments {
    /// Only these models, by the names of their files
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Only these parts of the grid
    #[arg(long, value_enum, value_delimiter = ',')]
    set: Vec<Set>,
    /// One very small model (ALiBi unless --only says otherwise) in about a minute
    #[arg(long)]
    quick: bool,
    /// Stop after that many steps; the state is kept, and the next run goes on from it
    #[arg(long)]
    until: Option<usize>,
    /// Train models anew that are there already
    #[arg(long)]
    again: bool,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where checkpoints, logs and the tokenizer go
    #[arg(long, default_value = "www/checkpoints")]
    out: PathBuf,
    /// Where the cleaned evaluation texts go
    #[arg(long, default_value = "www/texts")]
    texts: PathBuf,
    #[arg(long, default_value = "corpus")]
    corpus: PathBuf,
    /// Only make the tokenizer and the texts
    #[arg(long)]
    prepare: bool,
    /// Train nothing: measure the models that are there again, and compare with the manifest
    #[arg(long, conflicts_with_all = ["quick", "again", "until", "prepare"])]
    verify: bool,
    /// With --verify, write what was measured to the manifest
    #[arg(long, requires = "verify")]
    write: bool,
    /// With --verify, only these lengths of the manifest's
    #[arg(long, value_delimiter = ',', requires = "verify")]
    lengths: Vec<usize>,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let corpus = Corpus::read(&arguments.corpus)?;
    let bpe = tokenizer::train(&corpus.training, 512)?;
    let tokens = Tokens {
        training: tokenizer::encode(&bpe, &corpus.training)?,
        held_out: tokenizer::encode(&bpe, &corpus.persuasion)?,
    };
    eprintln!(
        "{} training tokens, {} held out",
        tokens.training.len(),
        tokens.held_out.len()
    );
    if arguments.verify {
        return verify(
            &arguments.out,
            &arguments.only,
            &arguments.lengths,
            &tokens.held_out,
            arguments.write,
        );
    }
    let json = bpe
        .to_string(true)
        .map_err(|error| anyhow::anyhow!("cannot write the tokenizer: {error}"))?;
    write_whole(&arguments.out.join("tokenizer.json"), json.as_bytes())?;
    if !arguments.quick {
        write_whole(
            &arguments.texts.join("persuasion.txt"),
            corpus.persuasion.as_bytes(),
        )?;
        write_whole(&arguments.texts.join("hamlet.txt"), corpus.hamlet.as_bytes())?;
    }
    if arguments.prepare {
        return Ok(());
    }
    let grid = grid::all(arguments.seed);
    for model in chosen(&arguments, &grid)? {
        let name = &model.name;
        let path = arguments.out.join(format!("{name}.safetensors"));
        if path.exists() && !arguments.again {
            eprintln!("{name}: {} is there; --again trains it anew", path.display());
            continue;
        }
        if let Some(until) = arguments.until {
            let state = arguments.out.join(format!("{name}.state"));
            longview_trainer::run::train(&model.recipe, name, &tokens.training, &state, until)?;
            continue;
        }
        let clock = Instant::now();
        let path = complete(&model.recipe, name, &tokens, &arguments.out)?;
        let seconds = clock.elapsed().as_secs_f64();
        eprintln!("{name}: wrote {} in {seconds:.0} s", path.display());
        if !arguments.quick {
            manifest::write(&arguments.out, &grid, Some((name, seconds)))?;
        }
    }
    if arguments.quick {
        return Ok(());
    }
    manifest::write(&arguments.out, &grid, None)
}

/// The models to train, in the grid's order.
fn chosen(arguments: &Arguments, grid: &[Model]) -> Result<Vec<Model>> {
    if arguments.quick {
        let names = match &arguments.only[..] {
            [] => vec!["alibi".to_string()],
            only => only.to_vec(),
        };
        let quick = |name: String| match Encoding::from_name(&name) {
            Some(encoding) => Ok(Model {
                recipe: Recipe::quick(encoding, arguments.seed),
                set: Set::Base,
                name,
            }),
            None => bail!(
                "there is no encoding \"{name}\"; choose from {}",
                NAMES.join(", ")
            ),
        };
        return names.into_iter().map(quick).collect();
    }
    for name in &arguments.only {
        let names: Vec<&str> = grid.iter().map(|model| model.name.as_str()).collect();
        ensure!(
            names.contains(&name.as_str()),
            "there is no model \"{name}\"; choose from {}",
            names.join(", ")
        );
    }
    let wanted = |model: &&Model| {
        let Arguments { only, set, .. } = arguments;
        (only.is_empty() || only.contains(&model.name)) && (set.is_empty() || set.contains(&model.set))
    };
    Ok(grid.iter().filter(wanted).cloned().collect())
}
