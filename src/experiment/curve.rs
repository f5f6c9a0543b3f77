use super::plan::Step;
use serde::{Deserialize, Serialize};

/// Tokens of a segment. Losses of neighbouring tokens go together, so the standard error is that of sums
/// over segments of the text (a cluster-robust estimate); the segments are the same at every length.
pub const SEGMENT_TOKENS: usize = 64;

/// Perplexity at one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// T
    pub length: usize,
    /// exp(Σ nll / tokens): weighted by token, never the mean of windows' perplexities.
    pub perplexity: f64,
    /// Of the perplexity, by the delta method; `None` while fewer than two segments were scored.
    pub standard_error: Option<f64>,
    /// How many tokens were scored.
    pub tokens: usize,
}

/// What the losses of one model add up to, by length.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// By length, ascending.
    lengths: Vec<(usize, Sums)>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    /// By segment of the text: the sum of losses and their count, 0 where nothing was scored.
    segments: Vec<(f64, usize)>,
    /// By position in the window, `[T]`: the sum of losses.
    positions: Vec<f64>,
    windows: usize,
}

impl Curve {
    /// Adds the losses of a step, `[windows][T]` in nats.
    pub fn add(&mut self, step: &Step, nll: &[f32]) {
        let place = self.lengths.partition_point(|&(length, _)| length < step.length);
        if self
            .lengths
            .get(place)
            .is_none_or(|&(length, _)| length != step.length)
        {
            self.lengths.insert(place, (step.length, Sums::default()));
        }
        let sums = &mut self.lengths[place].1;
        let end = (step.start + nll.len()).div_ceil(SEGMENT_TOKENS);
        sums.segments.resize(end.max(sums.segments.len()), (0.0, 0));
        sums.positions.resize(step.length, 0.0);
        for (index, &loss) in nll.iter().enumerate() {
            let (sum, count) = &mut sums.segments[(step.start + index) / SEGMENT_TOKENS];
            *sum += f64::from(loss);
            *count += 1;
            sums.positions[index % step.length] += f64::from(loss);
        }
        sums.windows += nll.len() / step.length;
    }

    /// The points so far, by length.
    pub fn points(&self) -> Vec<Point> {
        self.lengths
            .iter()
            .filter_map(|(length, sums)| sums.point(*length))
            .collect()
    }

    /// The mean loss by position in the window, in nats, `[T]`; empty for a length not measured.
    pub fn by_position(&self, length: usize) -> Vec<f64> {
        let found = self.lengths.iter().find(|(measured, _)| *measured == length);
        found.map_or(Vec::new(), |(_, sums)| {
            sums.positions
                .iter()
                .map(|sum| sum / sums.windows.max(1) as f64)
                .collect()
        })
    }
}

impl Sums {
    fn point(&self, length: usize) -> Option<Point> {
        let scored = || self.segments.iter().filter(|(_, count)| *count > 0);
        let tokens: usize = scored().map(|(_, count)| count).sum();
        if tokens == 0 {
            return None;
        }
        let mean = scored().map(|(sum, _)| sum).sum::<f64>() / tokens as f64;
        let perplexity = mean.exp();
        let clusters = scored().count() as f64;
        let squares: f64 = scored()
            .map(|&(sum, count)| (sum - mean * count as f64).powi(2))
            .sum();
        let variance = squares * clusters / (clusters - 1.0) / (tokens as f64).powi(2);
        let standard_error = (clusters > 1.0).then(|| perplexity * variance.sqrt());
        Some(Point {
            length,
            perplexity,
            standard_error,
            tokens,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perplexity_is_weighted_by_token() {
        let mut curve = Curve::default();
        // One window of 4 and then two: losses as if each token had the same weight.
        curve.add(
            &Step {
                round: 0,
                length: 4,
                start: 0,
                windows: 1,
            },
            &[1.0, 2.0, 3.0, 6.0],
        );
        curve.add(
            &Step {
                round: 0,
                length: 4,
                start: 4,
                windows: 2,
            },
            &[0.0; 8],
        );
        let points = curve.points();
        assert_eq!(points.len(), 1);
        assert_eq!((points[0].length, points[0].tokens), (4, 12));
        assert!((points[0].perplexity - 1.0_f64.exp()).abs() < 1e-12);
        assert_eq!(points[0].standard_error, None);
        assert_eq!(curve.by_position(4), [1.0 / 3.0, 2.0 / 3.0, 1.0, 2.0]);
        assert!(curve.by_position(8).is_empty());
    }

    #[test]
    fn the_standard_error_is_that_of_segments() {
        let mut curve = Curve::default();
        // Three segments with mean losses 1, 2 and 3: mean 2, deviation 1, error 1/√3.
        let nll: Vec<f32> = (0..192).map(|i| 1.0 + (i / 64) as f32).collect();
        curve.add(
            &Step {
                round: 0,
                length: 192,
                start: 0,
                windows: 1,
            },
            &nll,
        );
        let point = curve.points()[0];
        let expected = 2.0_f64.exp() / 3.0_f64.sqrt();
        assert!(
            (point.standard_error.unwrap() - expected).abs() < 1e-9,
            "{point:?}"
        );
        // The same losses, window by window, give the same.
        let mut other = Curve::default();
        for start in (0..192).step_by(32) {
            other.add(
                &Step {
                    round: 0,
                    length: 32,
                    start,
                    windows: 1,
                },
                &nll[start..start + 32],
            );
        }
        assert_eq!(other.points()[0].standard_error, point.standard_error);
    }
}
