mod output;
mod settings;
mod values;

use crate::files;
use crate::run::RunArguments;
use anyhow::{Result, ensure};
use clap::Args;
use longview::figure::{FIGURES, Style, Theme, locales};
use output::Kind;
use serde_json::Value;
use settings::Settings;
pub use settings::parse_name;
use std::path::PathBuf;

/// Draw a picture as an SVG or PNG file, or write its numbers as CSV
///
/// Each picture has some of the settings below and usual values for what is not given. With --checkpoint
/// they are the model's own. Pictures of what a model does (attention, attention-heads, distance, context,
/// position-loss, paired-loss, perplexity) run it on --text, or take the numbers from --values: a JSON list
/// of numbers, for perplexity what `longview evaluate --format json` wrote, one file an encoding, and for
/// copy-score a JSON list of series.
#[derive(Args)]
#[command(after_help = help())]
pub struct Arguments {
    /// The picture's name; the list stands below
    #[arg(value_parser = figure_name)]
    figure: String,
    /// A file to write, several by giving it again; the ending says which kind: .svg, .png or .csv
    /// [default: an SVG file here, named after the settings]
    #[arg(short, long)]
    output: Vec<PathBuf>,
    /// The numbers, as JSON
    #[arg(long, conflicts_with = "checkpoint")]
    values: Vec<PathBuf>,
    /// A checkpoint that Longview's trainer wrote; for perplexity several by giving it again
    #[arg(long)]
    checkpoint: Vec<PathBuf>,
    /// A text in UTF-8 that the model runs on
    #[arg(long, requires = "checkpoint")]
    text: Option<PathBuf>,
    /// Any other setting of the picture, as KEY=JSON; may be given again
    #[arg(long, value_name = "KEY=JSON", value_parser = setting)]
    set: Vec<(String, Value)>,
    #[command(flatten, next_help_heading = "Settings, of which each picture has some")]
    settings: Settings,
    #[command(flatten, next_help_heading = "The model's run")]
    run: RunArguments,
    #[command(flatten, next_help_heading = "The file")]
    page: Page,
}

/// How the file looks.
#[derive(Args)]
struct Page {
    /// CSS px
    #[arg(long, default_value_t = 960.0)]
    width: f64,
    /// CSS px
    #[arg(long, default_value_t = 480.0)]
    height: f64,
    /// Pixels of a PNG for each CSS px
    #[arg(long, default_value_t = 2.0)]
    scale: f64,
    #[arg(long, default_value = "light", value_parser = settings::parse_name::<Theme>)]
    theme: Theme,
    /// Leave the paper transparent
    #[arg(long)]
    transparent: bool,
    /// The language of the words: en or zh-Hant
    #[arg(long, default_value = "en", value_parser = language)]
    lang: String,
}

impl Page {
    fn style(&self) -> Style {
        Style {
            width: self.width,
            height: self.height,
            pixel_ratio: self.scale,
            theme: self.theme,
            // The first that the machine has; PNG files fall back to a font inside the program.
            font: "Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', 'Noto Sans TC', \
                   'Noto Sans CJK TC', 'PingFang TC', 'Microsoft JhengHei', sans-serif"
                .into(),
            background: !self.transparent,
            locale: self.lang.clone(),
            ..Style::default()
        }
    }
}

fn help() -> String {
    format!(
        "Pictures: {}

Examples:
  longview figure alibi --heads 8 --length 256 -o alibi.svg -o alibi.csv
  longview figure waves --dimensions 0,8,16 --lang zh-Hant -o waves.png --scale 3
  longview figure t5-bias --checkpoint www/checkpoints/t5_bias.safetensors -o t5.png --theme dark
  longview figure attention --checkpoint www/checkpoints/alibi.safetensors \\
    --text www/texts/persuasion.txt --length 512 --layer 1 --head 2 -o attention.png
  longview figure perplexity --values alibi.json --values rotary.json --length 512 -o perplexity.svg
  longview figure windows --length 1000 --stride 250 --text-tokens 4000 -o windows.svg
  longview figure rotary-methods --length 512 --factor 8 -o methods.svg
  longview figure offsets --set measure=dot",
        names()
    )
}

/// The names as they are typed.
fn names() -> String {
    FIGURES.join(", ").replace('_', "-")
}

fn figure_name(text: &str) -> Result<String, String> {
    let name = text.to_lowercase().replace('-', "_");
    match FIGURES.contains(&name.as_str()) {
        true => Ok(name),
        false => Err(format!("no picture has this name; take one of {}", names())),
    }
}

fn language(name: &str) -> Result<String, String> {
    let known = locales();
    match known.iter().any(|locale| locale == name) {
        true => Ok(name.into()),
        false => Err(format!(
            "pictures have no such language; take one of {}",
            known.join(", ")
        )),
    }
}

/// `KEY=JSON`; what is no JSON is a string, so that names need no quotes.
fn setting(text: &str) -> Result<(String, Value), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=JSON, such as heads=8")?;
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.into());
    Ok((key.trim().replace('-', "_"), value))
}

/// # Errors
/// Settings or numbers that make no picture, and files that cannot be read or written.
pub fn run(arguments: &Arguments) -> Result<()> {
    // What the files are is known before a model runs for minutes.
    let named: Vec<(&PathBuf, Kind)> = arguments
        .output
        .iter()
        .map(|path| Ok((path, Kind::of(path)?)))
        .collect::<Result<_>>()?;
    let name = arguments.figure.as_str();
    ensure!(
        arguments.checkpoint.len() < 2 || name == "perplexity",
        "a picture of {name} shows one model; give one --checkpoint"
    );
    let checkpoints = arguments
        .checkpoint
        .iter()
        .map(|path| Ok((path.clone(), files::checkpoint(path)?)))
        .collect::<Result<Vec<_>>>()?;
    let model = checkpoints.first().map(|(_, checkpoint)| checkpoint);
    let mut figure = arguments.settings.figure(name, &arguments.set, model)?;
    let style = arguments.page.style();
    // Settings that make no picture are refused before the model runs.
    figure.summary(&[], &style.locale)?;
    let values = values::take(&mut figure, &checkpoints, arguments)?;
    if named.is_empty() {
        let path = PathBuf::from(format!("{}.svg", figure.file_stem()));
        output::write(&path, Kind::Svg, &figure, &values, &style)?;
        println!("{}", path.display());
    }
    for (path, kind) in named {
        output::write(path, kind, &figure, &values, &style)?;
    }
    Ok(())
}
