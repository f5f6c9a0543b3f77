use crate::encoding::{EncodingArguments, count};
use crate::files;
use anyhow::{Result, bail, ensure};
use clap::{Args, ValueEnum};
use longview::encoding::{
    Encoding, Far, Pairing, Positional, Randomized, Rotary, Shape, Table, Tables, Xpos,
};
use longview::model::Weights;
use serde::Serialize;
use std::io::Write;
use std::path::PathBuf;

/// A table larger than this is refused.
const VALUES_MAX: usize = 1 << 24;

/// Write an encoding's tables in full precision: what it adds to embeddings, its rotation or its biases
#[derive(Args)]
#[command(after_help = "Examples:
  longview table sinusoidal --length 64 --dim 128 --format csv
  longview table rotary --length 16 --dim 64 --pairing interleaved --format json
  longview table rotary --length 512 --dim 24 --scaling yarn
  longview table alibi --heads 12 --length 8
  longview table t5_bias --length 200 --bidirectional
  longview table t5_bias --checkpoint www/checkpoints/t5_bias.safetensors --length 512

CSV columns: sinusoidal and learned: position, then one column a dimension; rotary and randomized: position,
pair, inv_freq, cos, sin, where keys differ (xpos, --log-n) key_cos, key_sin, and where
far scores differ (--rerope, --self-extend) far_cos, far_sin, far_key_cos, far_key_sin; alibi: head, slope, distance, bias;
kerple and sandwich: head, distance, bias; t5_bias: distance, bucket, and with --checkpoint one column of
biases a head. A distance is query − key, so it is negative for keys after the query.")]
pub struct Arguments {
    #[command(flatten)]
    encoding: EncodingArguments,
    /// Attention heads (ALiBi, T5 bias, Sandwich) [default: 8]
    #[arg(long, value_parser = count::<256>)]
    heads: Option<usize>,
    /// Positions or distances [default: 16, or a checkpoint's trained length]
    #[arg(long, value_parser = count::<1_048_576>)]
    length: Option<usize>,
    /// Width of the model (sinusoidal) or of one head (rotary, xPos, randomized) [default: 64]
    #[arg(long, value_parser = count::<65_536>)]
    dim: Option<usize>,
    /// Take settings, sizes and trained values from this checkpoint
    #[arg(long)]
    checkpoint: Option<PathBuf>,
    #[arg(long, value_enum, default_value = "csv")]
    format: Format,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Csv,
    Json,
}

/// What is written as JSON.
#[derive(Serialize)]
struct Report {
    encoding: Encoding,
    length: usize,
    /// `[length][dim]`, added to the token embeddings
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rotation: Option<RotationReport>,
    /// Added to the scores.
    #[serde(skip_serializing_if = "Option::is_none")]
    bias: Option<BiasReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    buckets: Option<Sides<Vec<usize>>>,
}

#[derive(Serialize)]
struct RotationReport {
    pairing: Pairing,
    /// `[pairs]`, radians a token
    inv_freq: Vec<f64>,
    /// `[length][pairs]`
    cos: Vec<Vec<f64>>,
    /// `[length][pairs]`
    sin: Vec<Vec<f64>>,
    /// Of keys, where they are turned or scaled otherwise than queries; `[length][pairs]`
    #[serde(skip_serializing_if = "Option::is_none")]
    key_cos: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_sin: Option<Vec<Vec<f64>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    far: Option<FarReport>,
}

/// What turns the queries and keys of far scores (ReRoPE, Self-Extend), each `[length][pairs]`.
#[derive(Serialize)]
struct FarReport {
    /// Keys at this distance or beyond are far.
    from: usize,
    cos: Vec<Vec<f64>>,
    sin: Vec<Vec<f64>>,
    key_cos: Vec<Vec<f64>>,
    key_sin: Vec<Vec<f64>>,
}

impl FarReport {
    fn of(far: &Far) -> Option<Self> {
        let rotation = far.rotation.as_ref()?;
        let [key_cos, key_sin] = rotation.of_keys().map(rows);
        Some(Self {
            from: far.from,
            cos: rows(&rotation.cos),
            sin: rows(&rotation.sin),
            key_cos,
            key_sin,
        })
    }
}

