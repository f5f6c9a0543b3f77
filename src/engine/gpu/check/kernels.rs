//! Every kernel against its CPU twin, on odd sizes.

use super::{Difference, attention, keys, numbers, paint, tokens};
use crate::encoding::Pairing;
use crate::engine::EngineError;
use crate::engine::cpu::parameters::Linear;
use crate::engine::cpu::{self, attention::Sizes};
use crate::engine::gpu::buffer::Buffer;
use crate::engine::gpu::device::Device;
use crate::engine::gpu::kernels::{Kernels, Then, Variant, Variants};
use crate::engine::gpu::layout::{blocks, logit_bias, narrowed, padded, widened};
use crate::engine::gpu::recorder::Recorder;
use crate::model::Activation;
use std::sync::Arc;

/// Both ways of a kernel that exists twice.
pub(super) const VARIANTS: [Variant; 2] = [Variant::Registers, Variant::Tiles];

/// Runs what was recorded and reads `count` values of `out`.
pub(super) async fn run(
    device: &Device,
    recorder: Recorder<'_>,
    out: &Buffer,
    count: usize,
) -> Result<Vec<f32>, EngineError> {
    let recorded = recorder.finish();
    let staging = device.buffer_for(
        "staging",
        count as u64 * 4,
        wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
    );
    let mut encoder = device.device.create_command_encoder(&Default::default());
    recorded.encode(&mut encoder);
    encoder.copy_buffer_to_buffer(out, 0, &staging, 0, count as u64 * 4);
    device.queue.submit([encoder.finish()]);
    let values = device.read(&staging, f32::from_le_bytes).await;
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
    // Larger than its cells and smaller, a last row that is not full, and one that ends at no whole 256 bytes.
    for sizes in [
        [1, 1, 1, 1],
        [1, 1, 7, 20],
        [5, 3, 9, 4],
        [4, 2, 40, 40],
        [1, 1, 512, 130],
    ] {
        if wanted("paint") {
            found.push(paint::paint(device, &any, sizes).await?);
        }
    }
    for linear_variant in VARIANTS {
        let of_variant = any.with_variants(Variants {
            linear: linear_variant,
            ..Variants::default()
        });
        for sizes in [(1, 1, 1), (17, 5, 3), (129, 24, 72), (70, 96, 29), (65, 33, 130)] {
            for then in [Then::Store, Then::Residual, Then::Gelu, Then::GeluTanh]
                .into_iter()
                .filter(|_| wanted("linear"))
            {
                found.push(linear(device, &of_variant, sizes, then).await?);
            }
        }
        for sizes in [(1, 1, 1), (17, 5, 29), (129, 24, 512), (3, 7, 1000)] {
            if wanted("linear") || wanted("nll") {
                found.extend(loss(device, &of_variant, sizes).await?);
            }
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

/// Compares both variants of the matrix product and of attention at sizes that fit no tile: windows of 1, 17,
/// 333 and 4097 tokens, one head or several, heads of 8 to 64.
///
/// # Errors
/// A GPU that failed outright.
pub async fn odd_sizes(
    device: &Device,
    kernels: impl Fn(usize) -> Arc<Kernels>,
) -> Result<Vec<Difference>, EngineError> {
    let mut found = Vec::new();
    for (length, heads, d_head) in [
        (1, 1, 64),
        (1, 3, 8),
        (17, 1, 8),
        (17, 2, 44),
        (333, 1, 24),
        (333, 3, 10),
        (333, 1, 64),
        (4097, 1, 8),
    ] {
        let sizes = Sizes {
            windows: if length < 333 { 3 } else { 1 },
            length,
            heads,
            d_head,
            score_scale: 1.5 / (d_head as f32).sqrt(),
        };
        for (has_bias, far) in attention::CASES {
            attention::both_variants(device, &kernels(d_head), &sizes, has_bias, far, &mut found).await?;
        }
    }
    for (rows, inputs, outputs) in [(1, 96, 7), (17, 8, 288), (333, 50, 97), (4097, 24, 66)] {
        for variant in VARIANTS {
            let of_variant = kernels(8).with_variants(Variants {
                linear: variant,
                ..Variants::default()
            });
            let sizes = (rows, inputs, outputs);
            found.push(linear(device, &of_variant, sizes, Then::Residual).await?);
            found.extend(loss(device, &of_variant, sizes).await?);
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
    let ids = device.upload("", &ids);
    let [embedding, table] = [&embedding, &table].map(|values| device.upload("", &widened(values, d)));
    let out = device.buffer("", (rows * padded(d)) as u64 * 4);
    let mut to = Recorder::new(device);
    kernels.embed(
        &mut to,
        (rows, length, d),
        1.7,
        &ids,
        &embedding,
        Some(&table),
        &out,
    );
    let got = narrowed(&run(device, to, &out, rows * padded(d)).await?, d);
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
    let [x, weight, bias] = [&x, &weight, &bias].map(|values| device.upload("", &widened(values, d)));
    let (layer, out) = ([weight, bias], device.buffer("", (rows * padded(d)) as u64 * 4));
    let mut to = Recorder::new(device);
    kernels.layer_norm(&mut to, (rows, d), 1e-5, &x, &layer, &out);
    let got = narrowed(&run(device, to, &out, rows * padded(d)).await?, d);
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
        Then::Store | Then::Residual | Then::Loss => None,
    };
    if let Some(kind) = activation {
        cpu::activation::activation(kind, &mut expected);
    }
    let [x, bias, out] = [(&x, inputs), (&bias, outputs), (&stream, outputs)]
        .map(|(values, width)| device.upload("", &widened(values, width)));
    let layer = [device.upload("", &blocks(&weight, inputs, inputs, outputs)), bias];
    let mut to = Recorder::new(device);
    kernels.linear(&mut to, (rows, inputs, outputs), then, &x, &layer, &out);
    let got = narrowed(&run(device, to, &out, rows * padded(outputs)).await?, outputs);
    let variant = kernels.variants().linear;
    let case = format!("{rows} × {inputs} × {outputs}, {then:?}, {variant:?}");
    Ok(Difference::new("linear", case, &got, &expected, 2e-5))
}

/// The loss: the parts of the softmax that the product leaves, and what they come to.
async fn loss(
    device: &Device,
    kernels: &Kernels,
    (rows, d, vocabulary): (usize, usize, usize),
) -> Result<[Difference; 2], EngineError> {
    let hidden: Vec<f32> = numbers(rows * d, 1).iter().map(|x| 20.0 * x / d as f32).collect();
    let output = numbers(vocabulary * d, 2);
    let targets = tokens(rows, vocabulary, 3);
    let mut expected = vec![0.0; rows];
    let unpacked = Linear::unpacked(&output, None);
    cpu::nll::nll(&hidden, unpacked, &targets, &mut expected, d);
    let hidden = device.upload("", &widened(&hidden, d));
    let layer = [
        device.upload("", &blocks(&output, d, d, vocabulary)),
        device.upload("", &logit_bias(vocabulary)),
    ];
    let targets = device.upload("", &targets);
    let parts = kernels.loss_parts(vocabulary);
    let softmax = device.buffer("", (rows * parts * 16) as u64);
    let out = device.buffer("", rows as u64 * 12);
    let mut to = Recorder::new(device);
    let shape = (rows, d, vocabulary);
    kernels.loss(&mut to, shape, &hidden, &layer, &targets, &softmax, &out);
    let got = run(device, to, &out, rows * 3).await?;
    let loss = |[most, sum, chosen]: &[f32; 3]| most + sum.ln() - chosen;
    let got: Vec<f32> = got.as_chunks().0.iter().map(loss).collect();
    let in_parts = run(device, Recorder::new(device), &softmax, rows * parts * 4).await?;
    let joined: Vec<f32> = in_parts.chunks_exact(parts * 4).map(joined).collect();
    let variant = kernels.variants().linear;
    let case = format!("{rows} rows, d {d}, V {vocabulary}, {variant:?}");
    Ok([
        Difference::new("nll", case.clone(), &got, &expected, 2e-5),
        Difference::new("linear", format!("{case}, loss"), &joined, &expected, 2e-5),
    ])
}

/// The loss of one row, of the parts of its softmax.
fn joined(parts: &[f32]) -> f32 {
    let parts = parts.as_chunks::<4>().0;
    let most = parts.iter().fold(f32::MIN, |most, part| most.max(part[0]));
    let sum: f32 = parts.iter().map(|part| part[1] * (part[0] - most).exp()).sum();
    let chosen: f32 = parts.iter().map(|part| part[2]).sum();
    most + sum.ln() - chosen
}
