//! Public implementations as golden models: their configuration and weights in Longview's terms, and
//! what they gave for two sequences (`transformers` 4.57.6 on torch 2.8, float32).

use super::{counts, golden_json, golden_weights, list, numbers, rows};
use longview::encoding::{Alibi, Encoding, Learned, None, Rotary, Sinusoidal};
use longview::engine::{Batch, HeadId};
use longview::model::{Activation, Config, Tensor, Weights};
use serde_json::Value;

const D_MODEL: usize = 32;
const LAYERS: usize = 2;
const HEADS: usize = 4;
const D_HEAD: usize = D_MODEL / HEADS;
const VOCABULARY: usize = 48;

/// A public model and what it gave.
pub struct GoldenModel {
    /// The file in `tests/golden` without `model_` and `.json`.
    pub name: &'static str,
    pub config: Config,
    pub weights: Weights,
    pub sequences: Vec<GoldenSequence>,
}

/// One sequence of tokens and what the model gave for it, as a batch of one from position 0.
pub struct GoldenSequence {
    pub ids: Vec<u32>,
    /// `[ids − 1]`: −ln p(token i + 1 | tokens 0 ..= i).
    pub token_loss: Vec<f64>,
    /// `(position, [V])` for some positions.
    pub logits: Vec<(usize, Vec<f64>)>,
    pub attention: Vec<GoldenAttention>,
}

/// Attention probabilities of one head.
pub struct GoldenAttention {
    pub head: HeadId,
    /// `(query, [query + 1] keys)` for some queries.
    pub rows: Vec<(usize, Vec<f64>)>,
}

impl GoldenSequence {
    /// One window whose sources are all of the ids. The last target is made up (the first id), so only
    /// the first `ids − 1` losses are golden.
    pub fn batch(&self) -> Batch {
        let mut tokens = self.ids.clone();
        tokens.push(self.ids[0]);
        Batch::new(tokens, 1, self.ids.len()).unwrap()
    }
}

/// All public models that Longview's configuration can express.
pub fn golden_models() -> Vec<GoldenModel> {
    let gpt2 = |encoding| gpt2_config(encoding);
    let half = Rotary {
        fraction: 0.5,
        ..Rotary::default()
    };
    [
        ("gpt2", gpt2(Encoding::Learned(Learned::default()))),
        ("gpt2_nope", gpt2(Encoding::None(None::default()))),
        (
            "gpt2_sinusoidal",
            gpt2(Encoding::Sinusoidal(Sinusoidal::default())),
        ),
        ("mpt", mpt_config()),
        ("gptneox", gptneox_config(Rotary::default())),
        ("gptneox_partial", gptneox_config(half)),
    ]
    .map(|(name, config)| GoldenModel {
        name,
        weights: match name {
            "mpt" => mpt_weights(),
            "gptneox" | "gptneox_partial" => gptneox_weights(),
            _ => gpt2_weights(&config),
        },
        sequences: sequences(name),
        config,
    })
    .into()
}

/// The golden model of that name.
pub fn golden_model(name: &str) -> GoldenModel {
    golden_models()
        .into_iter()
        .find(|model| model.name == name)
        .expect("a golden model")
}

fn gpt2_config(encoding: Encoding) -> Config {
    Config {
        vocabulary: VOCABULARY,
        d_model: D_MODEL,
        layers: LAYERS,
        heads: HEADS,
        d_ff: 64,
        trained_length: 64,
        norm_epsilon: 1e-5,
        norm_bias: true,
        linear_bias: true,
        activation: Activation::GeluTanh,
        tied_output: true,
        embedding_scale: 1.0,
        score_scale: 1.0 / (D_HEAD as f32).sqrt(),
        encoding,
        window: None,
        smeared_keys: false,
    }
}

fn mpt_config() -> Config {
    Config {
        d_ff: 128,
        norm_bias: false,
        linear_bias: false,
        activation: Activation::Gelu,
        ..gpt2_config(Encoding::Alibi(Alibi::default()))
    }
}

fn gptneox_config(rotary: Rotary) -> Config {
    Config {
        activation: Activation::Gelu,
        tied_output: false,
        ..gpt2_config(Encoding::Rotary(rotary))
    }
}

/// GPT-2 stores its linear weights `[in][out]` (`Conv1D`).
fn gpt2_weights(config: &Config) -> Weights {
    let names = Names {
        layer: "transformer.h",
        parts: &[
            ("ln_1", "attention_norm"),
            ("attn.c_attn", "attention.qkv"),
            ("attn.c_proj", "attention.out"),
            ("ln_2", "mlp_norm"),
            ("mlp.c_fc", "mlp.up"),
            ("mlp.c_proj", "mlp.down"),
        ],
        rest: &[
            ("transformer.wte", "token_embedding"),
            ("transformer.wpe", "position_embedding"),
            ("transformer.ln_f", "final_norm"),
        ],
    };
    let mut weights = names.rename(golden_weights("model_gpt2.safetensors"));
    for (name, tensor) in &mut weights {
        if name.starts_with("layers.") && tensor.shape.len() == 2 {
            *tensor = transposed(tensor);
        }
    }
    if !matches!(config.encoding, Encoding::Learned(_)) {
        weights.remove("position_embedding.weight");
    }
    weights
}

