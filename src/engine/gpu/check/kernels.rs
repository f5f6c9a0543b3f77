//! Every kernel against its CPU twin, on odd sizes.

use super::{Difference, numbers, tokens};
use crate::encoding::Pairing;
use crate::engine::cpu::{self, attention::Sizes, rotate::Turn};
use crate::engine::gpu::device::Device;
use crate::engine::gpu::kernels::{Kernels, Then, padded, transposed};
use crate::engine::gpu::recorder::Recorder;
use crate::engine::{EngineError, RASTER_SIDE_MAX};
use crate::model::Activation;
use std::ops::Range;
use std::sync::Arc;
use wgpu::Buffer;

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
        keys: None,
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

    let case = (&case[..], sizes, &qkv[..], bias, &lse[..]);
    let buffers = [&qkv_buffer, &bias_buffer, &softmax];
    let last = sizes.heads - 1;
    // The last head as finely as it goes, then all heads in cells of several queries and keys.
    for (heads, side) in [(last..sizes.heads, RASTER_SIDE_MAX), (0..sizes.heads, 7)] {
        let cells = (heads, side.min(sizes.length));
        found.push(capture_attention(device, kernels, case, cells, buffers).await?);
    }
    found.extend(capture_profile(device, kernels, case, buffers).await?);
    Ok(())
}

/// What the captures of a case start from on the CPU: its name, sizes, qkv, bias and log-sum-exp.
type Attended<'a> = (&'a str, &'a Sizes, &'a [f32], Option<&'a [f32]>, &'a [f32]);

/// Values that stand before what a capture writes, as those of earlier layers do in a model.
const BEFORE: usize = 3;

async fn capture_attention(
    device: &Device,
    kernels: &Kernels,
    (case, sizes, qkv, bias, lse): Attended<'_>,
    (heads, side): (Range<usize>, usize),
    [qkv_buffer, bias_buffer, softmax]: [&Buffer; 3],
) -> Result<Difference, EngineError> {
    let one = |head| cpu::capture::capture_attention(qkv, bias, lse, sizes, head, side);
    let expected: Vec<f32> = heads.clone().flat_map(one).collect();
    let case = format!("{case}, heads {heads:?}, side {side}");
    let count = BEFORE + expected.len();
    let out = device.buffer("", count as u64 * 4);
    let mut to = Recorder::new(device);
    let cells = (heads, side, BEFORE);
    kernels.capture_attention(
        &mut to,
        sizes,
        cells,
        qkv_buffer,
        bias_buffer,
        bias.is_some(),
        softmax,
        &out,
    );
    let got = run(device, to, &out, count).await?;
    let kernel = "capture_attention";
    Ok(Difference::new(kernel, case, &got[BEFORE..], &expected, 1e-5))
}

async fn capture_profile(
    device: &Device,
    kernels: &Kernels,
    (case, sizes, qkv, bias, lse): Attended<'_>,
    [qkv_buffer, bias_buffer, softmax]: [&Buffer; 3],
) -> Result<[Difference; 2], EngineError> {
    let expected = cpu::capture::capture_profile(qkv, bias, lse, sizes);
    let entropy = 2 * BEFORE + expected.weight.len();
    let count = entropy + expected.entropy.len();
    let out = device.buffer("", count as u64 * 4);
    let mut to = Recorder::new(device);
    kernels.capture_profile(
        &mut to,
        sizes,
        (BEFORE, entropy),
        qkv_buffer,
        bias_buffer,
        bias.is_some(),
        softmax,
        &out,
    );
    let got = run(device, to, &out, count).await?;
    let difference = |part: &str, got: &[f32], expected: &[f32]| {
        Difference::new("capture_profile", format!("{case}, {part}"), got, expected, 1e-5)
    };
    Ok([
        difference("weight", &got[BEFORE..entropy - BEFORE], &expected.weight),
        difference("entropy", &got[entropy..], &expected.entropy),
    ])
}
