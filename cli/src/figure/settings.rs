//! A picture's settings: usual ones, a model's, those of the flags, and those of --set, each before the last.

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use longview::encoding::{Encoding, Layout, NAMES, Pairing};
use longview::engine::RASTER_SIDE_MAX;
use longview::figure::{Figure, Measure, Protocol};
use longview::model::Checkpoint;
use serde::Serialize;
use serde_json::{Map, Value, json};

/// Flags named as the settings in the pictures' JSON, which is how they are read.
#[derive(Args, Serialize)]
pub struct Settings {
    /// Tokens, T [default: 512, or as many as the picture shows]
    #[arg(long)]
    length: Option<usize>,
    /// L, which is marked [default: the checkpoint's, else 128]
    #[arg(long)]
    trained_length: Option<usize>,
    /// [default: the checkpoint's, else 8]
    #[arg(long)]
    heads: Option<usize>,
    /// [default: the checkpoint's, else 96]
    #[arg(long)]
    d_model: Option<usize>,
    /// Dimensions of a head that turn [default: the checkpoint's, else 24]
    #[arg(long)]
    d_head: Option<usize>,
    /// Of the wavelengths [default: 10000]
    #[arg(long)]
    base: Option<f64>,
    /// Of a sinusoidal table: interleaved, halves or fairseq
    #[arg(long, value_parser = parse_name::<Layout>)]
    layout: Option<Layout>,
    /// Of rotary dimensions: halves or interleaved
    #[arg(long, value_parser = parse_name::<Pairing>)]
    pairing: Option<Pairing>,
    /// Position m of the query [default: 130]
    #[arg(long)]
    query: Option<usize>,
    /// Position n of the key [default: 12]
    #[arg(long)]
    key: Option<usize>,
    /// Of rotary-scores' random vectors
    #[arg(long)]
    seed: Option<u64>,
    /// How rows of a table are compared: cosine, dot or distance
    #[arg(long, value_parser = parse_name::<Measure>)]
    measure: Option<Measure>,
    /// Of waves: one or several, 0,8,16
    #[arg(long, value_delimiter = ',')]
    dimensions: Option<Vec<usize>>,
    /// [default: 32]
    #[arg(long)]
    buckets: Option<usize>,
    /// [default: 128]
    #[arg(long)]
    max_distance: Option<usize>,
    /// A bias also for keys after the query
    #[arg(long)]
    bidirectional: bool,
    /// ALiBi slopes in place of the paper's, one a head: 0.5,0.25
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    slopes: Option<Vec<f64>>,
    /// Of the model whose numbers --values has [default: 3]
    #[arg(long)]
    layers: Option<usize>,
    /// The chosen layer, from 0
    #[arg(long)]
    layer: Option<usize>,
    /// The chosen head, from 0
    #[arg(long)]
    head: Option<usize>,
    /// Distance on a logarithmic axis
    #[arg(long)]
    logarithmic: bool,
    /// Powers of ten that the axis of weights shows
    #[arg(long)]
    decades: Option<usize>,
    /// Perplexity divided by that at the trained length
    #[arg(long)]
    ratio: bool,
    /// The paper's models: trained on 512 or 1024 tokens
    #[arg(long)]
    trained: Option<usize>,
    /// The paper's measurement: non_overlapping or sliding
    #[arg(long, value_parser = parse_name::<Protocol>)]
    protocol: Option<Protocol>,
    /// Tokens that a sliding window moves on by [default: 64]
    #[arg(long)]
    stride: Option<usize>,
    /// How many tokens of a text windows are laid over [default: 2048]
    #[arg(long)]
    text_tokens: Option<usize>,
    /// What rotary's methods stretch by [default: length ÷ trained length]
    #[arg(long)]
    factor: Option<f64>,
    /// Neighbouring positions that paired-loss takes the mean of [default: 1]
    #[arg(long)]
    cell: Option<usize>,
    /// The encoding that is shown, or drawn strong [default: the checkpoint's, else alibi or sinusoidal]
    #[arg(long, value_parser = |text: &str| Ok::<_, String>(text.to_lowercase().replace('-', "_")))]
    encoding: Option<String>,
}

/// A name as it is written in JSON.
pub fn parse_name<T: serde::de::DeserializeOwned>(name: &str) -> Result<T, String> {
    let name = name.to_lowercase().replace('-', "_");
    serde_json::from_value(Value::String(name)).map_err(|error| error.to_string())
}

impl Settings {
    /// The picture of that name with its settings; the model's are taken over where there is one.
    ///
    /// # Errors
    /// A setting that the picture does not have, or that cannot be read.
    pub fn figure(&self, name: &str, set: &[(String, Value)], model: Option<&Checkpoint>) -> Result<Figure> {
        let given = self.given()?;
        let mut all = usual(name);
        if let Some(model) = model {
            all.extend(of_model(name, model)?);
        }
        // As many slopes as are given have as many heads.
        if let Some(Value::Array(slopes)) = given.get("slopes") {
            all.insert("heads".into(), slopes.len().into());
        }
        all.extend(given.clone());
        if let Some(encoding) = given.get("encoding") {
            all.insert("selected".into(), encoding.clone());
        }
        all.extend(set.iter().cloned());
        let length = all.get("length").and_then(Value::as_u64).unwrap_or(0);
        let most = if name == "attention_heads" {
            96
        } else {
            RASTER_SIDE_MAX as u64
        };
        all.entry("side").or_insert_with(|| length.min(most).into());
        all.insert("figure".into(), name.into());
        let figure: Figure = serde_json::from_value(Value::Object(all))
            .with_context(|| format!("the settings of a picture of {name}"))?;
        check_known(&figure, &given, set)?;
        Ok(figure)
    }

