//! Byte-pair merging of one word.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// What a pair of neighbouring tokens becomes, and how early (0 is first).
#[derive(Clone, Copy, Debug)]
pub struct Merge {
    pub rank: u32,
    pub id: u32,
}

/// The merges by their pair of tokens.
pub type Merges = HashMap<(u32, u32), Merge>;

/// Marks the place of a token that was merged into its left neighbour.
const GONE: u32 = u32::MAX;

/// Merges the tokens of one word, earliest merge first and leftmost first among equals, until no pair
/// can be merged. Written as the `tokenizers` crate does it, with a queue, so that a word of n tokens
/// takes n·log n steps (a run of spaces may be a long word).
pub fn merge(mut ids: Vec<u32>, merges: &Merges) -> Vec<u32> {
    let count = ids.len();
    // The neighbours of each place; `count` is the end, and the left of place 0 too.
    let mut right: Vec<usize> = (1..=count).collect();
    let mut left: Vec<usize> = (0..count).map(|i| i.checked_sub(1).unwrap_or(count)).collect();
    let found = |ids: &[u32], at: usize, next: usize| {
        let merge = merges.get(&(ids[at], ids[next]))?;
        Some(Reverse((merge.rank, at, merge.id)))
    };
    let mut queue: BinaryHeap<_> = (1..count)
        .filter_map(|next| found(&ids, next - 1, next))
        .collect();
    while let Some(Reverse((_, at, id))) = queue.pop() {
        let next = right[at];
        if ids[at] == GONE || next == count {
            continue;
        }
        // The pair may have changed since it was queued.
        if merges
            .get(&(ids[at], ids[next]))
            .is_none_or(|merge| merge.id != id)
        {
            continue;
        }
        ids[at] = id;
        ids[next] = GONE;
        right[at] = right[next];
        if right[at] < count {
            left[right[at]] = at;
            queue.extend(found(&ids, at, right[at]));
        }
        if left[at] < count {
            queue.extend(found(&ids, left[at], at));
        }
    }
    ids.retain(|&id| id != GONE);
    ids
}

#[cfg(test)]
mod tests {
    use super::{Merge, Merges, merge};

    #[test]
    fn the_earliest_merge_comes_first() {
        let merges: Merges = [((1, 2), 10), ((0, 1), 11), ((10, 3), 12), ((2, 2), 13)]
            .into_iter()
            .zip(0..)
            .map(|((pair, id), rank)| (pair, Merge { rank, id }))
            .collect();
        assert_eq!(merge(vec![0, 1, 2, 3], &merges), [0, 12]);
        assert_eq!(merge(vec![0, 1, 1], &merges), [11, 1]);
        assert_eq!(merge(vec![2, 2, 2, 2, 2], &merges), [13, 13, 2]);
        assert!(merge(vec![], &merges).is_empty());
        assert_eq!(merge(vec![7], &merges), [7]);
    }
}
