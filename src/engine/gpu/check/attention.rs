//! Attention and its captures against the CPU twins.

use super::kernels::{VARIANTS, run};
use super::{Difference, name, numbers};
use crate::engine::cpu::{self, attention::Sizes};
use crate::engine::gpu::buffer::Buffer;
use crate::engine::gpu::device::Device;
use crate::engine::gpu::kernels::{Kernels, Variants};
use crate::engine::gpu::layout::{narrowed, padded_sizes, widened};
use crate::engine::gpu::recorder::Recorder;
use crate::engine::gpu::scores::{FarInputs, Inputs};
use crate::engine::{EngineError, RASTER_SIDE_MAX};
use std::ops::Range;

/// Whether there is a bias, and what becomes of far keys as (from, keys, last): nothing, a window, a window
/// with sinks, and far keys that are all scored with another rotation.
pub const CASES: [(bool, Option<[usize; 3]>); 5] = [
    (false, None),
    (true, None),
    (true, Some([23, 0, 22])),
    (true, Some([23, 3, 25])),
    (false, Some([50, usize::MAX, usize::MAX])),
];

/// A case of attention on the CPU: its inputs, and what is to come out.
struct Case<'a> {
    name: String,
    sizes: &'a Sizes,
    inputs: cpu::scores::Inputs<'a>,
    out: Vec<f32>,
    /// `[rows][H]`
    log_sum_exp: Vec<f32>,
}

/// Random numbers to compute attention from.
struct Numbers {
    qkv: Vec<f32>,
    bias: Vec<f32>,
    far_qk: Vec<f32>,
}

impl Numbers {
    fn new(sizes: &Sizes) -> Self {
        let bias = numbers(sizes.heads * sizes.length, 2);
        Self {
            qkv: numbers(sizes.rows() * 3 * sizes.d_model(), 1),
            bias: bias.iter().map(|x| 3.0 * x).collect(),
            far_qk: numbers(sizes.rows() * 2 * sizes.d_model(), 3),
        }
    }

    fn case<'a>(&'a self, sizes: &'a Sizes, has_bias: bool, far: Option<[usize; 3]>) -> Case<'a> {
        let inputs = cpu::scores::Inputs {
            qkv: &self.qkv,
            bias: has_bias.then_some(&self.bias[..]),
            far: far.map(|[from, keys, last]| cpu::scores::FarInputs {
                from,
                keys,
                last,
                // Far keys that are not seen are not turned either.
                qk: (keys > 0).then_some(&self.far_qk[..]),
            }),
        };
        let far_case = far.map_or(String::new(), |[from, keys, last]| {
            format!(", far from {from}, {keys} seen, last {last}")
        });
        let bias_case = if has_bias { "bias" } else { "no bias" };
        let mut case = Case {
            name: format!("{}, {bias_case}{far_case}", name(sizes)),
            sizes,
            inputs,
            out: vec![0.0; sizes.rows() * sizes.d_model()],
            log_sum_exp: vec![0.0; sizes.rows() * sizes.heads],
        };
        cpu::attention::attention(&inputs, sizes, &mut case.out, &mut case.log_sum_exp);
        case
    }
}

/// The same numbers on the GPU.
struct OnGpu {
    qkv: Buffer,
    bias: Buffer,
    far_qk: Buffer,
    softmax: Buffer,
}

impl OnGpu {
    fn new(device: &Device, numbers: &Numbers, sizes: &Sizes) -> Self {
        let wide = |values: &[f32]| device.upload("", &widened(values, sizes.d_head));
        Self {
            qkv: wide(&numbers.qkv),
            bias: device.upload("", &numbers.bias),
            far_qk: wide(&numbers.far_qk),
            softmax: device.buffer("", (sizes.rows() * sizes.heads) as u64 * 8),
        }
    }

    /// As the inputs of that case.
    fn inputs(&self, case: &Case) -> Inputs<'_> {
        Inputs {
            qkv: &self.qkv,
            bias: case.inputs.bias.map(|_| &self.bias),
            far: case.inputs.far.as_ref().map(|far| FarInputs {
                from: far.from,
                keys: far.keys,
                last: far.last,
                qk: far.qk.map(|_| &self.far_qk),
            }),
            nothing: &self.bias,
        }
    }
}

/// Both variants of attention, and the captures, which start from what it leaves behind.
pub async fn attention(
    device: &Device,
    kernels: &Kernels,
    sizes: &Sizes,
    has_bias: bool,
    far: Option<[usize; 3]>,
    found: &mut Vec<Difference>,
) -> Result<(), EngineError> {
    let numbers = Numbers::new(sizes);
    let on_gpu = OnGpu::new(device, &numbers, sizes);
    let case = numbers.case(sizes, has_bias, far);
    attend(device, kernels, &case, &on_gpu, found).await?;
    let last = sizes.heads - 1;
    // The last head as finely as it goes, then all heads in cells of several queries and keys.
    for (heads, side) in [(last..sizes.heads, RASTER_SIDE_MAX), (0..sizes.heads, 7)] {
        let cells = (heads, side.min(sizes.length));
        found.push(capture_attention(device, kernels, &case, cells, &on_gpu).await?);
    }
    found.extend(capture_profile(device, kernels, &case, &on_gpu).await?);
    Ok(())
}

