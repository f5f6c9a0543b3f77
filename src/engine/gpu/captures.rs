use super::buffer::Buffer;
use super::kernels::Kernels;
use super::recorder::Recorder;
use super::scores::Inputs;
use crate::engine::cpu::attention::Sizes;
use crate::engine::cpu::paint::Canvas;
use std::ops::Range;

/// Threads of a workgroup of capture_attention.wgsl.
const CAPTURE_THREADS: usize = 64;

impl Kernels {
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
        self.add(
            to,
            "capture_attention",
            &parameters,
            &[qkv, bias, far_qk, softmax, out],
            [columns, side, heads.len()].map(|count| count as u32),
        );
    }

    /// Rasters `[rasters][side][side]` as colours, by a `scale`.
    pub fn paint<'a>(
        &'a self,
        to: &mut Recorder<'a>,
        canvas: Canvas,
        rasters: &'a Buffer,
        scale: &'a Buffer,
        out: &'a Buffer,
    ) {
        let [width, height] = canvas.size();
        let parameters = [
            canvas.rasters,
            canvas.across,
            canvas.side,
            canvas.px,
            canvas.stride(),
        ];
        let parameters = parameters.map(|word| word as u32);
        let groups = [width.div_ceil(64), height, 1].map(|count| count as u32);
        self.add(to, "paint", &parameters, &[rasters, scale, out], groups);
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
        self.add(
            to,
            "capture_profile",
            &parameters,
            &[qkv, bias, far_qk, softmax, out],
            groups,
        );
    }
}
