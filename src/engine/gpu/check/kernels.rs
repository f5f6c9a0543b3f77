//! Every kernel against its CPU twin, on odd sizes.

use super::{Difference, attention, keys, numbers, tokens};
use crate::encoding::Pairing;
use crate::engine::EngineError;
use crate::engine::cpu::parameters::Linear;
use crate::engine::cpu::{self, attention::Sizes};
use crate::engine::gpu::device::Device;
use crate::engine::gpu::kernels::{Kernels, Then, padded, transposed};
use crate::engine::gpu::recorder::Recorder;
use crate::model::Activation;
use std::sync::Arc;
use wgpu::Buffer;

/// Runs what was recorded and reads `count` values of `out`.
pub(super) async fn run(
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

/// Compares kernels on odd sizes: those that `wanted` names, and with attention's its captures. `kernels`
/// makes them for a width of heads.
///
/// # Errors
/// A GPU that failed outright.
pub async fn kernels(
    device: &Device,
    kernels: impl Fn(usize) -> Arc<Kernels>,
    wanted: impl Fn(&str) -> bool,
) -> Result<Vec<Difference>, EngineError> {
    let mut found = Vec::new();
    let any = kernels(8);
    let wants_attention = ["attention", "capture_attention", "capture_profile"]
        .iter()
        .any(|name| wanted(name));
    for (rows, length, d) in [(1, 1, 1), (34, 17, 5), (129, 129, 24), (1030, 515, 96)] {
        if wanted("embed") {
            found.push(embed(device, &any, rows, length, d).await?);
        }
        if wanted("layer_norm") {
            found.push(layer_norm(device, &any, rows, d).await?);
        }
    }
    for sizes in [(1, 1, 1), (17, 5, 3), (129, 24, 72), (70, 96, 29), (65, 33, 130)] {
        for then in [Then::Store, Then::Residual, Then::Gelu, Then::GeluTanh]
            .into_iter()
            .filter(|_| wanted("linear"))
        {
            found.push(linear(device, &any, sizes, then).await?);
        }
    }
    for (rows, vocabulary) in [(1, 1), (17, 29), (129, 512), (3, 1000)] {
        if wanted("nll") {
            found.push(nll(device, &any, rows, vocabulary).await?);
        }
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
        if wants_attention {
            let of_width = kernels(d_head);
            for (has_bias, far) in attention::CASES {
                attention::attention(device, &of_width, &sizes, has_bias, far, &mut found).await?;
            }
        }
        if wanted("copy_qk") {
            found.push(keys::copy_qk(device, &any, &sizes).await?);
        }
        if wanted("smear") {
            found.push(keys::smear(device, &any, &sizes).await?);
        }
        if d_head >= 2 && wanted("rotate") {
            for (pairing, pairs) in [
                (Pairing::Halves, d_head / 2),
                (Pairing::Interleaved, d_head / 2),
                (Pairing::Halves, 1),
            ] {
                for has_keys in [false, true] {
                    found.push(keys::rotate(device, &any, &sizes, (pairing, pairs, has_keys)).await?);
                }
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
    let layer = Linear::unpacked(&weight, Some(&bias));
    cpu::linear::linear(&x, layer, &mut expected, inputs, store);
    let activation = match then {
        Then::Gelu => Some(Activation::Gelu),
        Then::GeluTanh => Some(Activation::GeluTanh),
        Then::Store | Then::Residual => None,
    };
    if let Some(kind) = activation {
        cpu::activation::activation(kind, &mut expected);
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
    let layer = Linear::unpacked(&output, None);
    cpu::nll::nll(&hidden, layer, &targets, &mut expected, 1);
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
