use crate::files::{self, Format};
use crate::run::EngineName;
use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use longview::engine::Engine;
use longview::experiment::board::{
    Board, CLAIMS, Cell, Finding, Missing, Next, Options, Part, Parts, Source, Table, Verdict, engine_name,
    fingerprint, text_of,
};
use longview::experiment::{ModelError, Models};
use longview::model::{Tokenizer, clean};
use serde::Serialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::Instant;

/// Measure the claims of the ALiBi paper and of what came after, and say what the numbers make of them
///
/// Each claim has a rule that makes a verdict of the numbers: it holds, holds partly, or differs. Models that
/// are not there are left out and named.
#[derive(Args)]
#[command(after_help = "Examples:
  longview claims --list
  longview claims sinusoidal rotary alibi --quick
  longview claims --out results.json --format json
  longview claims other_text --own letter.txt")]
pub struct Arguments {
    /// The names of the claims [default: all]
    claims: Vec<String>,
    /// Only say which claims there are, and what they need
    #[arg(long)]
    list: bool,
    /// The folder of the checkpoints and their tokenizer
    #[arg(long, default_value = "www/checkpoints")]
    models: PathBuf,
    /// The folder of the texts
    #[arg(long, default_value = "www/texts")]
    texts: PathBuf,
    /// The text of most claims
    #[arg(long, default_value = "persuasion")]
    text: String,
    /// A text of your own in UTF-8, for the claim other_text; it is cleaned as the training text was
    #[arg(long)]
    own: Option<PathBuf>,
    /// A quarter of the tokens and fewer lengths
    #[arg(long)]
    quick: bool,
    /// Keep results in this file, and go on from what it holds
    #[arg(long)]
    out: Option<PathBuf>,
    /// What computes; `auto` takes a GPU where there is a real one that agrees with the CPU
    #[arg(long, value_enum, default_value = "auto")]
    engine: EngineName,
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Serialize)]
struct Report {
    id: &'static str,
    number: u8,
    source: Source,
    #[serde(flatten)]
    finding: Finding,
    paper: Table,
    missing: Vec<Missing>,
    /// Multiply-adds that were measured.
    operations: u64,
}

/// The page's words, in English.
struct Words(Value);

impl Words {
    fn new() -> Result<Self> {
        Ok(Self(serde_json::from_str(include_str!(
            "../../www/locales/en.json"
        ))?))
    }

    /// The words at a path; the path itself where there are none.
    fn get<'a>(&'a self, path: &'a str) -> &'a str {
        let found = path.split('.').try_fold(&self.0, |at, name| at.get(name));
        found.and_then(Value::as_str).unwrap_or(path)
    }

    /// A sentence with its parts filled in.
    fn sentence(&self, path: &str, parts: &Parts) -> String {
        parts
            .iter()
            .fold(self.get(path).to_string(), |sentence, (name, part)| {
                let text = match part {
                    Part::Text(text) => text,
                    Part::Word { word } => self.get(word),
                };
                sentence.replace(&format!("{{{name}}}"), text)
            })
    }
}

/// What measures: an engine, its models, and the board.
struct Lab<'a> {
    arguments: &'a Arguments,
    engine: Engine,
    models: Models,
    tokenizer: Tokenizer,
    board: Board,
    began: Instant,
}

/// # Errors
/// An unknown claim, a folder without a tokenizer, results that cannot be read or written, an engine that
/// fails.
pub fn run(arguments: &Arguments) -> Result<()> {
    let names: Vec<&'static str> = CLAIMS.iter().map(|claim| claim.id()).collect();
    let wanted: Vec<&'static str> = if arguments.claims.is_empty() {
        names.clone()
    } else {
        let known = |id: &String| names.iter().copied().find(|name| name == id);
        let unknown = arguments.claims.iter().find(|id| known(id).is_none());
        if let Some(id) = unknown {
            bail!("there is no claim \"{id}\"; choose from {}", names.join(", "));
        }
        arguments.claims.iter().filter_map(known).collect()
    };
    let mut board = Board::default();
    board.set_options(Options {
        text: arguments.text.clone(),
        own: arguments.own.is_some(),
        quick: arguments.quick,
        ..Options::default()
    });
    let words = Words::new()?;
    if arguments.list {
        return list(&board, &wanted, &words);
    }
    let tokenizer = files::tokenizer(None, &arguments.models.join("any"))?;
    let (engine, verdict) = arguments.engine.start()?;
    eprintln!("{}", verdict.message);
    board.set_options(Options {
        engine: engine_name(verdict.engine, verdict.adapter.as_deref()),
        ..board.options().clone()
    });
    let mut lab = Lab {
        arguments,
        engine,
        models: Models::default(),
        tokenizer,
        board,
        began: Instant::now(),
    };
    lab.restore()?;
    let mut reports = Vec::new();
    for id in wanted {
        lab.measure(id)?;
        let Some(claim) = CLAIMS.iter().find(|claim| claim.id() == id) else {
            continue;
        };
        let standing = lab.board.standing(id)?;
        let report = Report {
            id,
            number: claim.number(),
            source: claim.source(),
            finding: standing.finding,
            paper: claim.paper(),
            missing: standing.missing,
            operations: standing.progress.operations_done,
        };
        match arguments.format {
            Format::Text => write_text(&report, &words)?,
            Format::Json => reports.push(report),
        }
    }
    match arguments.format {
        Format::Text => Ok(()),
        Format::Json => files::write_json(&reports),
    }
}

