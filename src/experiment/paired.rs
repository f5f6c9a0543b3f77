//! Differences of losses on the same tokens: of two models, or of two lengths. What the text adds to both
//! losses falls out, so that such a difference is far better known than either loss.

use super::curve::clustered;
use serde::{Deserialize, Serialize};

/// Losses along a text, pooled. Two of them can be compared however far each has come: groups are as wide
/// as a segment or 2, 4, 8 … segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pooled {
    /// Tokens that a group spans in the text.
    pub span: usize,
    /// For each group the sum of losses in nats, and how many there are.
    pub groups: Vec<(f64, usize)>,
}

/// A mean difference of losses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// In nats a token; below 0 where the other's losses are the smaller ones.
    pub mean: f64,
    /// `None` where it rests on one sample only.
    pub standard_error: Option<f64>,
    /// How many tokens it rests on.
    pub tokens: usize,
}

impl Pooled {
    /// Pools groups of `span` tokens into at most `most` wider ones.
    pub(super) fn new(span: usize, groups: &[(f64, usize)], most: usize) -> Self {
        let mut pooled = Self {
            span,
            groups: groups.to_vec(),
        };
        while pooled.groups.len() > most.max(1) {
            pooled = pooled.halved();
        }
        pooled
    }

    /// Groups of twice the width.
    fn halved(&self) -> Self {
        let merge = |pair: &[(f64, usize)]| {
            let add = |(sum, count), &(other, more): &(f64, usize)| (sum + other, count + more);
            pair.iter().fold((0.0, 0), add)
        };
        Self {
            span: 2 * self.span,
            groups: self.groups.chunks(2).map(merge).collect(),
        }
    }

    /// The mean of the other's losses minus these, and its standard error over groups. Only groups count in
    /// which both have scored equally many tokens; `None` where there is none.
    pub fn difference(&self, other: &Self) -> Option<Difference> {
        let (mut base, mut other) = (self.clone(), other.clone());
        while base.span < other.span {
            base = base.halved();
        }
        while other.span < base.span {
            other = other.halved();
        }
        if base.span != other.span {
            return None;
        }
        let both = base.groups.iter().zip(&other.groups);
        let groups = both
            .filter(|((_, count), (_, same))| count == same)
            .map(|(&(base, count), &(other, _))| (other - base, count));
        difference(groups)
    }
}

fn difference(groups: impl Iterator<Item = (f64, usize)> + Clone) -> Option<Difference> {
    let (mean, standard_error) = clustered(groups.clone())?;
    Some(Difference {
        mean,
        standard_error,
        tokens: groups.map(|(_, count)| count).sum(),
    })
}

/// The mean of `other`'s losses minus `base`'s for the same tokens, by position in windows of `length`
/// tokens that do not overlap: where `other` was measured at that length and `base` at a shorter one, this
/// is what the longer context gives at each position (the early token curse). Positions are pooled to cells
/// of `cell` tokens, `[length/cell, rounded up]`; the standard error is over windows. Both lists are by place
/// in the text, as [`Curve::by_token`](super::Curve::by_token) gives them; NaN is passed over, and a cell
/// without a token is `None`.
pub fn paired_loss(base: &[f32], other: &[f32], length: usize, cell: usize) -> Vec<Option<Difference>> {
    let (length, cell) = (length.max(1), cell.max(1));
    let differences: Vec<f64> = base
        .iter()
        .zip(other)
        .map(|(&base, &other)| f64::from(other) - f64::from(base))
        .collect();
    let of_cell = |first: usize| {
        let windows = differences.chunks(length).map(move |window| {
            let values = window.iter().skip(first).take(cell.min(length - first));
            let add = |(sum, count): (f64, usize), &value: &f64| (sum + value, count + 1);
            values.filter(|value| !value.is_nan()).fold((0.0, 0), add)
        });
        difference(windows)
    };
    (0..length).step_by(cell).map(of_cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Curve, Plan};

    fn pooled(span: usize, groups: &[(f64, usize)]) -> Pooled {
        Pooled {
            span,
            groups: groups.to_vec(),
        }
    }

    #[test]
    fn pooling_keeps_sums_and_counts() {
        let groups: Vec<(f64, usize)> = (0..10).map(|group| (f64::from(group), 64)).collect();
        assert_eq!(Pooled::new(64, &groups, 64), pooled(64, &groups));
        assert_eq!(
            Pooled::new(64, &groups, 4),
            pooled(256, &[(6.0, 256), (22.0, 256), (17.0, 128)])
        );
    }

    #[test]
    fn a_difference_knows_more_than_the_losses() {
        // The losses of groups differ by much, their differences by little: −0.25, −0.5, −0.75 a token.
        let base = pooled(64, &[(64.0, 64), (640.0, 64), (128.0, 64)]);
        let other = pooled(64, &[(48.0, 64), (608.0, 64), (80.0, 64)]);
        let found = base.difference(&other).unwrap();
        assert_eq!((found.mean, found.tokens), (-0.5, 192));
        // The deviation of a group's mean is 0.25, of three groups' mean 0.25/√3.
        assert!((found.standard_error.unwrap() - 0.25 / 3.0_f64.sqrt()).abs() < 1e-12);
        assert_eq!(other.difference(&base).unwrap().mean, 0.5);
    }

    #[test]
    fn only_groups_of_the_same_tokens_are_compared() {
        // One has come farther, and was pooled to wider groups.
        let far = pooled(128, &[(20.0, 128), (30.0, 128), (40.0, 128)]);
        let near = pooled(64, &[(4.0, 64), (6.0, 64), (15.0, 64), (5.0, 20)]);
        let found = near.difference(&far).unwrap();
        assert_eq!(
            (found.mean, found.standard_error, found.tokens),
            (10.0 / 128.0, None, 128)
        );
        assert_eq!(near.difference(&pooled(64, &[])), None);
        assert_eq!(near.difference(&pooled(96, &[(1.0, 96)])), None);
    }

    #[test]
    fn the_early_token_curse_is_found_where_it_was_put() {
        let (short, long, tokens) = (8, 32, 97);
        // A loss of its own for each token; at the first position of a window it is 1 worse.
        let mut curve = Curve::keeping_tokens();
        let plan = Plan::new(tokens, &[short, long], usize::MAX).unwrap();
        for step in plan.steps() {
            let nll: Vec<f32> = (0..step.tokens())
                .map(|index| {
                    let own = ((step.start + index) % 13) as f32;
                    own + f32::from(u8::from(index % step.length == 0))
                })
                .collect();
            curve.add(&step, &nll);
        }
        let (base, other) = (curve.by_token(short), curve.by_token(long));
        let found = paired_loss(base, other, long, 4);
        let means: Vec<f64> = found.iter().map(|cell| cell.unwrap().mean).collect();
        assert_eq!(means, [0.0, 0.0, -0.25, 0.0, -0.25, 0.0, -0.25, 0.0]);
        let cell = found[2].unwrap();
        assert_eq!((cell.standard_error, cell.tokens), (Some(0.0), 12));
        // The same from the pooled losses: 3 of 32 tokens gain 1.
        let pooled = |length| curve.pooled(length, 64).unwrap();
        let whole = pooled(short).difference(&pooled(long)).unwrap();
        assert!((whole.mean + 3.0 / 32.0).abs() < 1e-12, "{whole:?}");
        // What one of them lacks is passed over.
        let gone = vec![f32::NAN; 96];
        assert_eq!(paired_loss(&gone, other, long, 16), [None, None]);
    }
}
