use super::bitmap::{Bitmap, span};
use super::chart::{At, Chart};
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::frame;
use super::heat::Square;
use super::legend::Legend;
use super::rotary::{check_rotary, dimensions_of, encoding};
use super::scene::{Align, Scene, Stroke, Text};
use super::settings::{positions, usual_base};
use super::style::Style;
use super::table::Table;
use super::text;
use super::words::Words;
use crate::encoding::Pairing;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// The scores of one query and one key, each turned to every position: along a diagonal, where m − n is the
/// same, they are the same. No values; query and key are drawn from the seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RotaryScores {
    pub d_head: usize,
    #[serde(default = "usual_base")]
    pub base: f64,
    #[serde(default)]
    pub pairing: Pairing,
    /// Positions; at most 128 are shown.
    pub length: usize,
    /// The position m whose cell is ringed.
    pub query: usize,
    /// The position n whose cell is ringed.
    pub key: usize,
    pub trained_length: usize,
    #[serde(default = "usual_seed")]
    pub seed: u64,
}

fn usual_seed() -> u64 {
    1
}

/// More cells would show no more, and cost a dot product each.
const SHOWN_MAX: usize = 128;

impl RotaryScores {
    fn shown(&self) -> usize {
        self.length.min(SHOWN_MAX)
    }

    /// The query's and the key's vector before they are turned, `[d_head]` of length 1.
    fn vectors(&self) -> [Vec<f64>; 2] {
        let mut random = SplitMix64(self.seed);
        [(); 2].map(|()| {
            let vector: Vec<f64> = (0..self.d_head).map(|_| random.normal()).collect();
            let norm = dot(&vector, &vector).sqrt();
            vector.into_iter().map(|value| value / norm).collect()
        })
    }

    /// The angle of each pair a token, `[d_head / 2]`.
    fn frequencies(&self) -> Vec<f64> {
        encoding(self.base, self.pairing).inv_freq(self.d_head)
    }

    /// The vector at a position: each pair of dimensions turned by its angle.
    fn turned(&self, vector: &[f64], frequencies: &[f64], position: usize) -> Vec<f64> {
        let mut turned = vector.to_vec();
        for (pair, frequency) in frequencies.iter().enumerate() {
            let [first, second] = dimensions_of(pair, self.d_head, self.pairing);
            let (sin, cos) = (position as f64 * frequency).sin_cos();
            turned[first] = vector[first] * cos - vector[second] * sin;
            turned[second] = vector[first] * sin + vector[second] * cos;
        }
        turned
    }

    fn score(&self, query: usize, key: usize) -> f64 {
        let [q, k] = self.vectors();
        let frequencies = self.frequencies();
        dot(
            &self.turned(&q, &frequencies, query),
            &self.turned(&k, &frequencies, key),
        )
    }

    /// `[shown][shown]`, query by key: every cell by its own two vectors, since that the difference decides
    /// is what the figure is to show.
    fn scores(&self) -> Vec<Vec<f64>> {
        let frequencies = self.frequencies();
        let turned = self.vectors().map(|vector| -> Vec<Vec<f64>> {
            (0..self.shown())
                .map(|position| self.turned(&vector, &frequencies, position))
                .collect()
        });
        let [queries, keys] = turned;
        queries
            .iter()
            .map(|query| keys.iter().map(|key| dot(query, key)).collect())
            .collect()
    }

    fn difference(&self) -> String {
        text::number(self.query as f64 - self.key as f64, 7)
    }
}

/// The lowest and the highest score where query − key is `difference`.
fn diagonal(scores: &[Vec<f64>], difference: isize) -> [f64; 2] {
    let shown = scores.len() as isize;
    let queries = difference.max(0)..shown.min(shown + difference);
    let values = queries.map(|query| scores[query as usize][(query - difference) as usize]);
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], score| {
        [low.min(score), high.max(score)]
    })
}

/// The largest difference between scores on the same diagonal.
fn largest_difference(scores: &[Vec<f64>]) -> f64 {
    let last = scores.len() as isize - 1;
    let differences = (-last..=last).map(|difference| diagonal(scores, difference));
    differences.fold(0.0, |most, [low, high]| most.max(high - low))
}

/// In two sums, so that one addition need not wait for the other.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.chunks_exact(2).zip(b.chunks_exact(2));
    let [even, odd] = pairs.fold([0.0; 2], |sum, (a, b)| {
        [sum[0] + a[0] * b[0], sum[1] + a[1] * b[1]]
    });
    even + odd
}

