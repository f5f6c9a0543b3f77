//! What becomes of queries and keys before attention, against the CPU twins.

use super::kernels::run;
use super::{Difference, name, numbers};
use crate::encoding::Pairing;
use crate::engine::EngineError;
use crate::engine::cpu::{self, attention::Sizes, rotate::Turn};
use crate::engine::gpu::device::Device;
use crate::engine::gpu::kernels::Kernels;
use crate::engine::gpu::layout::{narrowed, padded, padded_sizes, widened};
use crate::engine::gpu::recorder::Recorder;

pub async fn copy_qk(device: &Device, kernels: &Kernels, sizes: &Sizes) -> Result<Difference, EngineError> {
    let d = sizes.d_model();
    let qkv = numbers(sizes.rows() * 3 * d, 1);
    let mut expected = vec![0.0; sizes.rows() * 2 * d];
    cpu::copy_qk::copy_qk(&qkv, d, &mut expected);
    let input = device.upload("", &widened(&qkv, sizes.d_head));
    let count = expected.len() / sizes.d_head * padded(sizes.d_head);
    let out = device.buffer("", count as u64 * 4);
    let mut to = Recorder::new(device);
    kernels.copy_qk(&mut to, &padded_sizes(sizes), &input, &out);
    let got = narrowed(&run(device, to, &out, count).await?, sizes.d_head);
    Ok(Difference::new("copy_qk", name(sizes), &got, &expected, 0.0))
}

pub async fn smear(device: &Device, kernels: &Kernels, sizes: &Sizes) -> Result<Difference, EngineError> {
    let d = sizes.d_model();
    let (before, qkv) = (numbers(sizes.rows() * 2 * d, 1), numbers(sizes.rows() * 3 * d, 2));
    let share = cpu::smear::shares(&numbers(sizes.heads, 3));
    let mut expected = qkv.clone();
    cpu::smear::smear(&before, &share, sizes, &mut expected);
    let wide = widened(&qkv, sizes.d_head);
    let [before, out] = [&widened(&before, sizes.d_head), &wide].map(|values| device.upload("", values));
    let share = device.upload("", &share);
    let mut to = Recorder::new(device);
    kernels.smear(&mut to, &before, &share, &padded_sizes(sizes), &out);
    let got = narrowed(&run(device, to, &out, wide.len()).await?, sizes.d_head);
    Ok(Difference::new("smear", name(sizes), &got, &expected, 1e-6))
}

pub async fn rotate(
    device: &Device,
    kernels: &Kernels,
    sizes: &Sizes,
    (pairing, pairs, has_keys): (Pairing, usize, bool),
) -> Result<Difference, EngineError> {
    let qkv = numbers(sizes.rows() * 3 * sizes.d_model(), 1);
    let angles = numbers(2 * sizes.length * pairs, 2);
    let (angles, key_angles) = angles.split_at(sizes.length * pairs);
    let table = |angles: &[f32], of: fn(f32) -> f32, scale: f32| -> Vec<f32> {
        angles.iter().map(|angle| scale * of(3.0 * angle)).collect()
    };
    let rotation = cpu::RotationF32 {
        pairing,
        pairs,
        cos: table(angles, f32::cos, 1.0),
        sin: table(angles, f32::sin, 1.0),
        keys: has_keys.then(|| [table(key_angles, f32::cos, 1.3), table(key_angles, f32::sin, 1.3)]),
    };
    // Rows of q, k and v, or of q and k alone.
    let width = if has_keys { 2 } else { 3 } * sizes.d_model();
    let qk = &qkv[..sizes.rows() * width];
    let mut expected = qk.to_vec();
    cpu::rotate::rotate(
        &mut expected,
        width,
        &rotation,
        sizes.heads,
        sizes.d_head,
        Turn::Forward,
    );
    let queries = [&rotation.cos, &rotation.sin].map(|values| device.upload("", values));
    let keys = rotation
        .keys
        .as_ref()
        .map(|keys| keys.each_ref().map(|values| device.upload("", values)));
    let wide = widened(qk, sizes.d_head);
    let out = device.upload("", &wide);
    let width = width / sizes.d_head * padded(sizes.d_head);
    let mut to = Recorder::new(device);
    let tables = [&queries, keys.as_ref().unwrap_or(&queries)];
    kernels.rotate(
        &mut to,
        &padded_sizes(sizes),
        (pairing, pairs),
        tables,
        &out,
        width,
    );
    let got = narrowed(&run(device, to, &out, wide.len()).await?, sizes.d_head);
    let of_keys = if has_keys { ", keys otherwise" } else { "" };
    Ok(Difference::new(
        "rotate",
        format!("{}, {pairing:?}, {pairs} pairs{of_keys}", name(sizes)),
        &got,
        &expected,
        1e-6,
    ))
}
