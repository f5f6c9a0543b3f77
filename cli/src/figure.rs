use crate::files;
use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use longview::encoding::{Encoding, Layout, Pairing, PastEnd, Positional};
use longview::figure;
use longview::figure::{Figure, Point, Series, Style, Theme, svg};
use longview::model::Checkpoint;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Draw a picture as an SVG or PNG file
///
/// Pictures of a trained table (learned, t5-bias) take it from --checkpoint; those of a model's run take
/// its numbers from --values: a JSON list of numbers, or for perplexity what `longview evaluate --format
/// json` wrote, one file an encoding.
#[derive(Args)]
#[command(after_help = "Examples:
  longview figure alibi --heads 8 --length 256 -o alibi.svg
  longview figure t5-bias --checkpoint www/checkpoints/t5_bias.safetensors -o t5.png --theme dark
  longview figure perplexity --values alibi.json --values rotary.json --length 512 -o perplexity.svg")]
pub struct Arguments {
    #[arg(value_enum)]
    figure: Name,
    /// The file to write; its ending says which kind (.svg or .png)
    #[arg(short, long)]
    output: PathBuf,
    #[arg(long, default_value_t = 512)]
    length: usize,
    /// L, which is marked [default: the checkpoint's, else 128]
    #[arg(long)]
    trained_length: Option<usize>,
    #[arg(long, default_value_t = 8)]
    heads: usize,
    #[arg(long, default_value_t = 96)]
    d_model: usize,
    #[arg(long, default_value_t = 24)]
    d_head: usize,
    #[arg(long, default_value_t = 10_000.0)]
    base: f64,
    /// Of a sinusoidal table: interleaved, halves or fairseq
    #[arg(long, default_value = "interleaved", value_parser = parse_name::<Layout>)]
    layout: Layout,
    /// Of rotary dimensions: halves or interleaved
    #[arg(long, default_value = "halves", value_parser = parse_name::<Pairing>)]
    pairing: Pairing,
    /// Position m of the query
    #[arg(long, default_value_t = 130)]
    query: usize,
    /// Position n of the key
    #[arg(long, default_value_t = 12)]
    key: usize,
    #[arg(long, default_value_t = 32)]
    buckets: usize,
    #[arg(long, default_value_t = 128)]
    max_distance: usize,
    #[arg(long)]
    bidirectional: bool,
    /// ALiBi slopes in place of the paper's, one a head: 0.5,0.25
    #[arg(long, value_delimiter = ',')]
    slopes: Option<Vec<f64>>,
    #[arg(long, default_value_t = 3)]
    layers: usize,
    #[arg(long, default_value_t = 0)]
    layer: usize,
    #[arg(long, default_value_t = 0)]
    head: usize,
    /// Distance on a logarithmic axis
    #[arg(long)]
    logarithmic: bool,
    /// The encoding whose colour is used, or which is drawn strong
    #[arg(long, default_value = "alibi")]
    encoding: String,
    /// The numbers, as JSON
    #[arg(long, conflicts_with = "checkpoint")]
    values: Vec<PathBuf>,
    /// A checkpoint that Longview's trainer wrote
    #[arg(long)]
    checkpoint: Option<PathBuf>,
    /// CSS px
    #[arg(long, default_value_t = 960.0)]
    width: f64,
    /// CSS px
    #[arg(long, default_value_t = 480.0)]
    height: f64,
    /// Pixels of a PNG for each CSS px
    #[arg(long, default_value_t = 2.0)]
    scale: f64,
    #[arg(long, default_value = "light", value_parser = parse_name::<Theme>)]
    theme: Theme,
    /// Leave the paper transparent
    #[arg(long)]
    transparent: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    None,
    Learned,
    Sinusoidal,
    Rotary,
    T5Bias,
    Alibi,
    Attention,
    Distance,
    Perplexity,
    PositionLoss,
}

/// A name as it is written in JSON.
fn parse_name<T: serde::de::DeserializeOwned>(name: &str) -> Result<T, String> {
    serde_json::from_value(serde_json::Value::String(name.to_lowercase())).map_err(|error| error.to_string())
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let (figure, values) = figure(arguments)?;
    let style = Style {
        width: arguments.width,
        height: arguments.height,
        pixel_ratio: arguments.scale,
        theme: arguments.theme,
        // The first that the machine has; PNG files fall back to a font inside the program.
        font: "Inter, 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
            .into(),
        background: !arguments.transparent,
        ..Style::default()
    };
    let document = svg(&figure, &values, &style)?;
    let bytes = match arguments.output.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => document.into_bytes(),
        Some("png") => png(&document, arguments.scale)?,
        _ => bail!(
            "{} ends neither in .svg nor in .png; name the output so",
            arguments.output.display()
        ),
    };
    std::fs::write(&arguments.output, bytes)
        .with_context(|| format!("{} could not be written", arguments.output.display()))
}

