//! Matrix products on one thread: natively by the `gemm` crate, in the browser by [tiles](super::tiles).

#[cfg(any(target_arch = "wasm32", test))]
use super::tiles::{by_panels, pack};

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

    #[inline(always)]
    pub(super) fn at(&self, row: usize, column: usize) -> f32 {
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

/// The product by tiles; the right matrix is packed first. For one that stays the same, such as a weight, see
/// [`by_panels`].
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
    let mut panels = Vec::new();
    pack(rhs, (k, n), &mut panels);
    if factor != 1.0 {
        for value in &mut panels {
            *value *= factor;
        }
    }
    let copied: Vec<f32>;
    let lhs = if lhs.column_stride == 1 {
        (lhs.data, lhs.row_stride)
    } else {
        copied = (0..m)
            .flat_map(|row| (0..k).map(move |depth| lhs.at(row, depth)))
            .collect();
        (&copied[..], k)
    };
    by_panels((m, n, k), lhs, &panels, None, (out, out_stride), into);
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
