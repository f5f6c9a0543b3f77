use serde::Serialize;

/// Groups of neighbouring tokens, at most, that a measurement's losses are kept in.
pub const GROUPS_MAX: usize = 64;
/// Tokens of a group, at least: losses of neighbouring tokens go together.
const GROUP_TOKENS_MIN: usize = 64;

/// A number and its standard error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    pub value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<f64>,
}

impl Estimate {
    /// A number that has no error, or whose error is not known.
    pub fn exact(value: f64) -> Self {
        Self { value, error: None }
    }

    /// Whether the number lies above `limit` by twice its error.
    pub fn is_above(&self, limit: f64) -> bool {
        self.value - 2.0 * self.error.unwrap_or(0.0) > limit
    }

    /// Whether the number lies below `limit` by twice its error.
    pub fn is_below(&self, limit: f64) -> bool {
        self.value + 2.0 * self.error.unwrap_or(0.0) < limit
    }

    /// A mean with its standard error, of `(sum, sum of squares, count)`.
    pub fn of_sums((sum, squares, count): (f64, f64, usize)) -> Option<Self> {
        if count == 0 {
            return None;
        }
        let n = count as f64;
        let value = sum / n;
        let variance = (squares / n - value * value).max(0.0) / (n - 1.0);
        let error = (count > 1).then(|| variance.sqrt());
        Some(Self { value, error })
    }
}

/// The losses of one measurement by groups of the text: all that is needed for a perplexity, its error, and
/// the paired difference from another measurement on the same tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Losses {
    /// By group: the sum of losses in nats, and their count so far.
    pub groups: Vec<(f64, usize)>,
}

impl Losses {
    /// For `tokens` predictions.
    pub fn new(tokens: usize) -> Self {
        let groups = (tokens / GROUP_TOKENS_MIN).clamp(1, GROUPS_MAX);
        Self {
            groups: vec![(0.0, 0); groups],
        }
    }

    /// Adds the loss of the prediction at a place of a text of which `tokens` predictions are scored.
    pub fn add(&mut self, place: usize, tokens: usize, loss: f64) {
        let group = (place * self.groups.len() / tokens.max(1)).min(self.groups.len() - 1);
        let (sum, count) = &mut self.groups[group];
        *sum += loss;
        *count += 1;
    }

    pub fn tokens(&self) -> usize {
        self.groups.iter().map(|(_, count)| count).sum()
    }

    /// The mean loss without one group (none is left out by an index past the end).
    fn mean_without(&self, left_out: usize) -> Option<f64> {
        let kept = self
            .groups
            .iter()
            .enumerate()
            .filter(|(group, _)| *group != left_out);
        let (sum, count) = kept.fold((0.0, 0), |(sum, count), (_, &(of, tokens))| {
            (sum + of, count + tokens)
        });
        (count > 0).then(|| sum / count as f64)
    }

    /// The perplexity, weighted by token, with the error that follows from how the groups differ.
    pub fn perplexity(&self) -> Option<Estimate> {
        jackknife(self.groups.len(), |left_out| {
            self.mean_without(left_out).map(f64::exp)
        })
    }

    /// This perplexity over that of `base`: the groups that both have measured, token for token, so that the
    /// text's own ups and downs cancel.
    pub fn ratio(&self, base: &Self) -> Option<Estimate> {
        if self.groups.len() != base.groups.len() {
            return None;
        }
        let pairs: Vec<(f64, usize)> = self
            .groups
            .iter()
            .zip(&base.groups)
            .filter(|((_, count), (_, other))| count == other && *count > 0)
            .map(|((sum, count), (other, _))| (sum - other, *count))
            .collect();
        let difference = Self { groups: pairs };
        difference.perplexity()
    }
}

/// An estimate from all groups, with the error that shows when each group in turn is left out; `statistic`
/// takes the group to leave out, or an index past the end for none.
pub fn jackknife(groups: usize, statistic: impl Fn(usize) -> Option<f64>) -> Option<Estimate> {
    let value = statistic(usize::MAX)?;
    let without: Vec<f64> = (0..groups).filter_map(&statistic).collect();
    // Where the statistic is lost without a group, the most deviant values would be missing from the error.
    let error_is_known = without.len() == groups;
    // Groups that hold nothing yet leave the value as it is and would make the error too small.
    let distinct: Vec<f64> = without.into_iter().filter(|other| *other != value).collect();
    let n = distinct.len() as f64;
    let mean = distinct.iter().sum::<f64>() / n;
    let squares: f64 = distinct.iter().map(|other| (other - mean).powi(2)).sum();
    let error = (error_is_known && distinct.len() > 1).then(|| (squares * (n - 1.0) / n).sqrt());
    Some(Estimate { value, error })
}

/// Where a curve of perplexity leaves its best by 5 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// At this length, interpolated between two that were measured.
    At(Estimate),
    /// At none that was measured; the longest one.
    Beyond(usize),
}

/// What counts as leaving the best.
pub const LEAVES: f64 = 1.05;

