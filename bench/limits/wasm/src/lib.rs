//! Matrix products in WebAssembly's SIMD128 and nothing else, in several shapes of register tile: the ceiling
//! that the engine's own products are compared with. The right matrix, a model's weight, is packed beforehand.
#![cfg(target_arch = "wasm32")]

use core::arch::wasm32::{self as simd, f32x4_splat, v128, v128_load, v128_load32_splat, v128_store};

/// Numbers in a register.
const LANES: usize = 4;
/// Rows of the left matrix that are packed together, so that they stay in the first cache.
const STRIP: usize = 48;

/// Room for `count` numbers, aligned to a register; it is never given back.
#[unsafe(no_mangle)]
pub extern "C" fn reserve(count: usize) -> *mut f32 {
    let registers = vec![f32x4_splat(0.0); count.div_ceil(LANES)];
    Box::leak(registers.into_boxed_slice()).as_mut_ptr().cast()
}

#[inline(always)]
fn multiply_add(a: v128, b: v128, sum: v128) -> v128 {
    #[cfg(feature = "relaxed")]
    return simd::f32x4_relaxed_madd(a, b, sum);
    #[cfg(not(feature = "relaxed"))]
    simd::f32x4_add(simd::f32x4_mul(a, b), sum)
}

/// Packs `b[k][n]` into panels of `columns` columns: `[n / columns][k][columns]`.
///
/// # Safety
/// Both point at k · n numbers, and `columns` divides n.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pack(b: *const f32, packed: *mut f32, k: usize, n: usize, columns: usize) {
    for panel in 0..n / columns {
        for depth in 0..k {
            for column in 0..columns {
                // SAFETY: every index is below k · n.
                unsafe {
                    *packed.add((panel * k + depth) * columns + column) =
                        *b.add(depth * n + panel * columns + column);
                }
            }
        }
    }
}

/// One tile of R rows and C registers of columns. Row r of the left matrix begins at `a + r · row_step`, and its
/// numbers stand `step` apart.
///
/// # Safety
/// The tile lies in all three matrices.
#[inline(always)]
unsafe fn tile<const R: usize, const C: usize>(
    k: usize,
    (mut a, row_step, step): (*const f32, usize, usize),
    mut b: *const f32,
    (out, n): (*mut f32, usize),
) {
    let mut sums = [[f32x4_splat(0.0); C]; R];
    // SAFETY: the caller's.
    unsafe {
        for _ in 0..k {
            let columns: [v128; C] = core::array::from_fn(|c| v128_load(b.add(c * LANES).cast()));
            for (r, sums) in sums.iter_mut().enumerate() {
                let row = v128_load32_splat(a.add(r * row_step).cast());
                for (sum, column) in sums.iter_mut().zip(columns) {
                    *sum = multiply_add(row, column, *sum);
                }
            }
            (a, b) = (a.add(step), b.add(C * LANES));
        }
        for (r, sums) in sums.iter().enumerate() {
            for (c, sum) in sums.iter().enumerate() {
                v128_store(out.add(r * n + c * LANES).cast(), *sum);
            }
        }
    }
}

/// `out[m][n] = a[m][k] · b[k][n]` by tiles; with `room`, the left matrix is packed into it strip by strip.
///
/// # Safety
/// `b` is packed in panels of the tile's width, R divides m, and `room` is null or has STRIP · k numbers.
unsafe fn product<const R: usize, const C: usize>(
    (m, k, n): (usize, usize, usize),
    a: *const f32,
    b: *const f32,
    out: *mut f32,
    room: *mut f32,
) {
    let (strip, width) = (STRIP / R * R, C * LANES);
    for first in (0..m).step_by(strip) {
        let rows = strip.min(m - first);
        // SAFETY: the caller's.
        unsafe {
            if !room.is_null() {
                for row in 0..rows {
                    for depth in 0..k {
                        *room.add((row / R * k + depth) * R + row % R) = *a.add((first + row) * k + depth);
                    }
                }
            }
            for panel in 0..n / width {
                for row in (0..rows).step_by(R) {
                    let left = if room.is_null() {
                        (a.add((first + row) * k), k, 1)
                    } else {
                        (room.add(row * k).cast_const(), 1, R)
                    };
                    let out = out.add((first + row) * n + panel * width);
                    tile::<R, C>(k, left, b.add(panel * k * width), (out, n));
                }
            }
        }
    }
}

macro_rules! products {
    ($($name:ident: $rows:literal $columns:literal,)*) => {$(
        /// # Safety
        /// As for `product`.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(m: usize, k: usize, n: usize, a: *const f32, b: *const f32, out: *mut f32, room: *mut f32) {
            // SAFETY: the caller's.
            unsafe { product::<$rows, $columns>((m, k, n), a, b, out, room) }
        }
    )*};
}

// Named by rows and columns; the page reads both from the name.
products! {
    tile_1x16: 1 4,
    tile_2x8: 2 2,
    tile_2x16: 2 4,
    tile_3x8: 3 2,
    tile_3x16: 3 4,
    tile_4x8: 4 2,
    tile_4x12: 4 3,
    tile_4x16: 4 4,
    tile_6x8: 6 2,
    tile_8x4: 8 1,
}
