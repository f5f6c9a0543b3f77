//! Matrix products for a machine with four lanes and sixteen registers: tiles of 4 rows × 8 columns, whose
//! sums stay in registers over the whole depth. The right matrix is packed into panels of 8 columns; the
//! left one is read where it lies. In WebAssembly this tile was as fast as 2 × 16 and wastes less where
//! columns are few (a head has 24); larger ones, and loops that were unrolled, spill registers.

use super::lanes::{F32x4, LANES};
use super::product::{Into, View};

/// Rows of a tile.
pub const ROWS: usize = 4;
/// Columns of a tile.
pub const COLUMNS: usize = 8;
/// The sums of a tile: rows of two times four.
pub type Sums = [[F32x4; COLUMNS / LANES]; ROWS];
/// The same row of a panel's columns.
pub type Line = [f32; COLUMNS];

/// Packs `rhs[k][n]` into panels `[⌈n / 8⌉][k][8]`, padded with zeros.
pub fn pack(rhs: View, (k, n): (usize, usize), panels: &mut Vec<f32>) {
    panels.clear();
    panels.resize(n.div_ceil(COLUMNS) * COLUMNS * k, 0.0);
    for (index, panel) in panels.chunks_exact_mut((COLUMNS * k).max(1)).enumerate() {
        let first = index * COLUMNS;
        let width = COLUMNS.min(n - first);
        for (depth, line) in panel.as_chunks_mut::<COLUMNS>().0.iter_mut().enumerate() {
            for (offset, value) in line[..width].iter_mut().enumerate() {
                *value = rhs.at(depth, first + offset);
            }
        }
    }
}

/// `start + rows[4][k] · panel[k][8]`.
#[inline(always)]
pub fn tile(rows: [&[f32]; ROWS], panel: &[Line], start: Sums) -> Sums {
    let depth = panel.len();
    // Rows of one known length: the loop's checks go.
    let [first, second, third, fourth] = rows.map(|row| &row[..depth]);
    let mut sums = start;
    for (at, line) in panel.iter().enumerate() {
        let (low, high) = halves(line);
        // Written out, as loops over registers are not unrolled in a module that is optimised for size.
        macro_rules! row {
            ($index:literal, $row:ident) => {
                let value = F32x4::splat($row[at]);
                sums[$index][0] = value.mul_add(low, sums[$index][0]);
                sums[$index][1] = value.mul_add(high, sums[$index][1]);
            };
        }
        row!(0, first);
        row!(1, second);
        row!(2, third);
        row!(3, fourth);
    }
    sums
}

/// A line of a panel in two registers.
#[inline(always)]
pub fn halves(line: &Line) -> (F32x4, F32x4) {
    let fours = line.as_chunks::<LANES>().0;
    (F32x4::load(&fours[0]), F32x4::load(&fours[1]))
}

/// `out[m][n] = (out +) (bias[n] +) lhs[m][k] · rhs[k][n]`, rhs in panels as [`pack`] makes them. Rows of `lhs`
/// begin `lhs_stride` values apart, those of `out` `out_stride`.
#[inline(never)]
pub fn by_panels(
    (m, n, k): (usize, usize, usize),
    (lhs, lhs_stride): (&[f32], usize),
    panels: &[f32],
    bias: Option<&[f32]>,
    (out, out_stride): (&mut [f32], usize),
    into: Into,
) {
    for (index, panel) in panels.chunks_exact((COLUMNS * k).max(1)).enumerate() {
        let column = index * COLUMNS;
        let width = COLUMNS.min(n - column);
        let panel = panel.as_chunks::<COLUMNS>().0;
        let mut line = [0.0; COLUMNS];
        if let Some(bias) = bias {
            line[..width].copy_from_slice(&bias[column..column + width]);
        }
        let (low, high) = halves(&line);
        for row in (0..m).step_by(ROWS) {
            // Past the last row the last one is computed again, and not stored.
            let at = [0, 1, 2, 3].map(|offset| (row + offset).min(m - 1) * lhs_stride);
            let rows = at.map(|at| &lhs[at..at + k]);
            let sums = tile(rows, panel, [[low, high]; ROWS]);
            for (offset, sums) in sums.into_iter().enumerate().take(m - row) {
                let at = (row + offset) * out_stride + column;
                store(sums, &mut out[at..at + width], into);
            }
        }
    }
}

/// Stores a row of a tile, or as much of it as `out` holds.
#[inline(always)]
fn store(sums: [F32x4; COLUMNS / LANES], out: &mut [f32], into: Into) {
    if let Ok(line) = <&mut Line>::try_from(&mut *out) {
        let [low, high] = if into == Into::Add {
            let (before_low, before_high) = halves(line);
            [before_low + sums[0], before_high + sums[1]]
        } else {
            sums
        };
        let fours = line.as_chunks_mut::<LANES>().0;
        fours[0] = low.to_array();
        fours[1] = high.to_array();
        return;
    }
    let sums = sums.map(F32x4::to_array);
    for (value, sum) in out.iter_mut().zip(sums.as_flattened()) {
        *value = sum + if into == Into::Add { *value } else { 0.0 };
    }
}
