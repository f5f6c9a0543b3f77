use super::device::Device;
use super::recorder::{Recorder, grid};
use super::scores::Inputs;
use crate::encoding::Pairing;
use crate::engine::cpu::attention::Sizes;
use std::ops::Range;
use wgpu::Buffer;

/// The WGSL of every kernel, by the name of its twin.
pub const SHADERS: &[(&str, &str)] = &[
    ("embed", include_str!("shaders/embed.wgsl")),
    ("layer_norm", include_str!("shaders/layer_norm.wgsl")),
    ("linear", include_str!("shaders/linear.wgsl")),
    ("copy_qk", include_str!("shaders/copy_qk.wgsl")),
    ("smear", include_str!("shaders/smear.wgsl")),
    ("rotate", include_str!("shaders/rotate.wgsl")),
    ("attention", include_str!("shaders/attention.wgsl")),
    ("nll", include_str!("shaders/nll.wgsl")),
    (
        "capture_attention",
        include_str!("shaders/capture_attention.wgsl"),
    ),
    ("capture_profile", include_str!("shaders/capture_profile.wgsl")),
];

/// The line of attention.wgsl that the width of a head is written to.
const VECTORS: &str = "const VECTORS: u32 = 6u;";

/// Threads of a workgroup of capture_attention.wgsl.
const CAPTURE_THREADS: usize = 64;

/// What follows a linear layer, in the same dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Store = 0,
    /// Added to what stands in the output.
    Residual = 1,
    Gelu = 2,
    GeluTanh = 3,
}

/// The compute pipelines. Each method records one dispatch; names and arguments are those of the CPU
/// twins.
#[derive(Clone)]
pub struct Kernels {
    embed: wgpu::ComputePipeline,
    layer_norm: wgpu::ComputePipeline,
    linear: wgpu::ComputePipeline,
    copy_qk: wgpu::ComputePipeline,
    smear: wgpu::ComputePipeline,
    rotate: wgpu::ComputePipeline,
    attention: wgpu::ComputePipeline,
    nll: wgpu::ComputePipeline,
    capture_attention: wgpu::ComputePipeline,
    capture_profile: wgpu::ComputePipeline,
}

/// The outputs of a linear layer padded to whole threads of 8, as its weight and bias are laid out.
pub fn padded(outputs: usize) -> usize {
    outputs.next_multiple_of(8)
}

/// A weight `[outputs][inputs]` transposed to `[inputs][padded outputs]`, as linear.wgsl reads it.
pub fn transposed(weight: &[f32], inputs: usize) -> Vec<f32> {
    let outputs = weight.len() / inputs;
    let width = padded(outputs);
    let mut data = vec![0.0; inputs * width];
    for (output, row) in weight.chunks_exact(inputs).enumerate() {
        for (input, value) in row.iter().enumerate() {
            data[input * width + output] = *value;
        }
    }
    data
}

/// Compiles one kernel for heads of width `d_head`.
fn pipeline(
    device: &Device,
    d_head: usize,
    name: &str,
    alter: impl FnOnce(String) -> String,
) -> wgpu::ComputePipeline {
    let source = SHADERS
        .iter()
        .find(|(of, _)| *of == name)
        .map_or("", |(_, source)| source);
    let source = source.replace(VECTORS, &format!("const VECTORS: u32 = {}u;", d_head.div_ceil(4)));
    let module = device.device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(name),
        source: wgpu::ShaderSource::Wgsl(alter(source).into()),
    });
    device
        .device
        .create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(name),
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        })
}

impl Kernels {
    /// Compiles the kernels for heads of width `d_head`.
    pub fn new(device: &Device, d_head: usize) -> Self {
        let pipeline = |name: &str| pipeline(device, d_head, name, |source| source);
        Self {
            embed: pipeline("embed"),
            layer_norm: pipeline("layer_norm"),
            linear: pipeline("linear"),
            copy_qk: pipeline("copy_qk"),
            smear: pipeline("smear"),
            rotate: pipeline("rotate"),
            attention: pipeline("attention"),
            nll: pipeline("nll"),
            capture_attention: pipeline("capture_attention"),
            capture_profile: pipeline("capture_profile"),
        }
    }