    /// Whether each model's own L is marked: none was given.
    pub fn marks_own_length(&self) -> bool {
        self.trained_length.is_none()
    }

    /// What was given, by name.
    fn given(&self) -> Result<Map<String, Value>> {
        let Value::Object(mut given) = serde_json::to_value(self)? else {
            return Ok(Map::new());
        };
        // --tokens is the model's run's.
        if let Some(tokens) = given.remove("text_tokens") {
            given.insert("tokens".into(), tokens);
        }
        given.retain(|_, value| !matches!(value, Value::Null | Value::Bool(false)));
        Ok(given)
    }
}

/// Settings of all pictures, with this picture's own.
fn usual(name: &str) -> Map<String, Value> {
    let mut all = json!({
        "length": 512, "trained_length": 128, "heads": 8, "d_model": 96, "d_head": 24, "query": 130, "key": 12,
        "buckets": 32, "max_distance": 128, "layers": 3, "layer": 0, "head": 0, "encoding": "alibi",
        "selected": "alibi", "dimensions": [0, 8, 16, 32, 64], "series": [], "groups": [], "stride": 64,
        "tokens": 2048,
    });
    match name {
        // The shipped models' heads.
        "distance" | "attention_heads" | "context" => all["heads"] = 4.into(),
        "similarity" | "offsets" => all["encoding"] = "sinusoidal".into(),
        "counter" => {
            all["length"] = 64.into();
            all["d_model"] = 16.into();
        }
        "rotary_scores" => {
            all["length"] = 128.into();
            all["query"] = 96.into();
            all["key"] = 32.into();
        }
        "paper" => all["trained"] = 512.into(),
        _ => {}
    }
    match all {
        Value::Object(all) => all,
        _ => Map::new(),
    }
}

/// The encodings that a picture can show; none for one that shows any.
fn encodings(figure: &str) -> &'static [&'static str] {
    match figure {
        "learned" => &["learned"],
        "sinusoidal" | "waves" | "counter" => &["sinusoidal"],
        "similarity" | "offsets" => &["learned", "sinusoidal"],
        "xpos_decay" => &["xpos"],
        "rotary" | "rotary_table" | "rotary_scores" | "rotary_decay" | "rotary_methods" | "wavelengths" => {
            &["rotary"]
        }
        "t5_bias" | "t5_matrix" => &["t5_bias"],
        "alibi" | "alibi_slopes" | "alibi_softmax" => &["alibi"],
        _ => &[],
    }
}

/// The model's own settings.
fn of_model(figure: &str, model: &Checkpoint) -> Result<Map<String, Value>> {
    let config = &model.config;
    let encoding = config.encoding.name();
    let shown = encodings(figure);
    ensure!(
        shown.is_empty() || shown.contains(&encoding),
        "the checkpoint's encoding is {encoding}; a picture of {figure} needs one of {}",
        shown.join(" or ")
    );
    let shape = json!({
        "trained_length": config.trained_length, "d_model": config.d_model, "layers": config.layers,
        "heads": config.heads, "encoding": encoding, "selected": encoding,
    });
    let own = match &config.encoding {
        Encoding::Sinusoidal(own) => json!({"base": own.base, "layout": own.layout}),
        Encoding::Rotary(own) => {
            json!({"base": own.base, "pairing": own.pairing, "d_head": own.rotated(config.d_head())?})
        }
        Encoding::Xpos(own) => json!({"scale_base": own.scale_base, "d_head": config.d_head()}),
        Encoding::T5Bias(own) => json!({
            "buckets": own.buckets, "max_distance": own.max_distance, "bidirectional": own.bidirectional,
        }),
        Encoding::Alibi(own) if own.trained => {
            let slopes = model.weights.get("slopes");
            let slopes = &slopes.context("the checkpoint lacks the tensor \"slopes\"")?.data;
            // Beside the paper's, where the picture compares them.
            let name = if figure == "alibi_slopes" {
                "trained"
            } else {
                "slopes"
            };
            json!({name: slopes})
        }
        Encoding::Alibi(own) => json!({"slopes": own.slopes}),
        // No picture shows these by their own settings.
        _ => json!({}),
    };
    Ok([shape, own]
        .into_iter()
        .filter_map(|value| match value {
            Value::Object(fields) => Some(fields),
            _ => None,
        })
        .flatten()
        .collect())
}

/// # Errors
/// What was given and means nothing for the picture: a slip would go unseen.
fn check_known(figure: &Figure, given: &Map<String, Value>, set: &[(String, Value)]) -> Result<()> {
    let Value::Object(mut fields) = serde_json::to_value(figure)? else {
        return Ok(());
    };
    fields.remove("figure");
    let name = figure.name();
    let own = || fields.keys().cloned().collect::<Vec<_>>().join(", ");
    let has = |key: &str| fields.contains_key(key) || key == "encoding" && fields.contains_key("selected");
    if let Some(key) = given.keys().find(|key| !has(key)) {
        let flag = key.replace('_', "-");
        bail!(
            "--{flag} means nothing for a picture of {name}, whose settings are {}; leave it out",
            own()
        );
    }
    if let Some((key, _)) = set.iter().find(|(key, _)| !has(key)) {
        bail!("a picture of {name} has no setting \"{key}\"; it has {}", own());
    }
    // Series may have any name.
    let encoding = fields
        .get("encoding")
        .or(fields.get("selected"))
        .and_then(Value::as_str);
    if let Some(encoding) =
        encoding.filter(|encoding| !matches!(name, "perplexity" | "copy_score") && !NAMES.contains(encoding))
    {
        bail!("\"{encoding}\" is no encoding; take one of {}", NAMES.join(", "));
    }
    Ok(())
}
