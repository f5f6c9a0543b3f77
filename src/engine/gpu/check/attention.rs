//! Attention and its captures against the CPU twins.

use super::kernels::run;
use super::{Difference, name, numbers};
use crate::engine::cpu::{self, attention::Sizes};
use crate::engine::gpu::device::Device;
use crate::engine::gpu::kernels::Kernels;
use crate::engine::gpu::recorder::Recorder;
use crate::engine::gpu::scores::{FarInputs, Inputs};
use crate::engine::{EngineError, RASTER_SIDE_MAX};
use std::ops::Range;
use wgpu::Buffer;

/// Whether there is a bias, and what becomes of far keys as (from, keys, last): nothing, a window, a window
/// with sinks, and far keys that are all scored with another rotation.
pub const CASES: [(bool, Option<[usize; 3]>); 5] = [
    (false, None),
    (true, None),
    (true, Some([23, 0, 22])),
    (true, Some([23, 3, 25])),
    (false, Some([50, usize::MAX, usize::MAX])),
];

/// Attention and both captures, which start from what it leaves behind.
pub async fn attention(
    device: &Device,
    kernels: &Kernels,
    sizes: &Sizes,
    has_bias: bool,
    far: Option<[usize; 3]>,
    found: &mut Vec<Difference>,
) -> Result<(), EngineError> {
    let qkv = numbers(sizes.rows() * 3 * sizes.d_model(), 1);
    let table: Vec<f32> = numbers(sizes.heads * sizes.length, 2)
        .iter()
        .map(|x| 3.0 * x)
        .collect();
    let bias = has_bias.then_some(&table[..]);
    // Far keys that are not seen are not turned either.
    let far_qk = numbers(sizes.rows() * 2 * sizes.d_model(), 3);
    let is_turned = far.is_some_and(|[_, keys, _]| keys > 0);
    let inputs = cpu::scores::Inputs {
        qkv: &qkv,
        bias,
        far: far.map(|[from, keys, last]| cpu::scores::FarInputs {
            from,
            keys,
            last,
            qk: is_turned.then_some(&far_qk[..]),
        }),
    };
    let mut expected = vec![0.0; sizes.rows() * sizes.d_model()];
    let mut lse = vec![0.0; sizes.rows() * sizes.heads];
    cpu::attention::attention(&inputs, sizes, &mut expected, &mut lse);
    let far_case = far.map_or(String::new(), |[from, keys, last]| {
        format!(", far from {from}, {keys} seen, last {last}")
    });
    let bias_case = if has_bias { "bias" } else { "no bias" };
    let case = format!("{}, {bias_case}{far_case}", name(sizes));
    let [qkv_buffer, bias_buffer, far_buffer] =
        [&qkv, &table, &far_qk].map(|values| device.upload("", values));
    let buffers = Inputs {
        qkv: &qkv_buffer,
        bias: has_bias.then_some(&bias_buffer),
        far: far.map(|[from, keys, last]| FarInputs {
            from,
            keys,
            last,
            qk: is_turned.then_some(&far_buffer),
        }),
        nothing: &bias_buffer,
    };
    let out = device.buffer("", expected.len() as u64 * 4);
    let softmax = device.buffer("", lse.len() as u64 * 8);
    let mut to = Recorder::new(device);
    kernels.attention(&mut to, buffers, sizes, &out, &softmax);
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

    let case = (&case[..], sizes, inputs, &lse[..]);
    let buffers = (buffers, &softmax);
    let last = sizes.heads - 1;
    // The last head as finely as it goes, then all heads in cells of several queries and keys.
    for (heads, side) in [(last..sizes.heads, RASTER_SIDE_MAX), (0..sizes.heads, 7)] {
        let cells = (heads, side.min(sizes.length));
        found.push(capture_attention(device, kernels, case, cells, buffers).await?);
    }
    found.extend(capture_profile(device, kernels, case, buffers).await?);
    Ok(())
}

/// What the captures of a case start from on the CPU: its name, sizes, inputs and log-sum-exp.
type Attended<'a> = (&'a str, &'a Sizes, cpu::scores::Inputs<'a>, &'a [f32]);

/// Values that stand before what a capture writes, as those of earlier layers do in a model.
const BEFORE: usize = 3;

async fn capture_attention(
    device: &Device,
    kernels: &Kernels,
    (case, sizes, inputs, lse): Attended<'_>,
    (heads, side): (Range<usize>, usize),
    (buffers, softmax): (Inputs<'_>, &Buffer),
) -> Result<Difference, EngineError> {
    let one = |head| cpu::capture::capture_attention(&inputs, lse, sizes, head, side);
    let expected: Vec<f32> = heads.clone().flat_map(one).collect();
    let case = format!("{case}, heads {heads:?}, side {side}");
    let count = BEFORE + expected.len();
    let out = device.buffer("", count as u64 * 4);
    let mut to = Recorder::new(device);
    let cells = (heads, side, BEFORE);
    kernels.capture_attention(&mut to, buffers, sizes, cells, softmax, &out);
    let got = run(device, to, &out, count).await?;
    let kernel = "capture_attention";
    Ok(Difference::new(kernel, case, &got[BEFORE..], &expected, 1e-5))
}

async fn capture_profile(
    device: &Device,
    kernels: &Kernels,
    (case, sizes, inputs, lse): Attended<'_>,
    (buffers, softmax): (Inputs<'_>, &Buffer),
) -> Result<[Difference; 2], EngineError> {
    let expected = cpu::capture::capture_profile(&inputs, lse, sizes);
    let entropy = 2 * BEFORE + expected.weight.len();
    let count = entropy + expected.entropy.len();
    let out = device.buffer("", count as u64 * 4);
    let mut to = Recorder::new(device);
    kernels.capture_profile(&mut to, buffers, sizes, (BEFORE, entropy), softmax, &out);
    let got = run(device, to, &out, count).await?;
    let difference = |part: &str, got: &[f32], expected: &[f32]| {
        Difference::new("capture_profile", format!("{case}, {part}"), got, expected, 1e-5)
    };
    Ok([
        difference("weight", &got[BEFORE..entropy - BEFORE], &expected.weight),
        difference("entropy", &got[entropy..], &expected.entropy),
    ])
}