impl Lab<'_> {
    /// Goes on from the file of results, where there is one: with what was measured on the models and texts
    /// that are here now.
    fn restore(&mut self) -> Result<()> {
        let Some(out) = self.arguments.out.as_ref().filter(|out| out.exists()) else {
            return Ok(());
        };
        let (mut models, mut texts) = (BTreeMap::new(), BTreeSet::new());
        for standing in self.board.survey().0 {
            texts.extend(standing.texts);
            for name in standing.models {
                let path = self.checkpoint(&name);
                if path.exists() && !models.contains_key(&name) {
                    models.insert(name, fingerprint(std::fs::read(path)?));
                }
            }
        }
        self.board.expect_models(models.into_iter().collect());
        texts.retain(|name| self.text(name).exists());
        for name in texts {
            self.take_text(&name)?;
        }
        let kept = files::text(out)?;
        let refused = self.board.restore(&kept);
        let refused = refused.with_context(|| out.display().to_string())?;
        if !refused.is_empty() {
            eprintln!(
                "{}: {} results of other models or texts are left out",
                out.display(),
                refused.len()
            );
        }
        Ok(())
    }

    /// Where a model's checkpoint lies.
    fn checkpoint(&self, name: &str) -> PathBuf {
        self.arguments.models.join(format!("{name}.safetensors"))
    }

    /// Measures a claim to its end.
    fn measure(&mut self, id: &str) -> Result<()> {
        loop {
            match self.board.next(id)? {
                Next::Done => break,
                Next::Text { text } => self.take_text(&text)?,
                Next::Load { model } => self.load(&model)?,
                Next::Step { variant } => self.step(id, &variant)?,
            }
        }
        if std::io::stderr().is_terminal() {
            eprintln!();
        }
        self.keep()
    }

    /// Where a text lies.
    fn text(&self, name: &str) -> PathBuf {
        let own = self.arguments.own.clone().filter(|_| name == "own");
        own.unwrap_or_else(|| self.arguments.texts.join(format!("{name}.txt")))
    }

    fn take_text(&mut self, name: &str) -> Result<()> {
        let path = self.text(name);
        if !path.exists() {
            self.board.skip(name);
            return Ok(());
        }
        let mut text = files::text(&path)?;
        if self.arguments.own.is_some() && name == "own" {
            text = clean(&text);
        }
        let encoded = self.tokenizer.encode(&text);
        if encoded.dropped > 0 {
            eprintln!(
                "{}: {} characters have no token and were left out",
                path.display(),
                encoded.dropped
            );
        }
        self.board.set_text(name, &encoded.ids);
        Ok(())
    }

    fn load(&mut self, name: &str) -> Result<()> {
        let path = self.checkpoint(name);
        if !path.exists() {
            self.board.skip(name);
            return Ok(());
        }
        let checkpoint = files::checkpoint(&path)?;
        ensure!(
            checkpoint.config.vocabulary == self.tokenizer.vocabulary(),
            "{} has {} tokens and the tokenizer beside it {}; they belong to different trainings",
            path.display(),
            checkpoint.config.vocabulary,
            self.tokenizer.vocabulary()
        );
        let bytes = std::fs::read(&path)?;
        self.board
            .set_model(name, checkpoint.config.clone(), &fingerprint(bytes));
        self.models
            .load(&self.engine, name, checkpoint.config, checkpoint.weights)?;
        Ok(())
    }

    fn step(&mut self, id: &str, variant: &str) -> Result<()> {
        let model = match self.models.variant(&self.engine, variant) {
            Ok(model) => model,
            Err(ModelError::Engine(error)) => return Err(error.into()),
            Err(error) => return Ok(self.board.leave_out(id, &error.to_string())?),
        };
        let began = self.began;
        let now = || began.elapsed().as_secs_f64() * 1000.0;
        if !self.board.is_calibrated() {
            pollster::block_on(self.board.calibrate(model, now))?;
        }
        let key = pollster::block_on(self.board.step(id, model, now))?;
        if std::io::stderr().is_terminal() {
            let progress = self.board.progress(id)?;
            let seconds = progress.seconds.unwrap_or(0.0);
            eprint!(
                "\r{id}: {:3.0} %, about {seconds:.0} s left; {key}\x1b[K",
                100.0 * progress.progress
            );
        }
        Ok(())
    }

    fn keep(&self) -> Result<()> {
        let Some(out) = &self.arguments.out else {
            return Ok(());
        };
        let results = self.board.export()?;
        std::fs::write(out, results).with_context(|| format!("cannot write {}", out.display()))
    }
}

