use super::{Difference, numbers, read_words};
use crate::engine::EngineError;
use crate::engine::cpu::paint::{self, Canvas, SCALE_WORDS};
use crate::engine::gpu::device::Device;
use crate::engine::gpu::kernels::Kernels;
use crate::engine::gpu::picture::Picture;
use crate::engine::gpu::recorder::Recorder;

/// A scale whose colours are all different, in steps that are not even.
fn scale() -> Vec<u32> {
    let step = |index: usize| (index as f32 / 256.0).powi(3).to_bits();
    let colour = |index: usize| 0xff00_0000 | ((index as u32 * 0x0003_0507) & 0x00ff_ffff);
    (0..SCALE_WORDS)
        .map(|index| if index < 255 { step(index) } else { colour(index) })
        .collect()
}

/// Paints rasters of no meaning; gives the picture, and the pixels that it should have.
///
/// # Errors
/// A picture that is larger than this GPU allows.
pub fn sample(
    device: &Device,
    kernels: &Kernels,
    canvas: Canvas,
) -> Result<(Picture, Vec<u32>), EngineError> {
    let Canvas { rasters, side, .. } = canvas;
    let mut weights: Vec<f32> = numbers(rasters * side * side, 1)
        .iter()
        .map(|x| x.abs().powi(4))
        .collect();
    // No number, nothing at all, and the end of the scale.
    for (at, value) in [(side, f32::NAN), (0, 0.0), (2 * side, 1.0)] {
        if let Some(weight) = weights.get_mut(at) {
            *weight = value;
        }
    }
    let scale = scale();
    let expected = paint::paint(&weights, canvas, &scale);
    let [weights, scale] = [device.upload("", &weights), device.upload("", &scale)];
    let picture = Picture::new(device, canvas)?;
    let mut to = Recorder::new(device);
    kernels.paint(&mut to, canvas, &weights, &scale, &picture.buffer);
    let recorded = to.finish();
    let mut encoder = device.device.create_command_encoder(&Default::default());
    recorded.encode(&mut encoder);
    device.queue.submit([encoder.finish()]);
    Ok((picture, expected))
}

/// Rasters as colours; what is compared are the pixels' bytes.
pub(super) async fn paint(
    device: &Device,
    kernels: &Kernels,
    [rasters, across, side, px]: [usize; 4],
) -> Result<Difference, EngineError> {
    let canvas = Canvas {
        rasters,
        across,
        side,
        px,
    };
    let (picture, expected) = sample(device, kernels, canvas)?;
    let got = read_words(device, &picture.buffer).await?;
    let bytes = |words: &[u32]| -> Vec<f32> {
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        bytes.map(f32::from).collect()
    };
    let case = format!("{rasters} rasters of {side} cells, {across} across, {px} px");
    let got = bytes(&got[..expected.len()]);
    Ok(Difference::new("paint", case, &got, &bytes(&expected), 0.0))
}
