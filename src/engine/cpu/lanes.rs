//! Four numbers at once: SIMD128 in the browser, by its instructions, so that they are used however small
//! the module is optimised; elsewhere an array, which compilers turn into the machine's own.

use std::ops::{Add, Div, Mul, Sub};

#[cfg(target_arch = "wasm32")]
use core::arch::wasm32 as simd;

/// How many numbers.
pub const LANES: usize = 4;

/// Four f32.
#[derive(Clone, Copy)]
pub struct F32x4(
    #[cfg(target_arch = "wasm32")] simd::v128,
    #[cfg(not(target_arch = "wasm32"))] [f32; LANES],
);

macro_rules! operator {
    ($trait:ident, $method:ident, $instruction:ident) => {
        impl $trait for F32x4 {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                #[cfg(target_arch = "wasm32")]
                return Self(simd::$instruction(self.0, other.0));
                #[cfg(not(target_arch = "wasm32"))]
                Self(std::array::from_fn(|lane| {
                    self.0[lane].$method(other.0[lane])
                }))
            }
        }
    };
}
operator!(Add, add, f32x4_add);
operator!(Sub, sub, f32x4_sub);
operator!(Mul, mul, f32x4_mul);
operator!(Div, div, f32x4_div);

impl F32x4 {
    /// The same number four times.
    #[inline(always)]
    pub fn splat(value: f32) -> Self {
        #[cfg(target_arch = "wasm32")]
        return Self(simd::f32x4_splat(value));
        #[cfg(not(target_arch = "wasm32"))]
        Self([value; LANES])
    }

    #[inline(always)]
    pub fn load(from: &[f32; LANES]) -> Self {
        #[cfg(target_arch = "wasm32")]
        return Self(simd::f32x4(from[0], from[1], from[2], from[3]));
        #[cfg(not(target_arch = "wasm32"))]
        Self(*from)
    }

    #[inline(always)]
    pub fn to_array(self) -> [f32; LANES] {
        #[cfg(target_arch = "wasm32")]
        return [
            simd::f32x4_extract_lane::<0>(self.0),
            simd::f32x4_extract_lane::<1>(self.0),
            simd::f32x4_extract_lane::<2>(self.0),
            simd::f32x4_extract_lane::<3>(self.0),
        ];
        #[cfg(not(target_arch = "wasm32"))]
        self.0
    }

    /// `self · factor + more`, rounded once where the module may use relaxed SIMD and the machine has such an
    /// instruction, else twice.
    #[inline(always)]
    pub fn mul_add(self, factor: Self, more: Self) -> Self {
        #[cfg(all(target_arch = "wasm32", target_feature = "relaxed-simd"))]
        return Self(simd::f32x4_relaxed_madd(self.0, factor.0, more.0));
        #[cfg(not(all(target_arch = "wasm32", target_feature = "relaxed-simd")))]
        return self * factor + more;
    }

    /// Lane by lane the larger one; no lane may be NaN.
    #[inline(always)]
    pub fn max(self, other: Self) -> Self {
        #[cfg(target_arch = "wasm32")]
        return Self(simd::f32x4_pmax(self.0, other.0));
        #[cfg(not(target_arch = "wasm32"))]
        Self(std::array::from_fn(|lane| self.0[lane].max(other.0[lane])))
    }

    /// Lane by lane the smaller one; no lane may be NaN.
    #[inline(always)]
    pub fn min(self, other: Self) -> Self {
        #[cfg(target_arch = "wasm32")]
        return Self(simd::f32x4_pmin(self.0, other.0));
        #[cfg(not(target_arch = "wasm32"))]
        Self(std::array::from_fn(|lane| self.0[lane].min(other.0[lane])))
    }

    /// 2 to the whole number in the low bits of each lane (see [`exp`](super::exp)).
    #[inline(always)]
    pub fn power_of_two(self) -> Self {
        #[cfg(target_arch = "wasm32")]
        return Self(simd::i32x4_add(
            simd::i32x4_shl(self.0, 23),
            simd::i32x4_splat(127 << 23),
        ));
        #[cfg(not(target_arch = "wasm32"))]
        Self(std::array::from_fn(|lane| {
            f32::from_bits((self.0[lane].to_bits() << 23).wrapping_add(127 << 23))
        }))
    }

    /// Each lane, a normal number, times 2 to the whole number in the low bits of `power`'s (see
    /// [`exp`](super::exp)), by adding to its exponent.
    #[inline(always)]
    pub fn scaled_by(self, power: Self) -> Self {
        #[cfg(target_arch = "wasm32")]
        return Self(simd::i32x4_add(self.0, simd::i32x4_shl(power.0, 23)));
        #[cfg(not(target_arch = "wasm32"))]
        Self(std::array::from_fn(|lane| {
            let power = power.0[lane].to_bits() << 23;
            f32::from_bits(self.0[lane].to_bits().wrapping_add(power))
        }))
    }

    /// The sum of the four.
    #[inline(always)]
    pub fn sum(self) -> f32 {
        let [a, b, c, d] = self.to_array();
        (a + b) + (c + d)
    }
}

/// Replaces every value by `four` of it, four at a time; the rest is padded with zeros.
#[inline(always)]
pub fn for_each(values: &mut [f32], mut four: impl FnMut(F32x4) -> F32x4) {
    let (whole, rest) = values.as_chunks_mut::<LANES>();
    for chunk in whole {
        *chunk = four(F32x4::load(chunk)).to_array();
    }
    if !rest.is_empty() {
        let done = four(padded(rest)).to_array();
        rest.copy_from_slice(&done[..rest.len()]);
    }
}

/// Replaces every value by `four` of it and of the value at the same place in `others`.
#[inline(always)]
pub fn for_each_with(values: &mut [f32], others: &[f32], mut four: impl FnMut(F32x4, F32x4) -> F32x4) {
    let (whole, rest) = values.as_chunks_mut::<LANES>();
    let (other_chunks, other_rest) = others[..whole.len() * LANES + rest.len()].as_chunks::<LANES>();
    for (chunk, other) in whole.iter_mut().zip(other_chunks) {
        *chunk = four(F32x4::load(chunk), F32x4::load(other)).to_array();
    }
    if !rest.is_empty() {
        let done = four(padded(rest), padded(other_rest)).to_array();
        rest.copy_from_slice(&done[..rest.len()]);
    }
}

fn padded(rest: &[f32]) -> F32x4 {
    let mut four = [0.0; LANES];
    four[..rest.len()].copy_from_slice(rest);
    F32x4::load(&four)
}
