//! Setting queries and keys apart from qkv, for what needs them as they were or turns them otherwise.

use super::parallel::{ROWS, pieces};

/// `out[rows][2 · d_model]`, the queries and keys of `qkv[rows][3 · d_model]`.
pub fn copy_qk(qkv: &[f32], d_model: usize, out: &mut [f32]) {
    let (from, to) = (3 * d_model, 2 * d_model);
    pieces(out, ROWS * to, |index, out| {
        let rows = qkv[index * ROWS * from..].chunks_exact(from);
        for (out, row) in out.chunks_exact_mut(to).zip(rows) {
            out.copy_from_slice(&row[..to]);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out() {
        let (rows, d) = (2 * ROWS + 3, 2);
        let qkv: Vec<f32> = (0..rows * 3 * d).map(|at| at as f32).collect();
        let mut out = vec![f32::NAN; rows * 2 * d];
        copy_qk(&qkv, d, &mut out);
        for (at, value) in out.iter().enumerate() {
            assert_eq!(*value, qkv[at / (2 * d) * 3 * d + at % (2 * d)]);
        }
    }
}
