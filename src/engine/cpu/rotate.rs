//! Turning pairs of dimensions of queries and keys (rotary).

use super::parallel::{ROWS, pieces};
use super::tables::RotationF32;

/// Which way to turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Forward,
    /// The inverse; it carries gradients back.
    Back,
}

/// Turns q and k in `qkv[windows · T][3 · d_model]` in place, every head by the same angles;
/// dimensions of a head past `2 · pairs` stay.
pub fn rotate(qkv: &mut [f32], rotation: &RotationF32, heads: usize, d_head: usize, turn: Turn) {
    use crate::encoding::Pairing;
    let pairs = rotation.pairs;
    let length = rotation.cos.len() / pairs;
    let width = 3 * heads * d_head;
    let sign = if turn == Turn::Forward { 1.0 } else { -1.0 };
    pieces(qkv, ROWS * width, |index, qkv| {
        for (offset, row) in qkv.chunks_exact_mut(width).enumerate() {
            let position = (index * ROWS + offset) % length;
            let cos = &rotation.cos[position * pairs..(position + 1) * pairs];
            let sin = &rotation.sin[position * pairs..(position + 1) * pairs];
            // The first 2 · heads blocks of d_head are the queries and keys.
            for head in row[..2 * heads * d_head].chunks_exact_mut(d_head) {
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
    });
}
