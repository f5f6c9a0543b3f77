//! `longview-trainer`: retrains the checkpoints that the page ships.

use anyhow::{Result, ensure};
use clap::Parser;
use longview::encoding::{Encoding, NAMES};
use longview_trainer::corpus::Corpus;
use longview_trainer::recipe::Recipe;
use longview_trainer::run::{Tokens, complete};
use longview_trainer::state::write_whole;
use longview_trainer::tokenizer;
use std::path::PathBuf;

/// Trains the checkpoints from the corpus: one model an encoding, about two minutes each on two cores.
///
/// A run that was interrupted goes on where it stopped; models that are there already are left alone.
#[derive(Parser)]
#[command(
    name = "longview-trainer",
    after_help = "Examples:\n  cargo xtask train\n  cargo xtask train --only alibi --again\n  cargo xtask train --quick --out out/quick"
)]
struct Arguments {
    /// Only these encodings
    #[arg(long, value_delimiter = ',', value_parser = clap::builder::PossibleValuesParser::new(NAMES))]
    only: Vec<String>,
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
    let names: Vec<&str> = match (&arguments.only[..], arguments.quick) {
        ([], true) => vec!["alibi"],
        // The ones that a reader compares first come first.
        ([], false) => vec!["alibi", "rotary", "sinusoidal", "t5_bias", "learned", "none"],
        (only, _) => only.iter().map(String::as_str).collect(),
    };
    for name in names {
        let path = arguments.out.join(format!("{name}.safetensors"));
        if path.exists() && !arguments.again {
            eprintln!("{name}: {} is there; --again trains it anew", path.display());
            continue;
        }
        let encoding = Encoding::from_name(name);
        ensure!(
            encoding.is_some(),
            "there is no encoding \"{name}\"; choose from {}",
            NAMES.join(", ")
        );
        let Some(encoding) = encoding else { continue };
        let recipe = if arguments.quick {
            Recipe::quick(encoding, arguments.seed)
        } else {
            Recipe::base(encoding, arguments.seed)
        };
        if let Some(until) = arguments.until {
            let state = arguments.out.join(format!("{name}.state"));
            longview_trainer::run::train(&recipe, name, &tokens.training, &state, until)?;
            continue;
        }
        eprintln!(
            "{name}: wrote {}",
            complete(&recipe, name, &tokens, &arguments.out)?.display()
        );
    }
    Ok(())
}
