//! Matrix products on one thread: natively by the `gemm` crate, in the browser by a small
//! register-tiled kernel that the compiler turns into SIMD128.

#[cfg(any(target_arch = "wasm32", test))]
use super::lanes::{F32x4, LANES};

/// A matrix somewhere in a slice.
#[derive(Clone, Copy)]
pub struct View<'a> {
    data: &'a [f32],
    row_stride: usize,
    column_stride: usize,
}

impl<'a> View<'a> {
    /// A matrix whose rows begin `row_stride` values apart.
    pub fn rows(data: &'a [f32], row_stride: usize) -> Self {
        Self {
            data,
            row_stride,
            column_stride: 1,
        }
    }

    /// The transpose of this matrix.
    pub fn transposed(self) -> Self {
        Self {
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    #[cfg(any(target_arch = "wasm32", test))]
    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> f32 {
        self.data[row * self.row_stride + column * self.column_stride]
    }

    fn holds(&self, rows: usize, columns: usize) -> bool {
        rows == 0
            || columns == 0
            || (rows - 1) * self.row_stride + (columns - 1) * self.column_stride < self.data.len()
    }
}

/// What becomes of the values that stand in the output already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Into {
    /// They are overwritten.
    Replace,
    /// The product is added to them.
    Add,
}

/// `out[m][n] = (out +) factor · lhs[m][k] · rhs[k][n]`; rows of `out` begin `out_stride` values apart.
///
/// # Panics
/// A matrix that is larger than its slice: a mistake in the engine, not in its input.
#[allow(clippy::too_many_arguments)]
pub fn product(
    (m, n, k): (usize, usize, usize),
    factor: f32,
    lhs: View,
    rhs: View,
    out: &mut [f32],
    out_stride: usize,
    into: Into,
) {
    if m == 0 || n == 0 {
        return;
    }
    assert!(lhs.holds(m, k) && rhs.holds(k, n) && out_stride >= n && (m - 1) * out_stride + n <= out.len());
    #[cfg(not(target_arch = "wasm32"))]
    by_gemm((m, n, k), factor, lhs, rhs, out, out_stride, into);
    #[cfg(target_arch = "wasm32")]
    by_tiles((m, n, k), factor, lhs, rhs, out, out_stride, into);
}

#[cfg(not(target_arch = "wasm32"))]
fn by_gemm(
    (m, n, k): (usize, usize, usize),
    factor: f32,
    lhs: View,
    rhs: View,
    out: &mut [f32],
    out_stride: usize,
    into: Into,
) {
    // SAFETY: `product` checked that every matrix lies in its slice, and `out` is borrowed mutably.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out.as_mut_ptr(),
            1,
            out_stride as isize,
            into == Into::Add,
            lhs.data.as_ptr(),
            lhs.column_stride as isize,
            lhs.row_stride as isize,
            rhs.data.as_ptr(),
            rhs.column_stride as isize,
            rhs.row_stride as isize,
            1.0,
            factor,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Columns of a tile: four SIMD128 registers. Two rows of four fill the register file without spilling;
/// larger tiles were measured slower in WebAssembly.
#[cfg(any(target_arch = "wasm32", test))]
const COLUMNS: usize = 16;

/// The product by tiles of 2 × 16; the right matrix is packed into panels of 16 columns.
#[cfg(any(target_arch = "wasm32", test))]
fn by_tiles(
    (m, n, k): (usize, usize, usize),
    factor: f32,
    lhs: View,
    rhs: View,
    out: &mut [f32],
    out_stride: usize,
    into: Into,
) {
    let mut panel = vec![0.0; k * COLUMNS];
    let mut rows = vec![0.0; 2 * k];
    for column in (0..n).step_by(COLUMNS) {
        let width = COLUMNS.min(n - column);
        for (depth, line) in panel.as_chunks_mut::<COLUMNS>().0.iter_mut().enumerate() {
            if rhs.column_stride == 1 {
                let start = depth * rhs.row_stride + column;
                line[..width].copy_from_slice(&rhs.data[start..start + width]);
            } else {
                for (offset, value) in line[..width].iter_mut().enumerate() {
                    *value = rhs.at(depth, column + offset);
                }
            }
            line[width..].fill(0.0);
        }
        let mut row = 0;
        while row < m {
            let height = 2.min(m - row);
            // The two rows interleaved, so that the kernel reads both from one place.
            for depth in 0..k {
                rows[2 * depth] = lhs.at(row, depth);
                rows[2 * depth + 1] = lhs.at(row + height - 1, depth);
            }
            let sums = tile(rows.as_chunks::<2>().0, panel.as_chunks::<COLUMNS>().0);
            for (offset, sum) in sums.iter().enumerate().take(height) {
                let start = (row + offset) * out_stride + column;
                for (target, value) in out[start..start + width].iter_mut().zip(sum) {
                    *target = factor * value + if into == Into::Add { *target } else { 0.0 };
                }
            }
            row += height;
        }
    }
}

/// `[2][16]` sums over the depth, in eight registers.
#[cfg(any(target_arch = "wasm32", test))]
#[inline(always)]
fn tile(rows: &[[f32; 2]], panel: &[[f32; COLUMNS]]) -> [[f32; COLUMNS]; 2] {
    let mut sums = [[F32x4::splat(0.0); COLUMNS / LANES]; 2];
    for ([first, second], line) in rows.iter().zip(panel) {
        let (first, second) = (F32x4::splat(*first), F32x4::splat(*second));
        let four: &[[f32; LANES]] = line.as_chunks().0;
        macro_rules! columns {
            ($($index:literal)*) => {$(
                let column = F32x4::load(&four[$index]);
                sums[0][$index] = sums[0][$index] + first * column;
                sums[1][$index] = sums[1][$index] + second * column;
            )*};
        }
        // Written out, as loops over registers are not unrolled in a module that is optimised for size.
        columns!(0 1 2 3);
    }
    let mut out = [[0.0; COLUMNS]; 2];
    for (out, sums) in out.iter_mut().zip(sums) {
        for (four, sum) in out.as_chunks_mut().0.iter_mut().zip(sums) {
            *four = sum.to_array();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        (0..count as u32)
            .map(|i| {
                ((i.wrapping_mul(2_654_435_761).wrapping_add(seed * 97)) >> 8) as f32 / (1 << 23) as f32 - 1.0
            })
            .collect()
    }

    #[test]
    fn both_products_equal_the_sums_written_out() {
        for (m, n, k) in [
            (1, 1, 1),
            (2, 16, 8),
            (3, 17, 5),
            (7, 33, 24),
            (5, 1, 96),
            (64, 31, 13),
        ] {
            for transpose in [false, true] {
                let (a, b) = (numbers(m * k, 1), numbers(k * n, 2));
                let lhs = View::rows(&a, k);
                let rhs = if transpose {
                    View::rows(&b, k).transposed()
                } else {
                    View::rows(&b, n)
                };
                for into in [Into::Replace, Into::Add] {
                    let start = numbers(m * (n + 3), 3);
                    let (mut tiles, mut gemm) = (start.clone(), start.clone());
                    by_tiles((m, n, k), 0.5, lhs, rhs, &mut tiles, n + 3, into);
                    product((m, n, k), 0.5, lhs, rhs, &mut gemm, n + 3, into);
                    for row in 0..m {
                        for column in 0..n + 3 {
                            let at = row * (n + 3) + column;
                            let mut exact = f64::from(start[at]);
                            if column < n {
                                let sum: f64 = (0..k)
                                    .map(|d| f64::from(lhs.at(row, d)) * f64::from(rhs.at(d, column)))
                                    .sum();
                                exact = 0.5 * sum + if into == Into::Add { exact } else { 0.0 };
                            }
                            assert!(
                                (f64::from(tiles[at]) - exact).abs() < 1e-5,
                                "tiles {m} {n} {k} {row} {column}"
                            );
                            assert!(
                                (f64::from(gemm[at]) - exact).abs() < 1e-5,
                                "gemm {m} {n} {k} {row} {column}"
                            );
                        }
                    }
                }
            }
        }
    }
}