/// Steele, Lea and Flood 2014: small, and the same on every machine.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0 and at most 1.
    fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (TAU * self.unit()).cos()
    }
}

impl Chart for RotaryScores {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn check(&self) -> Result<(), FigureError> {
        positions(self.query, self.key)?;
        check_rotary(self.d_head, self.base)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let (key, query) = at.cell(self.shown(), self.shown());
        Some(words.fill(
            "read_rotary_score",
            &[
                ("query", &query),
                ("key", &key),
                ("difference", &text::number(query as f64 - key as f64, 7)),
                ("score", &text::number(self.score(query, key), 3)),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        words.fill(
            "sum_rotary_scores",
            &[
                ("shown", &self.shown()),
                ("length", &text::count(self.length)),
                ("query", &text::count(self.query)),
                ("key", &text::count(self.key)),
                ("difference", &self.difference()),
                ("score", &text::number(self.score(self.query, self.key), 3)),
                ("most", &text::number(largest_difference(&self.scores()), 2)),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let keys = ["col_difference", "col_score", "col_largest_difference"];
        let mut table = Table::new(keys.map(|key| words.say(key)));
        let (scores, last) = (self.scores(), self.shown() as isize - 1);
        for difference in -last..=last {
            let [low, high] = diagonal(&scores, difference);
            let (query, key) = (difference.max(0) as usize, (-difference).max(0) as usize);
            let score = scores[query][key];
            table.row([(difference as f64).into(), score.into(), (high - low).into()]);
        }
        table
    }
}

fn compose(scene: &mut Scene, style: &Style, figure: &RotaryScores) {
    let (ink, size, words) = (style.ink(), style.text_px(), style.words());
    let (shown, scores) = (figure.shown(), figure.scores());
    let sentence = words.fill(
        "score_equal",
        &[
            ("query", &text::count(figure.query)),
            ("key", &text::count(figure.key)),
            ("difference", &figure.difference()),
            ("score", &text::number(figure.score(figure.query, figure.key), 3)),
            ("most", &text::number(largest_difference(&scores), 2)),
        ],
    );
    // The sentence stands left of the legend where both fit, else above it.
    let legend_width = (style.width * 0.4).clamp(110.0, 240.0);
    let beside = style.width >= 560.0;
    let room = if beside {
        style.width - legend_width - 36.0
    } else {
        style.width - 4.0
    };
    let lines = frame::wrap(&sentence, room, size);
    let below_lines = lines.len() as f64 * size * 1.4;
    for (index, line) in lines.into_iter().enumerate() {
        let line = frame::words(style, 1.0, size * (0.7 + 1.4 * index as f64), line, Align::Left);
        scene.text(Text {
            colour: ink.strong,
            ..line
        });
    }
    let legend_top = if beside { 0.0 } else { below_lines + 2.0 };
    let above = (legend_top + Legend::height(style)).max(below_lines);
    let square = Square::below(style, shown, above);

    let most = scores
        .iter()
        .flatten()
        .fold(1e-9f64, |most, score| most.max(score.abs()));
    let colours = Colours::new(Ramp::Signed, style.theme);
    let cells = square.cells(style, shown);
    let bitmap = Bitmap::from_fn(cells, cells, |row, column| {
        let first = |index| span(index, cells, shown).0;
        colours.at(scores[first(row)][first(column)] / most * 0.5 + 0.5)
    });
    scene.image(square.plot, bitmap);
    square.finish(scene, style, shown, figure.trained_length);

    let difference = figure.query as f64 - figure.key as f64;
    let (from, to) = (
        (-difference).max(0.0),
        (shown as f64 - difference).min(shown as f64),
    );
    if from < to {
        let ends = [from, to].map(|key| square.px(key, key + difference));
        scene.line(ends, Stroke::new(ink.paper, 3.5).alpha(0.75));
        scene.line(ends, Stroke::new(ink.strong, 1.5));
    }
    if figure.query < shown && figure.key < shown {
        let centre = square.px(figure.key as f64 + 0.5, figure.query as f64 + 0.5);
        let radius = (square.plot.width / shown as f64 * 0.8).clamp(5.0, 12.0);
        scene.ring(centre, radius, Stroke::new(ink.paper, 4.5).alpha(0.75));
        scene.ring(centre, radius, Stroke::new(ink.strong, 2.0));
    }

    let written = text::number(most, 2);
    let legend = Legend {
        colours: &colours,
        title: words.say("score_unit"),
        ticks: vec![
            (0.0, format!("−{written}")),
            (0.5, "0".into()),
            (1.0, written.clone()),
        ],
    };
    legend.draw(scene, style, style.width - 10.0, legend_top, legend_width);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Cell, Figure, compose, readout};

    fn figure(pairing: Pairing) -> RotaryScores {
        RotaryScores {
            d_head: 24,
            base: 10_000.0,
            pairing,
            length: 512,
            query: 60,
            key: 12,
            trained_length: 64,
            seed: 1,
        }
    }

    /// The score by the difference formula, on complex numbers: Re Σ q_c · conj(k_c) · e^{i(m−n)θ_c}.
    fn by_difference(figure: &RotaryScores, difference: f64) -> f64 {
        let [q, k] = figure.vectors();
        let pairs = 0..figure.d_head / 2;
        let terms = pairs.map(|pair| {
            let [i, j] = match figure.pairing {
                Pairing::Halves => [pair, pair + 12],
                Pairing::Interleaved => [2 * pair, 2 * pair + 1],
            };
            let angle = difference * 10_000f64.powf(-(pair as f64) / 12.0);
            let (real, imaginary) = (q[i] * k[i] + q[j] * k[j], q[j] * k[i] - q[i] * k[j]);
            real * angle.cos() - imaginary * angle.sin()
        });
        terms.sum()
    }

    #[test]
    fn turned_vectors_score_by_the_difference_of_positions_only() {
        for pairing in [Pairing::Halves, Pairing::Interleaved] {
            let figure = figure(pairing);
            let table = figure.table(&[], Words::of("en"));
            assert_eq!(table.rows.len(), 255);
            for row in &table.rows {
                let [
                    Cell::Number(difference),
                    Cell::Number(score),
                    Cell::Number(spread),
                ] = row[..]
                else {
                    panic!("{row:?}")
                };
                assert!((score - by_difference(&figure, difference)).abs() < 1e-12);
                assert!((0.0..1e-13).contains(&spread), "{spread}");
            }
            // Not all the same: the difference does decide.
            let scores = figure.scores();
            assert!((scores[0][1] - scores[1][0]).abs() > 1e-3);
        }
    }

    #[test]
    fn the_largest_difference_is_along_diagonals() {
        let scores = [vec![1.0, 9.0, 0.0], vec![5.0, 3.0, 7.0], vec![2.0, 5.5, 1.5]];
        assert_eq!(diagonal(&scores, 0), [1.0, 3.0]);
        assert_eq!(diagonal(&scores, 1), [5.0, 5.5]);
        assert_eq!(diagonal(&scores, -2), [0.0, 0.0]);
        assert_eq!(largest_difference(&scores), 2.0);
    }

    #[test]
    fn the_readout_is_the_score_of_its_cell() {
        let scores = figure(Pairing::Halves);
        let figure = Figure::RotaryScores(scores.clone());
        let geometry = compose(&figure, &[], &Style::default()).unwrap().geometry;
        let plot = &geometry.plots[0];
        let at = |cell: f64, from: f64, px: f64| from + px * (cell + 0.5) / 128.0;
        let place = [at(30.0, plot.x, plot.width), at(9.0, plot.y, plot.height)];
        let score = text::number(by_difference(&scores, -21.0), 3);
        assert_eq!(
            readout(&figure, &[], &geometry, place, "en").unwrap(),
            format!("query m = 9, key n = 30, m − n = −21: score {score}")
        );
    }

    #[test]
    fn the_vectors_are_of_length_one_and_the_seed_chooses_them() {
        let first = figure(Pairing::Halves);
        for vector in first.vectors() {
            assert!((vector.iter().map(|value| value * value).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        assert_eq!(first.vectors(), first.vectors());
        assert_ne!(
            first.vectors(),
            RotaryScores {
                seed: 2,
                ..first.clone()
            }
            .vectors()
        );
        // The generator's published first number for seed 0.
        assert_eq!(SplitMix64(0).next(), 0xe220_a839_7b1d_cdaf);
        let mut random = SplitMix64(7);
        let drawn: Vec<f64> = (0..10_000).map(|_| random.normal()).collect();
        let mean = drawn.iter().sum::<f64>() / 1e4;
        let variance = drawn.iter().map(|value| value * value).sum::<f64>() / 1e4;
        assert!(
            mean.abs() < 0.04 && (variance - 1.0).abs() < 0.06,
            "{mean} {variance}"
        );
    }
}