    /// These, with one made of another source: for tests that break a kernel.
    pub fn altered(
        &self,
        device: &Device,
        d_head: usize,
        name: &str,
        alter: impl FnOnce(String) -> String,
    ) -> Self {
        let mut kernels = self.clone();
        let place = match name {
            "embed" => &mut kernels.embed,
            "layer_norm" => &mut kernels.layer_norm,
            "linear" => &mut kernels.linear,
            "copy_qk" => &mut kernels.copy_qk,
            "smear" => &mut kernels.smear,
            "rotate" => &mut kernels.rotate,
            "attention" => &mut kernels.attention,
            "nll" => &mut kernels.nll,
            "capture_attention" => &mut kernels.capture_attention,
            _ => &mut kernels.capture_profile,
        };
        *place = pipeline(device, d_head, name, alter);
        kernels
    }

    /// `out[rows][d] = embedding[token] · scale + table[row mod length]`; `has_table` tells whether `table`
    /// is one.
    #[allow(clippy::too_many_arguments)]
    pub fn embed<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        (rows, length, d): (usize, usize, usize),
        scale: f32,
        tokens: &'a Buffer,
        embedding: &'a Buffer,
        table: &'a Buffer,
        has_table: bool,
        out: &'a Buffer,
    ) {
        let parameters = [
            rows as u32,
            length as u32,
            d as u32,
            has_table.into(),
            scale.to_bits(),
        ];
        to.add(
            &self.embed,
            &parameters,
            &[tokens, embedding, table, out],
            grid((rows * d).div_ceil(64)),
        );
    }

    /// Normalises rows of `d`; a layer without a bias has zeros for it.
    #[allow(clippy::too_many_arguments)]
    pub fn layer_norm<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        (rows, d): (usize, usize),
        epsilon: f32,
        x: &'a Buffer,
        weight: &'a Buffer,
        bias: &'a Buffer,
        out: &'a Buffer,
    ) {
        let parameters = [rows as u32, d as u32, epsilon.to_bits()];
        to.add(&self.layer_norm, &parameters, &[x, weight, bias, out], grid(rows));
    }

    /// `out[rows][outputs] = x[rows][inputs] · weight + bias`, then what `then` says; `weight` is
    /// [`transposed`], `bias` is [`padded`].
    #[allow(clippy::too_many_arguments)]
    pub fn linear<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        (rows, inputs, outputs): (usize, usize, usize),
        then: Then,
        x: &'a Buffer,
        weight: &'a Buffer,
        bias: &'a Buffer,
        out: &'a Buffer,
    ) {
        let panels = padded(outputs) / 4;
        let parameters = [
            rows as u32,
            inputs as u32,
            outputs as u32,
            panels as u32,
            then as u32,
        ];
        let groups = [(panels / 2).div_ceil(8) as u32, rows.div_ceil(64) as u32, 1];
        to.add(&self.linear, &parameters, &[x, weight, bias, out], groups);
    }

    /// `out[rows][2 · d_model]`, the queries and keys of `qkv[rows][3 · d_model]`.
    pub fn copy_qk<'a>(&'a self, to: &mut Recorder<'a>, sizes: &Sizes, qkv: &'a Buffer, out: &'a Buffer) {
        let (rows, d_model) = (sizes.rows(), sizes.d_model());
        to.add(
            &self.copy_qk,
            &[rows as u32, d_model as u32],
            &[qkv, out],
            grid((rows * 2 * d_model).div_ceil(64)),
        );
    }

    /// Mixes the keys of `qkv[rows][3 · d_model]` with those before them, by the shares `share[H]`; `before` is
    /// what [`copy_qk`](Self::copy_qk) made of it.
    pub fn smear<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        before: &'a Buffer,
        share: &'a Buffer,
        sizes: &Sizes,
        qkv: &'a Buffer,
    ) {
        let rows = sizes.rows();
        let parameters = [rows, sizes.length, sizes.heads, sizes.d_head].map(|size| size as u32);
        to.add(
            &self.smear,
            &parameters,
            &[before, share, qkv],
            grid((rows * sizes.d_model()).div_ceil(64)),
        );
    }

    /// Turns q and k in place, by cosines and sines of queries and of keys; rows of `qk[rows][width]` begin
    /// with them.
    #[allow(clippy::too_many_arguments)]
    pub fn rotate<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        sizes: &Sizes,
        (pairing, pairs): (Pairing, usize),
        [[cos, sin], [key_cos, key_sin]]: [&'a [Buffer; 2]; 2],
        qk: &'a Buffer,
        width: usize,
    ) {
        let rows = sizes.rows();
        let interleaved = usize::from(pairing == Pairing::Interleaved);
        let Sizes {
            length,
            heads,
            d_head,
            ..
        } = *sizes;
        let parameters = [rows, length, heads, d_head, pairs, interleaved, width].map(|size| size as u32);
        let count = rows * 2 * heads * pairs;
        to.add(
            &self.rotate,
            &parameters,
            &[cos, sin, key_cos, key_sin, qk],
            grid(count.div_ceil(64)),
        );
    }

    /// `out[rows][d_model]`, and `softmax[rows][H]`: the largest score and the sum of exponentials.
    #[allow(clippy::too_many_arguments)]
    pub fn attention<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        inputs: Inputs<'a>,
        sizes: &Sizes,
        out: &'a Buffer,
        softmax: &'a Buffer,
    ) {
        let groups = [
            sizes.length.div_ceil(64) as u32,
            (sizes.windows * sizes.heads) as u32,
            1,
        ];
        let [qkv, bias, far_qk] = inputs.buffers();
        to.add(
            &self.attention,
            &inputs.words(sizes),
            &[qkv, bias, far_qk, out, softmax],
            groups,
        );
    }

    /// `out[rows][3]`: the largest logit, the sum of exponentials, the target's logit.
    pub fn nll<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        (rows, vocabulary): (usize, usize),
        logits: &'a Buffer,
        targets: &'a Buffer,
        out: &'a Buffer,
    ) {
        to.add(
            &self.nll,
            &[rows as u32, vocabulary as u32],
            &[logits, targets, out],
            grid(rows),
        );
    }

    /// The first window's attention of some heads, to `out` from value `start` on, `[heads][side][side]`.
    #[allow(clippy::too_many_arguments)]
    pub fn capture_attention<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        inputs: Inputs<'a>,
        sizes: &Sizes,
        (heads, side, start): (Range<usize>, usize, usize),
        softmax: &'a Buffer,
        out: &'a Buffer,
    ) {
        let mut parameters = inputs.words(sizes).to_vec();
        let [qkv, bias, far_qk] = inputs.buffers();
        // As many of a workgroup's threads a cell as it has pairs of query and key.
        let pairs = (sizes.length / side).pow(2);
        let share = (pairs + 1).next_power_of_two() / 2;
        let share = share.clamp(1, CAPTURE_THREADS);
        parameters.extend([heads.start, side, start, share].map(|word| word as u32));
        let columns = side.div_ceil(CAPTURE_THREADS / share);
        to.add(
            &self.capture_attention,
            &parameters,
            &[qkv, bias, far_qk, softmax, out],
            [columns, side, heads.len()].map(|count| count as u32),
        );
    }

    /// The first window's mean attention by distance, to `out` from value `start` on, `[H][T]`, and the mean
    /// of −p ln p by distance, from value `entropy` on.
    #[allow(clippy::too_many_arguments)]
    pub fn capture_profile<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        inputs: Inputs<'a>,
        sizes: &Sizes,
        (start, entropy): (usize, usize),
        softmax: &'a Buffer,
        out: &'a Buffer,
    ) {
        let mut parameters = inputs.words(sizes).to_vec();
        let [qkv, bias, far_qk] = inputs.buffers();
        parameters.extend([start as u32, entropy as u32]);
        let groups = [sizes.length.div_ceil(64) as u32, sizes.heads as u32, 1];
        to.add(
            &self.capture_profile,
            &parameters,
            &[qkv, bias, far_qk, softmax, out],
            groups,
        );
    }
}