impl RotationReport {
    /// The columns of a CSV, each with its values `[length][pairs]`.
    fn columns(&self) -> Vec<(&'static str, &[Vec<f64>])> {
        let mut columns = vec![("cos", &self.cos[..]), ("sin", &self.sin)];
        if let (Some(cos), Some(sin)) = (&self.key_cos, &self.key_sin) {
            columns.extend([("key_cos", &cos[..]), ("key_sin", sin)]);
        }
        if let Some(far) = &self.far {
            columns.extend([("far_cos", &far.cos[..]), ("far_sin", &far.sin)]);
            columns.extend([("far_key_cos", &far.key_cos[..]), ("far_key_sin", &far.key_sin)]);
        }
        columns
    }
}

#[derive(Serialize)]
struct BiasReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    slopes: Option<Vec<f64>>,
    /// `[heads][length]` by distance
    #[serde(flatten)]
    sides: Sides<Vec<Vec<f64>>>,
}

/// By distance, for keys before the query and after it.
#[derive(Serialize)]
struct Sides<T> {
    behind: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    ahead: Option<T>,
}

fn rows(table: &Table) -> Vec<Vec<f64>> {
    (0..table.rows).map(|row| table.row(row).to_vec()).collect()
}

/// The encoding, its sizes and its trained tensors.
fn subject(arguments: &Arguments) -> Result<(Encoding, Shape, Weights)> {
    let encoding = arguments.encoding.encoding()?;
    let Some(path) = &arguments.checkpoint else {
        let dim = arguments.dim.unwrap_or(64);
        let shape = Shape {
            length: arguments.length.unwrap_or(16),
            d_model: dim,
            heads: arguments.heads.unwrap_or(8),
            d_head: dim,
        };
        return Ok((encoding, shape, Weights::new()));
    };
    let checkpoint = files::checkpoint(path)?;
    let config = &checkpoint.config;
    ensure!(
        encoding.name() == config.encoding.name(),
        "{} is a model of {}, not of {}",
        path.display(),
        config.encoding.name(),
        encoding.name()
    );
    let mut settings = arguments.encoding.given();
    settings.extend(arguments.heads.map(|_| "--heads"));
    settings.extend(arguments.dim.map(|_| "--dim"));
    if let Some(setting) = settings.first() {
        bail!("--checkpoint settles {setting}; leave one of them out");
    }
    let shape = config.shape(arguments.length.unwrap_or(config.trained_length));
    Ok((config.encoding.clone(), shape, checkpoint.weights))
}

fn report(encoding: Encoding, shape: &Shape, weights: &Weights) -> Result<Report> {
    let width = match &encoding {
        Encoding::None(_) => 0,
        Encoding::Learned(_) | Encoding::Sinusoidal(_) => shape.d_model,
        Encoding::Rotary(_) | Encoding::Xpos(_) | Encoding::Randomized(_) => shape.d_head,
        Encoding::T5Bias(_) | Encoding::Alibi(_) | Encoding::Kerple(_) | Encoding::Sandwich(_) => shape.heads,
        // What is not named here may be as wide as any.
        #[allow(unreachable_patterns)]
        _ => shape.d_model.max(shape.d_head).max(shape.heads),
    };
    let values = width.saturating_mul(shape.length);
    ensure!(
        values <= VALUES_MAX,
        "the table would have {values} values, the limit is {VALUES_MAX}; give a smaller --length or width"
    );
    let mut buckets = None;
    let tables = match &encoding {
        // The buckets need no training, the biases do.
        Encoding::T5Bias(t5) => {
            t5.validate()?;
            buckets = Some(Sides {
                behind: (0..shape.length).map(|n| t5.bucket_behind(n)).collect(),
                ahead: t5
                    .bidirectional
                    .then(|| (0..shape.length).map(|n| t5.bucket_ahead(n)).collect()),
            });
            match weights.is_empty() {
                true => Tables::default(),
                false => encoding.tables(shape, weights)?,
            }
        }
        Encoding::Learned(_) if weights.is_empty() => {
            bail!("a learned table has no formula; give --checkpoint with a model that was trained with one")
        }
        Encoding::Kerple(_) if weights.is_empty() => {
            bail!("KERPLE's biases are trained; give --checkpoint with a model that was trained with them")
        }
        _ => encoding.tables(shape, weights)?,
    };
    let inv_freq = match &encoding {
        Encoding::Rotary(rotary) => rotary.scaled(rotary.rotated(shape.d_head)?, shape.length)?.0,
        Encoding::Xpos(Xpos { base, .. }) | Encoding::Randomized(Randomized { base, .. }) => Rotary {
            base: *base,
            ..Rotary::default()
        }
        .inv_freq(shape.d_head),
        _ => Vec::new(),
    };
    let slopes = match &encoding {
        Encoding::Alibi(alibi) => match weights.get("slopes").filter(|_| alibi.trained) {
            Some(trained) => Some(trained.data.iter().map(|&slope| slope.into()).collect()),
            None => Some(alibi.slopes(shape.heads)?),
        },
        _ => None,
    };
    Ok(Report {
        length: shape.length,
        input: tables.input.as_ref().map(rows),
        rotation: tables.rotation.map(|rotation| RotationReport {
            pairing: rotation.pairing,
            inv_freq,
            cos: rows(&rotation.cos),
            sin: rows(&rotation.sin),
            far: tables.far.as_ref().and_then(FarReport::of),
            key_cos: rotation.keys.as_ref().map(|[cos, _]| rows(cos)),
            key_sin: rotation.keys.as_ref().map(|[_, sin]| rows(sin)),
        }),
        bias: tables.bias.map(|bias| BiasReport {
            slopes,
            sides: Sides {
                behind: rows(&bias.behind),
                ahead: bias.ahead.as_ref().map(rows),
            },
        }),
        buckets,
        encoding,
    })
}

