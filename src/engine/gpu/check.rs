//! Every kernel against its CPU twin, on odd sizes: the native tests, the browser tests and the self-check
//! at start run this same code.

use super::device::Device;
use super::kernels::{Kernels, Then, padded, transposed};
use super::recorder::Recorder;
use crate::encoding::{Encoding, Pairing, Positional};
use crate::engine::cpu::{self, attention::Sizes, rotate::Turn};
use crate::engine::{Batch, Captures, EngineError, HeadId, Output};
use crate::model::{Activation, Config, Init, Tensor, Weights};
use serde::Serialize;
use std::sync::Arc;
use wgpu::Buffer;

/// How far a GPU's result was from the twin's.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The kernel, or "forward" for a whole model.
    pub kernel: &'static str,
    /// The sizes of the case.
    pub case: String,
    /// Largest absolute difference of a value; infinite where a value is not a number.
    pub largest: f32,
    /// What it may be.
    pub limit: f32,
}

impl Difference {
    fn new(kernel: &'static str, case: String, got: &[f32], expected: &[f32], limit: f32) -> Self {
        let far = |(a, b): (&f32, &f32)| {
            if (a - b).is_nan() {
                f32::INFINITY
            } else {
                (a - b).abs()
            }
        };
        let same_length = got.len() == expected.len();
        let largest = got
            .iter()
            .zip(expected)
            .map(far)
            .fold(if same_length { 0.0 } else { f32::INFINITY }, f32::max);
        Self {
            kernel,
            case,
            largest,
            limit,
        }
    }

    /// Whether the GPU may be trusted with this.
    pub fn is_within(&self) -> bool {
        self.largest <= self.limit
    }
}