fn figure(arguments: &Arguments) -> Result<(Figure, Vec<f32>)> {
    let checkpoint = arguments
        .checkpoint
        .as_deref()
        .map(files::checkpoint)
        .transpose()?;
    let of_checkpoint = checkpoint
        .as_ref()
        .map(|checkpoint| checkpoint.config.trained_length);
    let trained_length = arguments.trained_length.or(of_checkpoint).unwrap_or(128);
    let length = arguments.length;
    let encoding = arguments.encoding.clone();
    let figure = match arguments.figure {
        Name::None => Figure::CausalMask(figure::CausalMask {
            length,
            trained_length,
        }),
        Name::Learned => {
            let d_model = checkpoint
                .as_ref()
                .map_or(arguments.d_model, |checkpoint| checkpoint.config.d_model);
            Figure::Learned(figure::Learned {
                length,
                trained_length,
                d_model,
            })
        }
        Name::Sinusoidal => Figure::Sinusoidal(figure::Sinusoidal {
            length,
            d_model: arguments.d_model,
            layout: arguments.layout,
            base: arguments.base,
            trained_length: Some(trained_length),
        }),
        Name::Rotary => Figure::Rotary(figure::Rotary {
            d_head: arguments.d_head,
            base: arguments.base,
            pairing: arguments.pairing,
            query: arguments.query,
            key: arguments.key,
            trained_length,
        }),
        Name::T5Bias => {
            let (mut heads, mut buckets) = (arguments.heads, arguments.buckets);
            let (mut max_distance, mut bidirectional) = (arguments.max_distance, arguments.bidirectional);
            // The checkpoint's own settings are what its numbers belong to.
            if let Some(checkpoint) = &checkpoint
                && let Encoding::T5Bias(bias) = &checkpoint.config.encoding
            {
                heads = checkpoint.config.heads;
                (buckets, max_distance, bidirectional) =
                    (bias.buckets, bias.max_distance, bias.bidirectional);
            }
            Figure::T5Buckets(figure::T5Buckets {
                heads,
                buckets,
                max_distance,
                bidirectional,
                length,
                trained_length,
            })
        }
        Name::Alibi => {
            let slopes = arguments.slopes.clone();
            Figure::AlibiMatrices(figure::AlibiMatrices {
                heads: arguments.heads,
                length,
                slopes,
                trained_length,
            })
        }
        Name::Attention => Figure::Attention(figure::Attention {
            length,
            trained_length,
            layer: arguments.layer,
            head: arguments.head,
            side: length.min(longview::engine::RASTER_SIDE_MAX),
            encoding,
        }),
        Name::Distance => Figure::Distance(figure::Distance {
            length,
            trained_length,
            layers: arguments.layers,
            heads: arguments.heads,
            layer: arguments.layer,
            head: arguments.head,
            logarithmic: arguments.logarithmic,
            encoding,
            decades: None,
        }),
        Name::Perplexity => {
            let measured = arguments
                .values
                .iter()
                .map(|path| measured(path))
                .collect::<Result<Vec<_>>>()?;
            let (series, undefined): (Vec<_>, Vec<_>) = measured.into_iter().unzip();
            Figure::Perplexity(figure::Perplexity {
                trained_length,
                length,
                selected: encoding,
                series: series.into_iter().flatten().collect(),
                undefined: undefined.into_iter().flatten().collect(),
                ratio: false,
            })
        }
        Name::PositionLoss => Figure::PositionLoss(figure::PositionLoss {
            length,
            trained_length,
            encoding,
        }),
    };
    let values = match (&arguments.values[..], &checkpoint) {
        _ if matches!(figure, Figure::Perplexity(_)) => Vec::new(),
        ([path], _) => read_json(path)?,
        ([], Some(checkpoint)) => trained_table(&figure, checkpoint)?,
        ([], None) => Vec::new(),
        _ => bail!("a picture of {} takes one --values; give one file", figure.name()),
    };
    Ok((figure, values))
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("{} could not be read", path.display()))?;
    serde_json::from_str(&text)
        .with_context(|| format!("{} does not hold what --values needs", path.display()))
}

/// What `longview evaluate --format json` says of one encoding.
#[derive(Deserialize)]
struct Report {
    encoding: Encoding,
    points: Vec<Point>,
    undefined: Vec<serde_json::Value>,
}

/// The series of a file, and the name of its encoding if it has lengths without a value: a report, or a
/// list of series as in a figure's JSON.
fn measured(path: &Path) -> Result<(Vec<Series>, Option<String>)> {
    let value: serde_json::Value = read_json(path)?;
    let what = || {
        format!(
            "{} is no report of longview evaluate and no list of series",
            path.display()
        )
    };
    if value.is_array() {
        return Ok((serde_json::from_value(value).with_context(what)?, None));
    }
    let report: Report = serde_json::from_value(value).with_context(what)?;
    let encoding = report.encoding.name().to_string();
    let undefined = (!report.undefined.is_empty()).then(|| encoding.clone());
    let note = match report.encoding {
        Encoding::Learned(learned) if learned.past_end == PastEnd::LastRow => {
            Some("last row repeated".into())
        }
        _ => None,
    };
    Ok((
        vec![Series {
            encoding,
            note,
            points: report.points,
        }],
        undefined,
    ))
}

/// The tensor that the figure shows.
fn trained_table(figure: &Figure, checkpoint: &Checkpoint) -> Result<Vec<f32>> {
    let config = &checkpoint.config;
    let wanted = config.encoding.name();
    if wanted != figure.name() {
        bail!(
            "the checkpoint's encoding is {wanted}; a picture of {} needs another one",
            figure.name()
        );
    }
    let parameters = config.encoding.parameters(&config.shape(config.trained_length));
    let Some(parameter) = parameters.first() else {
        return Ok(Vec::new());
    };
    let tensor = checkpoint.weights.get(&parameter.name);
    let tensor = tensor.with_context(|| format!("the checkpoint lacks the tensor \"{}\"", parameter.name))?;
    Ok(tensor.data.clone())
}

/// Renders the document at `scale` pixels a CSS px.
fn png(document: &str, scale: f64) -> Result<Vec<u8>> {
    use resvg::{tiny_skia, usvg};
    let mut options = usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    // With no font on the machine, the text is still there.
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let tree = usvg::Tree::from_str(document, &options)?;
    let size = tree
        .size()
        .to_int_size()
        .scale_by(scale as f32)
        .context("the picture has no size")?;
    let mut pixels =
        tiny_skia::Pixmap::new(size.width(), size.height()).context("the picture is too large")?;
    let transform = tiny_skia::Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    Ok(pixels.encode_png()?)
}
