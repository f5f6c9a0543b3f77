use super::buffer::Buffer;
use crate::engine::cpu::attention::Sizes;

/// What the scores of an attention layer are made from; twin of [`crate::engine::cpu::scores::Inputs`].
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// `[rows][3 · d_model]`, turned if the encoding turns.
    pub qkv: &'a Buffer,
    /// `[H][T]`, by distance.
    pub bias: Option<&'a Buffer>,
    pub far: Option<FarInputs<'a>>,
    /// Any buffer: a binding must be there even where there is no table.
    pub nothing: &'a Buffer,
}

/// What becomes of keys far before the query.
#[derive(Clone, Copy)]
pub struct FarInputs<'a> {
    pub from: usize,
    pub keys: usize,
    pub last: usize,
    /// `[rows][2 · d_model]`
    pub qk: Option<&'a Buffer>,
}

impl<'a> Inputs<'a> {
    /// The words that the uniforms of attention and both captures begin with.
    pub(super) fn words(&self, sizes: &Sizes) -> [u32; 9] {
        let (from, keys, last) = self
            .far
            .map_or((usize::MAX, 0, 0), |far| (far.from, far.keys, far.last));
        // None of the three means anything past T, and sums of them are to fit.
        let [from, keys, last] = [from, keys, last].map(|tokens| tokens.min(sizes.length) as u32);
        let [length, heads, d_head] = [sizes.length, sizes.heads, sizes.d_head].map(|size| size as u32);
        [
            length,
            heads,
            d_head,
            self.bias.is_some().into(),
            sizes.score_scale.to_bits(),
            from,
            keys,
            last,
            self.far.is_some_and(|far| far.qk.is_some()).into(),
        ]
    }

    /// The buffers that their bindings begin with.
    pub(super) fn buffers(&self) -> [&'a Buffer; 3] {
        let far_qk = self.far.and_then(|far| far.qk);
        [
            self.qkv,
            self.bias.unwrap_or(self.nothing),
            far_qk.unwrap_or(self.nothing),
        ]
    }
}