/// Repeatable numbers in −1 … 1.
pub fn numbers(count: usize, seed: u32) -> Vec<f32> {
    let mut state = seed.wrapping_mul(747_796_405) | 1;
    let mut next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

fn tokens(count: usize, vocabulary: usize, seed: u32) -> Vec<u32> {
    let scale = vocabulary as f32 / 2.0;
    numbers(count, seed)
        .iter()
        .map(|x| ((x + 1.0) * scale) as u32 % vocabulary as u32)
        .collect()
}

/// Runs what was recorded and reads `count` values of `out`.
async fn run(
    device: &Device,
    recorder: Recorder<'_>,
    out: &Buffer,
    count: usize,
) -> Result<Vec<f32>, EngineError> {
    let recorded = recorder.finish();
    let staging = device.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("staging"),
        size: count as u64 * 4,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.device.create_command_encoder(&Default::default());
    recorded.encode(&mut encoder);
    encoder.copy_buffer_to_buffer(out, 0, &staging, 0, count as u64 * 4);
    device.queue.submit([encoder.finish()]);
    let values = device.read(&staging).await;
    recorded.destroy();
    staging.destroy();
    device.check()?;
    values
}

/// Compares every kernel on odd sizes; `kernels` makes them for a width of heads.
///
/// # Errors
/// A GPU that failed outright.
pub async fn kernels(
    device: &Device,
    kernels: impl Fn(usize) -> Arc<Kernels>,
) -> Result<Vec<Difference>, EngineError> {
    let mut found = Vec::new();
    let any = kernels(8);
    for (rows, length, d) in [(1, 1, 1), (34, 17, 5), (129, 129, 24), (1030, 515, 96)] {
        found.push(embed(device, &any, rows, length, d).await?);
        found.push(layer_norm(device, &any, rows, d).await?);
    }
    for sizes in [(1, 1, 1), (17, 5, 3), (129, 24, 72), (70, 96, 29), (65, 33, 130)] {
        for then in [Then::Store, Then::Residual, Then::Gelu, Then::GeluTanh] {
            found.push(linear(device, &any, sizes, then).await?);
        }
    }
    for (rows, vocabulary) in [(1, 1), (17, 29), (129, 512), (3, 1000)] {
        found.push(nll(device, &any, rows, vocabulary).await?);
    }
    for (windows, length, heads, d_head) in [
        (1, 1, 1, 1),
        (2, 17, 3, 8),
        (1, 129, 1, 24),
        (3, 64, 2, 5),
        (1, 65, 2, 64),
        (1, 600, 1, 12),
    ] {
        let sizes = Sizes {
            windows,
            length,
            heads,
            d_head,
            score_scale: 1.5 / (d_head as f32).sqrt(),
        };
        let of_width = kernels(d_head);
        for has_bias in [false, true] {
            attention(device, &of_width, &sizes, has_bias, &mut found).await?;
        }
        if d_head >= 2 {
            for (pairing, pairs) in [
                (Pairing::Halves, d_head / 2),
                (Pairing::Interleaved, d_head / 2),
                (Pairing::Halves, 1),
            ] {
                found.push(rotate(device, &any, &sizes, pairing, pairs).await?);
            }
        }
    }
    Ok(found)
}

async fn embed(
    device: &Device,
    kernels: &Kernels,
    rows: usize,
    length: usize,
    d: usize,
) -> Result<Difference, EngineError> {
    let (ids, embedding, table) = (tokens(rows, 29, 1), numbers(29 * d, 2), numbers(length * d, 3));
    let mut expected = vec![0.0; rows * d];
    cpu::embed::embed(&ids, &embedding, 1.7, Some(&table), &mut expected, d);
    let [a, b, c] = [
        device.upload("", &ids),
        device.upload("", &embedding),
        device.upload("", &table),
    ];
    let out = device.buffer("", rows as u64 * d as u64 * 4);
    let mut to = Recorder::new(device);
    kernels.embed(&mut to, (rows, length, d), 1.7, &a, &b, &c, true, &out);
    let got = run(device, to, &out, rows * d).await?;
    Ok(Difference::new(
        "embed",
        format!("{rows} rows, T {length}, d {d}"),
        &got,
        &expected,
        1e-6,
    ))
}

async fn layer_norm(
    device: &Device,
    kernels: &Kernels,
    rows: usize,
    d: usize,
) -> Result<Difference, EngineError> {
    let (x, weight, bias) = (numbers(rows * d, 1), numbers(d, 2), numbers(d, 3));
    let mut expected = vec![0.0; rows * d];
    cpu::layer_norm::layer_norm(&x, &weight, Some(&bias), 1e-5, &mut expected);
    let [a, b, c] = [&x, &weight, &bias].map(|values| device.upload("", values));
    let out = device.buffer("", rows as u64 * d as u64 * 4);
    let mut to = Recorder::new(device);
    kernels.layer_norm(&mut to, (rows, d), 1e-5, &a, &b, &c, &out);
    let got = run(device, to, &out, rows * d).await?;
    Ok(Difference::new(
        "layer_norm",
        format!("{rows} rows, d {d}"),
        &got,
        &expected,
        1e-5,
    ))
}

async fn linear(
    device: &Device,
    kernels: &Kernels,
    (rows, inputs, outputs): (usize, usize, usize),
    then: Then,
) -> Result<Difference, EngineError> {
    let (x, weight, bias) = (
        numbers(rows * inputs, 1),
        numbers(outputs * inputs, 2),
        numbers(outputs, 3),
    );
    let stream = numbers(rows * outputs, 4);
    let mut expected = if then == Then::Residual {
        stream.clone()
    } else {
        vec![0.0; rows * outputs]
    };
    let store = if then == Then::Residual {
        cpu::linear::Then::Residual
    } else {
        cpu::linear::Then::Store
    };
    cpu::linear::linear(&x, &weight, Some(&bias), &mut expected, inputs, store);
    let activation = match then {
        Then::Gelu => Some(Activation::Gelu),
        Then::GeluTanh => Some(Activation::GeluTanh),
        Then::Store | Then::Residual => None,
    };
    if let Some(kind) = activation {
        let before = expected.clone();
        cpu::activation::activation(kind, &before, &mut expected);
    }
    let mut shift = bias.clone();
    shift.resize(padded(outputs), 0.0);
    let [a, b, c, out] =
        [&x, &transposed(&weight, inputs), &shift, &stream].map(|values| device.upload("", values));
    let mut to = Recorder::new(device);
    kernels.linear(&mut to, (rows, inputs, outputs), then, &a, &b, &c, &out);
    let got = run(device, to, &out, rows * outputs).await?;
    let case = format!("{rows} × {inputs} × {outputs}, {then:?}");
    Ok(Difference::new("linear", case, &got, &expected, 2e-5))
}

async fn nll(
    device: &Device,
    kernels: &Kernels,
    rows: usize,
    vocabulary: usize,
) -> Result<Difference, EngineError> {
    // With d = 1 and a hidden state of 1 the logits are the output weights: row by row another scale.
    let (hidden, output) = (
        numbers(rows, 1).iter().map(|x| 20.0 * x).collect::<Vec<_>>(),
        numbers(vocabulary, 2),
    );
    let targets = tokens(rows, vocabulary, 3);
    let mut expected = vec![0.0; rows];
    cpu::nll::nll(&hidden, &output, &targets, &mut expected, 1);
    let mut logits = vec![0.0; rows * vocabulary];
    cpu::nll::logits_of(&hidden, &output, &mut logits, 1);
    let (a, b) = (device.upload("", &logits), device.upload("", &targets));
    let out = device.buffer("", rows as u64 * 12);
    let mut to = Recorder::new(device);
    kernels.nll(&mut to, (rows, vocabulary), &a, &b, &out);
    let got = run(device, to, &out, rows * 3).await?;
    let got: Vec<f32> = got
        .as_chunks()
        .0
        .iter()
        .map(|[most, sum, chosen]: &[f32; 3]| most + sum.ln() - chosen)
        .collect();
    Ok(Difference::new(
        "nll",
        format!("{rows} rows, V {vocabulary}"),
        &got,
        &expected,
        2e-5,
    ))
}

async fn rotate(
    device: &Device,
    kernels: &Kernels,
    sizes: &Sizes,
    pairing: Pairing,
    pairs: usize,
) -> Result<Difference, EngineError> {
    let qkv = numbers(sizes.rows() * 3 * sizes.d_model(), 1);
    let angles = numbers(sizes.length * pairs, 2);
    let rotation = cpu::RotationF32 {
        pairing,
        pairs,
        cos: angles.iter().map(|angle| (3.0 * angle).cos()).collect(),
        sin: angles.iter().map(|angle| (3.0 * angle).sin()).collect(),
    };
    let mut expected = qkv.clone();
    cpu::rotate::rotate(&mut expected, &rotation, sizes.heads, sizes.d_head, Turn::Forward);
    let [cos, sin, out] = [&rotation.cos, &rotation.sin, &qkv].map(|values| device.upload("", values));
    let mut to = Recorder::new(device);
    kernels.rotate(&mut to, sizes, (pairing, pairs), &cos, &sin, &out);
    let got = run(device, to, &out, qkv.len()).await?;
    Ok(Difference::new(
        "rotate",
        format!("{}, {pairing:?}, {pairs} pairs", name(sizes)),
        &got,
        &expected,
        1e-6,
    ))
}

fn name(sizes: &Sizes) -> String {
    let Sizes {
        windows,
        length,
        heads,
        d_head,
        ..
    } = sizes;
    format!("B {windows}, T {length}, H {heads}, d_head {d_head}")
}

/// Attention and both captures, which start from what it leaves behind.
async fn attention(
    device: &Device,
    kernels: &Kernels,
    sizes: &Sizes,
    has_bias: bool,
    found: &mut Vec<Difference>,
) -> Result<(), EngineError> {
    let qkv = numbers(sizes.rows() * 3 * sizes.d_model(), 1);
    let table: Vec<f32> = numbers(sizes.heads * sizes.length, 2)
        .iter()
        .map(|x| 3.0 * x)
        .collect();
    let bias = has_bias.then_some(&table[..]);
    let mut expected = vec![0.0; sizes.rows() * sizes.d_model()];
    let mut lse = vec![0.0; sizes.rows() * sizes.heads];
    cpu::attention::attention(&qkv, bias, sizes, &mut expected, &mut lse);
    let case = format!("{}, {}", name(sizes), if has_bias { "bias" } else { "no bias" });
    let (qkv_buffer, bias_buffer) = (device.upload("", &qkv), device.upload("", &table));
    let out = device.buffer("", expected.len() as u64 * 4);
    let softmax = device.buffer("", lse.len() as u64 * 8);
    let mut to = Recorder::new(device);
    kernels.attention(
        &mut to,
        sizes,
        &qkv_buffer,
        &bias_buffer,
        has_bias,
        &out,
        &softmax,
    );
    let got = run(device, to, &out, expected.len()).await?;
    found.push(Difference::new("attention", case.clone(), &got, &expected, 1e-5));
    let stats = run(device, Recorder::new(device), &softmax, 2 * lse.len()).await?;
    let got: Vec<f32> = stats
        .as_chunks()
        .0
        .iter()
        .map(|[most, sum]: &[f32; 2]| most + sum.ln())
        .collect();
    found.push(Difference::new(
        "attention",
        format!("{case}, log-sum-exp"),
        &got,
        &lse,
        1e-5,
    ));

    let side = sizes.length.min(crate::engine::RASTER_SIDE_MAX);
    let head = sizes.heads - 1;
    let expected = cpu::capture::capture_attention(&qkv, bias, &lse, sizes, head);
    let out = device.buffer("", expected.len() as u64 * 4);
    let mut to = Recorder::new(device);
    kernels.capture_attention(
        &mut to,
        sizes,
        (head, side),
        &qkv_buffer,
        &bias_buffer,
        has_bias,
        &softmax,
        &out,
    );
    let got = run(device, to, &out, expected.len()).await?;
    found.push(Difference::new(
        "capture_attention",
        case.clone(),
        &got,
        &expected,
        1e-5,
    ));

    let expected = cpu::capture::capture_profile(&qkv, bias, &lse, sizes);
    let out = device.buffer("", (expected.len() + 3) as u64 * 4);
    let mut to = Recorder::new(device);
    kernels.capture_profile(
        &mut to,
        sizes,
        3,
        &qkv_buffer,
        &bias_buffer,
        has_bias,
        &softmax,
        &out,
    );
    let got = run(device, to, &out, expected.len() + 3).await?;
    found.push(Difference::new(
        "capture_profile",
        case,
        &got[3..],
        &expected,
        1e-5,
    ));
    Ok(())
}

/// A small random model: it needs no file, and its losses show a kernel that is wrong.
pub fn random_model(encoding: Encoding, heads: usize, d_head: usize) -> (Config, Weights) {
    let mut config = Config::base(encoding, heads);
    config.d_model = heads * d_head;
    (
        config.vocabulary,
        config.layers,
        config.d_ff,
        config.trained_length,
    ) = (61, 2, 3 * config.d_model + 1, 160);
    config.embedding_scale = (config.d_model as f32).sqrt();
    config.score_scale = 1.0 / (d_head as f32).sqrt();
    let mut weights = Weights::new();
    for (seed, parameter) in (1..).zip(config.parameters()) {
        let deviation = match parameter.init {
            Init::Normal { deviation } => deviation as f32,
            Init::Zeros | Init::Ones | Init::Values(_) => 0.3,
        };
        let centre = if parameter.init == Init::Ones { 1.0 } else { 0.0 };
        let count = parameter.shape.iter().product();
        // Uniform numbers of that deviation.
        let data = numbers(count, seed)
            .iter()
            .map(|x| centre + 1.7 * deviation * x)
            .collect();
        weights.insert(
            parameter.name,
            Tensor {
                shape: parameter.shape,
                data,
            },
        );
    }
    (config, weights)
}

/// Compares a whole forward with all captures on models that together use every kernel and table.
///
/// # Errors
/// A GPU that failed outright.
pub async fn forward(
    device: &Arc<Device>,
    kernels: impl Fn(usize) -> Arc<Kernels>,
) -> Result<Vec<Difference>, EngineError> {
    let mut found = Vec::new();
    for (name, length, windows) in [("rotary", 70, 2), ("alibi", 130, 1), ("sinusoidal", 33, 3)] {
        let Some(encoding) = Encoding::from_name(name) else {
            continue;
        };
        let (config, weights) = random_model(encoding, 3, 8);
        let batch = Batch::new(
            tokens(windows * (length + 1), config.vocabulary, 9),
            windows,
            length,
        )?;
        let captures = Captures {
            attention: Some(HeadId { layer: 1, head: 2 }),
            profile: true,
        };
        let expected = cpu::Model::new(&config, &weights)?.forward(&batch, &captures)?;
        let mut model = super::Model::with_kernels(device, kernels(config.d_head()), &config, &weights)?;
        let got = model.forward(&batch, &captures).await?;
        let case = format!("{name}, T {length}");
        let raster = |output: &Output| output.attention.clone().map_or(Vec::new(), |raster| raster.data);
        let profile = |output: &Output| output.profile.clone().map_or(Vec::new(), |profile| profile.data);
        for (part, got, expected, limit) in [
            ("losses", got.nll.clone(), expected.nll.clone(), 5e-5),
            ("attention", raster(&got), raster(&expected), 1e-5),
            ("profile", profile(&got), profile(&expected), 1e-5),
        ] {
            found.push(Difference::new(
                "forward",
                format!("{case}, {part}"),
                &got,
                &expected,
                limit,
            ));
        }
        // The tables are part of what is compared, so they must not be empty.
        debug_assert_ne!(
            config.encoding.tables(&config.shape(length), &weights)?,
            Default::default()
        );
    }
    Ok(found)
}
