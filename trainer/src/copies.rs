//! Windows in which passages come twice: models trained on them learn to copy, which five novels alone do not
//! teach a model of this size.

use crate::recipe::Copies;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Writes passages twice into `windows`, `[windows][length + 1]`, of the step, counted from 0. `text` gives the
/// tokens of shuffled passages, by their frequency. The same seed and step give the same.
pub fn write(copies: &Copies, (seed, step): (u64, usize), windows: &mut [u32], length: usize, text: &[u32]) {
    let stream = seed.wrapping_mul(1_000_003).wrapping_add(step as u64);
    let mut random = Pcg64::seed_from_u64(stream ^ 0xC0B1E5);
    let mix = if step < copies.first_steps {
        &copies.first
    } else {
        &copies.then
    };
    for window in windows.chunks_exact_mut(length + 1) {
        if random.random::<f64>() >= mix.share {
            continue;
        }
        let tokens = random.random_range(mix.shortest..=mix.longest.min(length.div_ceil(2)));
        let gap = random.random_range(tokens..=length + 1 - tokens);
        let first = random.random_range(0..=length + 1 - tokens - gap);
        if random.random::<f64>() < mix.shuffled {
            for token in &mut window[first..first + tokens] {
                *token = text[random.random_range(0..text.len())];
            }
        }
        window.copy_within(first..first + tokens, first + gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: usize = 128;

    /// 200 windows of tokens that all differ, and what the step made of them.
    fn written(step: usize) -> (Vec<u32>, Vec<u32>) {
        let before: Vec<u32> = (0..200 * (LENGTH as u32 + 1)).map(|token| 1000 + token).collect();
        let mut after = before.clone();
        write(&Copies::default(), (7, step), &mut after, LENGTH, &[1, 2, 3]);
        (before, after)
    }

    /// Tokens of a window that stand in it before, as (place, gap).
    fn repeated(window: &[u32]) -> Vec<(usize, usize)> {
        let earlier = |place: usize| window[..place].iter().rposition(|&token| token == window[place]);
        (0..window.len())
            .filter(|&place| window[place] >= 1000)
            .filter_map(|place| Some((place, place - earlier(place)?)))
            .collect()
    }

    #[test]
    fn first_every_window_holds_a_shuffled_passage_twice() {
        let (before, after) = written(0);
        for (before, after) in before.chunks(LENGTH + 1).zip(after.chunks(LENGTH + 1)) {
            assert_ne!(before, after);
            let shuffled = after.iter().filter(|&&token| token < 1000).count();
            // Twice 32 to 64 tokens.
            assert!((64..=128).contains(&shuffled) && shuffled % 2 == 0, "{shuffled}");
            assert!(repeated(after).is_empty());
        }
    }

    #[test]
    fn then_half_of_the_windows_hold_a_passage_twice_mostly_natural() {
        let (before, after) = written(500);
        let changed: Vec<_> = before
            .chunks(LENGTH + 1)
            .zip(after.chunks(LENGTH + 1))
            .filter(|(before, after)| before != after)
            .collect();
        assert!((70..130).contains(&changed.len()), "{}", changed.len());
        let natural: Vec<_> = changed
            .iter()
            .filter(|(_, after)| after.iter().all(|&token| token >= 1000))
            .collect();
        let share = natural.len() as f64 / changed.len() as f64;
        assert!((0.55..0.85).contains(&share), "{share}");
        for (_, after) in natural {
            let repeated = repeated(after);
            assert!((12..=32).contains(&repeated.len()), "{repeated:?}");
            assert!(
                repeated
                    .iter()
                    .all(|&(_, gap)| gap == repeated[0].1 && gap >= repeated.len())
            );
        }
    }

    #[test]
    fn a_step_is_the_same_whenever_it_is_asked_for() {
        assert_eq!(written(3), written(3));
        assert_ne!(written(3).1, written(4).1);
    }
}