fn list(board: &Board, wanted: &[&'static str], words: &Words) -> Result<()> {
    let mut out = files::output();
    for id in wanted {
        let standing = board.standing(id)?;
        let operations = standing.progress.operations;
        writeln!(out, "{id}: {}", words.get(&format!("board.claims.{id}.title")))?;
        writeln!(out, "  models: {}", standing.models.join(" "))?;
        writeln!(
            out,
            "  texts: {}; {:.1} thousand million multiply-adds",
            standing.texts.join(" "),
            operations as f64 / 1e9
        )?;
    }
    let all = board.survey().1.operations as f64 / 1e9;
    writeln!(
        out,
        "all together, shared measurements once: {all:.0} thousand million multiply-adds"
    )?;
    Ok(out.flush()?)
}

fn write_text(report: &Report, words: &Words) -> Result<()> {
    let mut out = files::output();
    let claim = format!("board.claims.{}", report.id);
    let verdict = match report.finding.verdict {
        Verdict::Holds => "holds",
        Verdict::Partly => "partly",
        Verdict::Differs => "differs",
        Verdict::Unmeasured => "unmeasured",
    };
    writeln!(out, "{}. {}", report.number, words.get(&format!("{claim}.title")))?;
    writeln!(out, "   {}", words.get(&format!("{claim}.claim")))?;
    writeln!(out, "   {} ({})", report.source.url, report.source.place)?;
    writeln!(out, "   => {}", words.get(&format!("board.verdicts.{verdict}")))?;
    if report.finding.verdict != Verdict::Unmeasured {
        let sentence = words.sentence(&format!("{claim}.sentence.{verdict}"), &report.finding.parts);
        writeln!(out, "   {sentence}")?;
    }
    for missing in &report.missing {
        writeln!(out, "   {}", left_out(missing, words))?;
    }
    write_table(&mut out, &report.finding.table, words)?;
    if let Some(heads) = &report.finding.heads {
        writeln!(out, "   {}:", words.get("laboratory.heads"))?;
        write_table(&mut out, heads, words)?;
    }
    if !report.paper.rows.is_empty() {
        writeln!(out, "   the source's own figures:")?;
        write_table(&mut out, &report.paper, words)?;
    }
    writeln!(out)?;
    Ok(out.flush()?)
}

/// What a claim had to do without, in the page's words.
fn left_out(missing: &Missing, words: &Words) -> String {
    let listed = |lengths: &[usize]| {
        let lengths: Vec<String> = lengths.iter().map(usize::to_string).collect();
        lengths.join(", ")
    };
    let (name, parts): (_, Vec<(&str, String)>) = match missing {
        Missing::Model { name } => ("models", vec![("models", name.clone())]),
        Missing::Text { name } => ("text", vec![("text", name.clone())]),
        Missing::Short { text, lengths } => (
            "short",
            vec![("text", text.clone()), ("lengths", listed(lengths))],
        ),
        Missing::Variant {
            variant,
            lengths,
            reason,
        } => (
            "variant",
            vec![
                ("variant", variant.clone()),
                ("lengths", listed(lengths)),
                ("reason", reason.clone()),
            ],
        ),
    };
    let sentence = words.get(&format!("laboratory.missing.{name}")).to_string();
    let fill =
        |sentence: String, (name, text): (&str, String)| sentence.replace(&format!("{{{name}}}"), &text);
    parts.into_iter().fold(sentence, fill)
}

fn write_table(out: &mut impl Write, table: &Table, words: &Words) -> Result<()> {
    let columns = table.columns.iter().map(|column| words.get(column).to_string());
    let shown = |cell: &Cell| match cell {
        Cell::Empty => "–".into(),
        Cell::Number(number) if number.fract() == 0.0 => format!("{number}"),
        Cell::Number(number) => longview::experiment::board::number(*number),
        Cell::Estimate(estimate) => text_of(*estimate),
        Cell::Text(text) => text.clone(),
        Cell::Word { word } => words.get(word).into(),
    };
    let mut lines: Vec<Vec<String>> = vec![columns.collect()];
    lines.extend(table.rows.iter().map(|row| row.iter().map(shown).collect()));
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|column| {
            lines
                .iter()
                .map(|line| line[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    for line in lines {
        let cells = line.iter().zip(&widths);
        let cells: Vec<String> = cells.map(|(cell, width)| format!("{cell:>width$}")).collect();
        writeln!(out, "     {}", cells.join("  "))?;
    }
    Ok(())
}
