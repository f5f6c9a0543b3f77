//! Turning pairs of dimensions of queries and keys (rotary and its relatives).

use super::lanes::{F32x4, LANES};
use super::parallel::{ROWS, pieces};
use super::tables::RotationF32;
use crate::encoding::Pairing;

/// Which way to turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Forward,
    /// The transpose, which carries gradients back; the inverse where no row scales.
    Back,
}

/// Turns queries and keys in place, every head by the same angles, keys by those of their own where the
/// rotation has them; dimensions of a head past `2 · pairs` stay. Rows of `qk[windows · T][width]` begin
/// with q and k, each `[d_model]`: qkv, or what [`copy_qk`](super::copy_qk::copy_qk) made.
pub fn rotate(qk: &mut [f32], width: usize, rotation: &RotationF32, heads: usize, d_head: usize, turn: Turn) {
    let pairs = rotation.pairs;
    let length = rotation.cos.len() / pairs;
    let d_model = heads * d_head;
    let sign = if turn == Turn::Forward { 1.0 } else { -1.0 };
    let [key_cos, key_sin] = match &rotation.keys {
        Some([cos, sin]) => [cos, sin],
        None => [&rotation.cos, &rotation.sin],
    };
    let parts = [[&rotation.cos, &rotation.sin], [key_cos, key_sin]];
    pieces(qk, ROWS * width, |index, qk| {
        for (offset, row) in qk.chunks_exact_mut(width).enumerate() {
            let position = (index * ROWS + offset) % length;
            let at = position * pairs..(position + 1) * pairs;
            for (part, [cos, sin]) in row.chunks_exact_mut(d_model).zip(parts) {
                let (cos, sin) = (&cos[at.clone()], &sin[at.clone()]);
                for head in part.chunks_exact_mut(d_head) {
                    if rotation.pairing == Pairing::Halves && pairs.is_multiple_of(LANES) {
                        turn_halves(head, cos, sin, sign);
                        continue;
                    }
                    for pair in 0..pairs {
                        let (first, second) = match rotation.pairing {
                            Pairing::Halves => (pair, pair + pairs),
                            Pairing::Interleaved => (2 * pair, 2 * pair + 1),
                        };
                        let (a, b) = (head[first], head[second]);
                        let (cos, sin) = (cos[pair], sign * sin[pair]);
                        head[first] = a * cos - b * sin;
                        head[second] = a * sin + b * cos;
                    }
                }
            }
        }
    });
}

/// Turns pairs that stand half a rotated width apart, four at a time.
fn turn_halves(head: &mut [f32], cos: &[f32], sin: &[f32], sign: f32) {
    let (first, rest) = head.split_at_mut(cos.len());
    let fours = first
        .as_chunks_mut::<LANES>()
        .0
        .iter_mut()
        .zip(rest.as_chunks_mut::<LANES>().0);
    let angles = cos.as_chunks().0.iter().zip(sin.as_chunks().0);
    let sign = F32x4::splat(sign);
    for ((first, second), (cos, sin)) in fours.zip(angles) {
        let (a, b) = (F32x4::load(first), F32x4::load(second));
        let (cos, sin) = (F32x4::load(cos), sign * F32x4::load(sin));
        *first = (a * cos - b * sin).to_array();
        *second = (a * sin + b * cos).to_array();
    }
}

#[cfg(test)]
mod tests {
    use super::super::attention::tests::numbers;
    use super::*;

    /// Rows that turn and scale, keys otherwise than queries.
    fn rotation(length: usize, pairs: usize, pairing: Pairing) -> RotationF32 {
        let table = |seed| numbers(length * pairs, seed).iter().map(|x| 1.5 * x).collect();
        RotationF32 {
            pairing,
            pairs,
            cos: table(1),
            sin: table(2),
            keys: Some([table(3), table(4)]),
        }
    }

    #[test]
    fn queries_and_keys_are_turned_by_their_own_tables_and_nothing_else_is() {
        let (windows, length, heads) = (2, 70, 3);
        for (pairing, parts, d_head, pairs) in [
            (Pairing::Halves, 3, 5, 2),
            (Pairing::Halves, 3, 19, 8),
            (Pairing::Interleaved, 2, 5, 2),
        ] {
            let d = heads * d_head;
            let width = parts * d;
            let rotation = rotation(length, pairs, pairing);
            let before = numbers(windows * length * width, 5);
            let mut after = before.clone();
            rotate(&mut after, width, &rotation, heads, d_head, Turn::Forward);
            let keys = rotation.keys.as_ref().unwrap();
            for row in 0..windows * length {
                for column in 0..width {
                    let (part, c) = (column / d, column % d_head);
                    let at = row * width + column - c;
                    let (pair, is_first) = match pairing {
                        Pairing::Halves => (c % pairs, c < pairs),
                        Pairing::Interleaved => (c / 2, c % 2 == 0),
                    };
                    let [cos, sin] = if part == 0 {
                        [&rotation.cos, &rotation.sin]
                    } else {
                        [&keys[0], &keys[1]]
                    };
                    let exact = if c >= 2 * pairs || part == 2 {
                        before[at + c]
                    } else {
                        let angle = row % length * pairs + pair;
                        let (first, second) = match pairing {
                            Pairing::Halves => (at + pair, at + pair + pairs),
                            Pairing::Interleaved => (at + 2 * pair, at + 2 * pair + 1),
                        };
                        let (a, b) = (before[first], before[second]);
                        if is_first {
                            a * cos[angle] - b * sin[angle]
                        } else {
                            a * sin[angle] + b * cos[angle]
                        }
                    };
                    assert!((after[at + c] - exact).abs() < 1e-6, "{pairing:?} {row} {column}");
                }
            }
        }
    }

    #[test]
    fn back_is_the_transpose_also_of_rows_that_scale() {
        let (length, heads, d_head) = (9, 2, 6);
        let width = 3 * heads * d_head;
        for pairing in [Pairing::Halves, Pairing::Interleaved] {
            let rotation = rotation(length, 3, pairing);
            let (x, y) = (numbers(length * width, 6), numbers(length * width, 7));
            let turned = |values: &[f32], turn| {
                let mut values = values.to_vec();
                rotate(&mut values, width, &rotation, heads, d_head, turn);
                values
            };
            let dot = |a: &[f32], b: &[f32]| -> f64 {
                a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
            };
            // ⟨R x, y⟩ = ⟨x, Rᵀ y⟩
            let there = dot(&turned(&x, Turn::Forward), &y);
            let back = dot(&x, &turned(&y, Turn::Back));
            assert!((there - back).abs() < 1e-5, "{pairing:?}: {there} {back}");
        }
    }
}
