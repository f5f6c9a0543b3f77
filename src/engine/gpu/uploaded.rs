use super::buffer::Buffer;
use super::device::Device;
use super::layout::{blocks, logit_bias, widened};
use crate::engine::cpu::parameters::{Linear, Norm, Parameters};
use crate::engine::cpu::smear::shares;
use crate::model::Config;

/// A model's weights on the GPU, laid out as [`layout`](super::layout) says; pairs are weight and bias.
pub struct Uploaded {
    /// `[V][d_model]`
    pub embedding: Buffer,
    pub layers: Vec<UploadedLayer>,
    pub final_norm: [Buffer; 2],
    pub output: [Buffer; 2],
}

pub struct UploadedLayer {
    pub attention_norm: [Buffer; 2],
    pub qkv: [Buffer; 2],
    /// The shares by which keys are smeared, `[H]`.
    pub smear: Option<Buffer>,
    pub out: [Buffer; 2],
    pub mlp_norm: [Buffer; 2],
    pub up: [Buffer; 2],
    pub down: [Buffer; 2],
}

impl Uploaded {
    pub fn new(device: &Device, config: &Config, parameters: &Parameters) -> Self {
        let (d, d_head, d_ff) = (config.d_model, config.d_head(), config.d_ff);
        let norm = |norm: Norm| {
            let zeros = vec![0.0; d];
            [norm.weight, norm.bias.unwrap_or(&zeros)]
                .map(|values| device.upload("norm", &widened(values, d)))
        };
        // Widths of the rows that inputs and outputs consist of.
        let linear = |linear: Linear, inputs: usize, in_width: usize, out_width: usize| {
            let zeros = vec![0.0; linear.weight.len() / inputs];
            let bias = widened(linear.bias.unwrap_or(&zeros), out_width);
            [
                device.upload("linear", &blocks(linear.weight, inputs, in_width, out_width)),
                device.upload("linear bias", &bias),
            ]
        };
        let layers = parameters.layers.iter().map(|layer| UploadedLayer {
            attention_norm: norm(layer.attention_norm),
            qkv: linear(layer.qkv, d, d, d_head),
            smear: layer.smear.map(|raw| device.upload("smear", &shares(raw))),
            out: linear(layer.out, d, d_head, d),
            mlp_norm: norm(layer.mlp_norm),
            up: linear(layer.up, d, d, d_ff),
            down: linear(layer.down, d_ff, d_ff, d),
        });
        let vocabulary = config.vocabulary;
        Self {
            embedding: device.upload("embedding", &widened(parameters.token_embedding, d)),
            layers: layers.collect(),
            final_norm: norm(parameters.final_norm),
            output: [
                device.upload("linear", &blocks(parameters.output.weight, d, d, vocabulary)),
                device.upload("linear bias", &logit_bias(vocabulary)),
            ],
        }
    }

    /// All of them.
    pub fn buffers(&self) -> impl Iterator<Item = &Buffer> {
        let layers = self.layers.iter().flat_map(|layer| {
            let UploadedLayer {
                attention_norm,
                qkv,
                smear: _,
                out,
                mlp_norm,
                up,
                down,
            } = layer;
            [attention_norm, qkv, out, mlp_norm, up, down]
        });
        layers
            .chain([&self.final_norm, &self.output])
            .flatten()
            .chain(self.layers.iter().filter_map(|layer| layer.smear.as_ref()))
            .chain([&self.embedding])
    }
}