/// Both variants of attention.
pub async fn both_variants(
    device: &Device,
    kernels: &Kernels,
    sizes: &Sizes,
    has_bias: bool,
    far: Option<[usize; 3]>,
    found: &mut Vec<Difference>,
) -> Result<(), EngineError> {
    let numbers = Numbers::new(sizes);
    let on_gpu = OnGpu::new(device, &numbers, sizes);
    attend(
        device,
        kernels,
        &numbers.case(sizes, has_bias, far),
        &on_gpu,
        found,
    )
    .await
}

async fn attend(
    device: &Device,
    kernels: &Kernels,
    case: &Case<'_>,
    on_gpu: &OnGpu,
    found: &mut Vec<Difference>,
) -> Result<(), EngineError> {
    let (sizes, of_heads) = (case.sizes, padded_sizes(case.sizes));
    let count = of_heads.rows() * of_heads.d_model();
    let out = device.buffer("", count as u64 * 4);
    for variant in VARIANTS {
        let kernels = kernels.with_variants(Variants {
            attention: variant,
            ..Variants::default()
        });
        let name = format!("{}, {variant:?}", case.name);
        let mut to = Recorder::new(device);
        kernels.attention(&mut to, on_gpu.inputs(case), &of_heads, &out, &on_gpu.softmax);
        let got = narrowed(&run(device, to, &out, count).await?, sizes.d_head);
        found.push(Difference::new("attention", name.clone(), &got, &case.out, 1e-5));
        let count = 2 * case.log_sum_exp.len();
        let stats = run(device, Recorder::new(device), &on_gpu.softmax, count).await?;
        let log_sum_exp = |[most, sum]: &[f32; 2]| most + sum.ln();
        let got: Vec<f32> = stats.as_chunks().0.iter().map(log_sum_exp).collect();
        let name = format!("{name}, log-sum-exp");
        found.push(Difference::new("attention", name, &got, &case.log_sum_exp, 1e-5));
    }
    Ok(())
}

/// Values that stand before what a capture writes, as those of earlier layers do in a model.
const BEFORE: usize = 3;

async fn capture_attention(
    device: &Device,
    kernels: &Kernels,
    case: &Case<'_>,
    (heads, side): (Range<usize>, usize),
    on_gpu: &OnGpu,
) -> Result<Difference, EngineError> {
    let one = |head| cpu::capture::capture_attention(&case.inputs, &case.log_sum_exp, case.sizes, head, side);
    let expected: Vec<f32> = heads.clone().flat_map(one).collect();
    let name = format!("{}, heads {heads:?}, side {side}", case.name);
    let count = BEFORE + expected.len();
    let out = device.buffer("", count as u64 * 4);
    let mut to = Recorder::new(device);
    let (sizes, cells) = (padded_sizes(case.sizes), (heads, side, BEFORE));
    kernels.capture_attention(&mut to, on_gpu.inputs(case), &sizes, cells, &on_gpu.softmax, &out);
    let got = run(device, to, &out, count).await?;
    let kernel = "capture_attention";
    Ok(Difference::new(kernel, name, &got[BEFORE..], &expected, 1e-5))
}

async fn capture_profile(
    device: &Device,
    kernels: &Kernels,
    case: &Case<'_>,
    on_gpu: &OnGpu,
) -> Result<[Difference; 2], EngineError> {
    let expected = cpu::capture::capture_profile(&case.inputs, &case.log_sum_exp, case.sizes);
    let entropy = 2 * BEFORE + expected.weight.len();
    let count = entropy + expected.entropy.len();
    let out = device.buffer("", count as u64 * 4);
    let mut to = Recorder::new(device);
    let (sizes, starts) = (padded_sizes(case.sizes), (BEFORE, entropy));
    kernels.capture_profile(
        &mut to,
        on_gpu.inputs(case),
        &sizes,
        starts,
        &on_gpu.softmax,
        &out,
    );
    let got = run(device, to, &out, count).await?;
    let difference = |part: &str, got: &[f32], expected: &[f32]| {
        Difference::new(
            "capture_profile",
            format!("{}, {part}", case.name),
            got,
            expected,
            1e-5,
        )
    };
    Ok([
        difference("weight", &got[BEFORE..entropy - BEFORE], &expected.weight),
        difference("entropy", &got[entropy..], &expected.entropy),
    ])
}