/// # Errors
/// Settings that the encoding cannot serve, or an output that cannot be written.
pub fn run(arguments: &Arguments) -> Result<()> {
    let (encoding, shape, weights) = subject(arguments)?;
    let report = report(encoding, &shape, &weights)?;
    match arguments.format {
        Format::Json => files::write_json(&report),
        Format::Csv => write_csv(&report),
    }
}

fn write_csv(report: &Report) -> Result<()> {
    let mut out = files::output();
    if let Some(input) = &report.input {
        let width = input.first().map_or(0, Vec::len);
        let columns: Vec<String> = (0..width).map(|column| column.to_string()).collect();
        writeln!(out, "position,{}", columns.join(","))?;
        for (position, row) in input.iter().enumerate() {
            writeln!(out, "{position},{}", joined(row))?;
        }
    } else if let Some(rotation) = &report.rotation {
        let columns = rotation.columns();
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        writeln!(out, "position,pair,inv_freq,{}", names.join(","))?;
        for position in 0..report.length {
            for (pair, inv_freq) in rotation.inv_freq.iter().enumerate() {
                let values: Vec<f64> = columns.iter().map(|(_, of)| of[position][pair]).collect();
                writeln!(out, "{position},{pair},{inv_freq},{}", joined(&values))?;
            }
        }
    } else if let Some(buckets) = &report.buckets {
        let (behind, ahead) = match &report.bias {
            Some(bias) => (bias.sides.behind.as_slice(), bias.sides.ahead.as_deref()),
            None => ([].as_slice(), None),
        };
        let heads: Vec<String> = (0..behind.len()).map(|head| format!(",head {head}")).collect();
        writeln!(out, "distance,bucket{}", heads.concat())?;
        let mut write = |sign: &str, n: usize, bucket: usize, biases: &[Vec<f64>]| -> Result<()> {
            let biases: Vec<String> = biases.iter().map(|head| format!(",{}", head[n])).collect();
            Ok(writeln!(out, "{sign}{n},{bucket}{}", biases.concat())?)
        };
        let keys_ahead = buckets.ahead.as_deref().unwrap_or_default();
        for (n, &bucket) in keys_ahead.iter().enumerate().skip(1).rev() {
            write("-", n, bucket, ahead.unwrap_or_default())?;
        }
        for (n, &bucket) in buckets.behind.iter().enumerate() {
            write("", n, bucket, behind)?;
        }
    } else if let Some(bias) = &report.bias {
        let slopes = bias.slopes.as_deref();
        let column = slopes.map_or("", |_| ",slope");
        writeln!(out, "head{column},distance,bias")?;
        for (head, row) in bias.sides.behind.iter().enumerate() {
            let slope = slopes.map_or(String::new(), |slopes| format!(",{}", slopes[head]));
            for (distance, value) in row.iter().enumerate() {
                writeln!(out, "{head}{slope},{distance},{}", value + 0.0)?;
            }
        }
    } else {
        eprintln!(
            "{} has no table: only the causal mask tells an order",
            report.encoding.title()
        );
    }
    Ok(out.flush()?)
}

fn joined(row: &[f64]) -> String {
    let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
    cells.join(",")
}
