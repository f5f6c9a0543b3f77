use super::buffer::Buffer;
use super::kernels::Kernels;
use super::recorder::{Recorder, grid};
use crate::encoding::Pairing;
use crate::engine::cpu::attention::Sizes;

impl Kernels {
    /// `out[rows][2 · d_model]`, the queries and keys of `qkv[rows][3 · d_model]`.
    pub fn copy_qk<'a>(&'a self, to: &mut Recorder<'a>, sizes: &Sizes, qkv: &'a Buffer, out: &'a Buffer) {
        let (rows, d_model) = (sizes.rows(), sizes.d_model());
        self.add(
            to,
            "copy_qk",
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
        self.add(
            to,
            "smear",
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
        self.add(
            to,
            "rotate",
            &parameters,
            &[cos, sin, key_cos, key_sin, qk],
            grid(count.div_ceil(64)),
        );
    }
}