fn mpt_weights() -> Weights {
    let names = Names {
        layer: "transformer.blocks",
        parts: &[
            ("norm_1", "attention_norm"),
            ("attn.Wqkv", "attention.qkv"),
            ("attn.out_proj", "attention.out"),
            ("norm_2", "mlp_norm"),
            ("ffn.up_proj", "mlp.up"),
            ("ffn.down_proj", "mlp.down"),
        ],
        rest: &[
            ("transformer.wte", "token_embedding"),
            ("transformer.norm_f", "final_norm"),
        ],
    };
    names.rename(golden_weights("model_mpt.safetensors"))
}

/// GPT-NeoX stacks q, k and v within each head, `[heads][3][d_head]`.
fn gptneox_weights() -> Weights {
    let names = Names {
        layer: "gpt_neox.layers",
        parts: &[
            ("input_layernorm", "attention_norm"),
            ("attention.query_key_value", "attention.qkv"),
            ("attention.dense", "attention.out"),
            ("post_attention_layernorm", "mlp_norm"),
            ("mlp.dense_h_to_4h", "mlp.up"),
            ("mlp.dense_4h_to_h", "mlp.down"),
        ],
        rest: &[
            ("gpt_neox.embed_in", "token_embedding"),
            ("gpt_neox.final_layer_norm", "final_norm"),
            ("embed_out", "output"),
        ],
    };
    let mut weights = names.rename(golden_weights("model_gptneox.safetensors"));
    for (name, tensor) in &mut weights {
        if name.contains("attention.qkv") {
            tensor.data = heads_within_parts(&tensor.data);
        }
    }
    weights
}

/// How a family names its modules, and how Longview does.
struct Names {
    /// The prefix before a layer's number.
    layer: &'static str,
    parts: &'static [(&'static str, &'static str)],
    rest: &'static [(&'static str, &'static str)],
}

impl Names {
    fn rename(&self, weights: Weights) -> Weights {
        weights
            .into_iter()
            .map(|(name, tensor)| (self.renamed(&name), tensor))
            .collect()
    }

    fn renamed(&self, name: &str) -> String {
        let (module, kind) = name.rsplit_once('.').expect("module.kind");
        if let Some(within) = module.strip_prefix(self.layer) {
            let (number, part) = within[1..].split_once('.').expect("number.part");
            return format!("layers.{number}.{}.{kind}", look_up(self.parts, part));
        }
        format!("{}.{kind}", look_up(self.rest, module))
    }
}

fn look_up(names: &[(&'static str, &'static str)], theirs: &str) -> &'static str {
    let found = names.iter().find(|(name, _)| *name == theirs);
    found.unwrap_or_else(|| panic!("unmapped weight \"{theirs}\"")).1
}

fn transposed(tensor: &Tensor) -> Tensor {
    let [rows, columns] = tensor.shape[..] else {
        panic!("a matrix")
    };
    Tensor {
        shape: vec![columns, rows],
        data: (0..columns)
            .flat_map(|column| (0..rows).map(move |row| tensor.data[row * columns + column]))
            .collect(),
    }
}

/// `[heads][3][d_head][…]` to `[3][heads][d_head][…]`.
fn heads_within_parts(data: &[f32]) -> Vec<f32> {
    let block = data.len() / (HEADS * 3);
    let blocks: Vec<&[f32]> = data.chunks_exact(block).collect();
    (0..3)
        .flat_map(|part| (0..HEADS).map(move |head| head * 3 + part))
        .flat_map(|index| blocks[index].iter().copied())
        .collect()
}

fn sequences(name: &str) -> Vec<GoldenSequence> {
    let file = golden_json(&format!("model_{name}.json"));
    list(&file, "sequences").iter().map(sequence).collect()
}

fn sequence(value: &Value) -> GoldenSequence {
    let labelled = |positions: &str, values: &Value| -> Vec<(usize, Vec<f64>)> {
        let positions = counts(&value[positions]);
        let rows = rows(values);
        assert_eq!(positions.len(), rows.len());
        positions.into_iter().zip(rows).collect()
    };
    let heads = value["attention"].as_object().expect("attention");
    GoldenSequence {
        ids: counts(&value["input_ids"]).iter().map(|&id| id as u32).collect(),
        token_loss: numbers(&value["token_loss"]),
        logits: labelled("logits_positions", &value["logits"]),
        attention: heads
            .iter()
            .map(|(name, values)| GoldenAttention {
                head: head_id(name),
                rows: labelled("attention_rows", values),
            })
            .collect(),
    }
}

/// `layer0_head1`
fn head_id(name: &str) -> HeadId {
    let (layer, head) = name.split_once('_').expect("layer and head");
    let number = |text: &str, prefix: &str| text.strip_prefix(prefix).unwrap().parse().unwrap();
    HeadId {
        layer: number(layer, "layer"),
        head: number(head, "head"),
    }
}