/// The length where perplexity first leaves by 5 % the best that it has reached from `trained` on;
/// `points` are `(length, perplexity)`, ascending.
pub fn leaves_at(points: &[(usize, f64)], trained: usize) -> Option<f64> {
    let mut best = f64::INFINITY;
    let mut before: Option<(usize, f64)> = None;
    for &(length, perplexity) in points.iter().filter(|(length, _)| *length >= trained) {
        let limit = best * LEAVES;
        if perplexity > limit {
            let (from, at) = before?;
            // Perplexity as a straight line between its neighbours.
            let share = (limit - at) / (perplexity - at);
            return Some(from as f64 + share * (length - from) as f64);
        }
        best = best.min(perplexity);
        before = Some((length, perplexity));
    }
    None
}

/// The same of measured losses, with its error; `None` while fewer than two lengths are measured.
pub fn limit(curve: &[(usize, &Losses)], trained: usize) -> Option<Limit> {
    let past = curve
        .iter()
        .filter(|(length, losses)| *length >= trained && losses.tokens() > 0);
    if past.clone().count() < 2 {
        return None;
    }
    let longest = past.map(|(length, _)| *length).max()?;
    // Lengths are compared on the same tokens: one that is not through yet waits.
    let counts = |losses: &Losses| losses.groups.iter().map(|(_, count)| *count).collect::<Vec<_>>();
    let whole = curve
        .iter()
        .find(|(length, _)| *length == trained)
        .map(|(_, losses)| counts(losses));
    let curve: Vec<_> = curve
        .iter()
        .filter(|(_, losses)| whole.as_ref().is_none_or(|whole| *whole == counts(losses)))
        .collect();
    let groups = curve.iter().map(|(_, losses)| losses.groups.len()).max()?;
    let found = jackknife(groups, |left_out| {
        let points: Vec<(usize, f64)> = curve
            .iter()
            .filter_map(|(length, losses)| Some((*length, losses.mean_without(left_out)?.exp())))
            .collect();
        leaves_at(&points, trained)
    });
    Some(found.map_or(Limit::Beyond(longest), Limit::At))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn losses(groups: &[f64]) -> Losses {
        Losses {
            groups: groups.iter().map(|&mean| (mean * 256.0, 256)).collect(),
        }
    }

    #[test]
    fn perplexity_and_its_error_are_those_of_the_groups() {
        let found = losses(&[1.0, 2.0, 3.0]).perplexity().unwrap();
        assert!((found.value - 2.0_f64.exp()).abs() < 1e-12);
        // The delta method gives e²/√3; leaving one out is a little wider.
        let delta = 2.0_f64.exp() / 3.0_f64.sqrt();
        assert!((found.error.unwrap() / delta - 1.0).abs() < 0.1, "{found:?}");
        assert_eq!(losses(&[]).perplexity(), None);
        assert_eq!(Losses::new(1000).perplexity(), None);
    }

    #[test]
    fn a_ratio_is_paired() {
        // The groups differ widely, their differences do not: the error of the ratio is small.
        let base = losses(&[1.0, 2.0, 3.0, 4.0]);
        let other = losses(&[1.11, 2.09, 3.11, 4.09]);
        let ratio = other.ratio(&base).unwrap();
        assert!((ratio.value - 0.1_f64.exp()).abs() < 1e-9);
        assert!(ratio.error.unwrap() < 0.01, "{ratio:?}");
        assert!(ratio.is_above(1.0) && !ratio.is_above(1.1) && ratio.is_below(1.2));
        // A group that only one has measured is left out.
        let mut half = other.clone();
        half.groups[3] = (999.0, 100);
        assert!((half.ratio(&base).unwrap().value.ln() - (0.11 + 0.09 + 0.11) / 3.0).abs() < 1e-9);
        assert_eq!(losses(&[1.0]).ratio(&base), None);
    }

    #[test]
    fn places_fall_into_groups_evenly() {
        let mut sums = Losses::new(1024);
        (0..1024).for_each(|place| sums.add(place, 1024, 1.0));
        assert_eq!(sums.groups.len(), 16);
        assert!(sums.groups.iter().all(|&(_, count)| count == 64));
        assert_eq!(Losses::new(10).groups.len(), 1);
        assert_eq!(Losses::new(1 << 20).groups.len(), GROUPS_MAX);
    }

    #[test]
    fn the_limit_is_where_the_best_is_left_by_five_percent() {
        // The best is 20 at 150; 21 is reached a third of the way from 20 to 23.
        let points = [(64, 10.0), (100, 20.5), (150, 20.0), (250, 23.0), (300, 10.0)];
        let found = leaves_at(&points, 100).unwrap();
        assert!((found - (150.0 + 100.0 / 3.0)).abs() < 1e-9, "{found}");
        assert_eq!(leaves_at(&points[..3], 100), None);
        let flat = losses(&[3.0, 3.1]);
        let bad = losses(&[3.2, 3.4]);
        assert_eq!(limit(&[(128, &flat)], 128), None);
        assert_eq!(
            limit(&[(128, &flat), (256, &flat)], 128),
            Some(Limit::Beyond(256))
        );
        let Some(Limit::At(at)) = limit(&[(128, &flat), (256, &bad)], 128) else {
            panic!("it leaves")
        };
        assert!(
            at.value > 128.0 && at.value < 256.0 && at.error.is_some(),
            "{at:?}"
        );
    }
}
