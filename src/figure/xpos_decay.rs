use super::chart::{At, Chart, nearest};
use super::colour::{Colours, Ramp};
use super::curves::{self, EndLabel};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind};
use super::rotary::check_rotary;
use super::scale::{self, Scale};
use super::scene::{Scene, Stroke};
use super::settings::usual_base;
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{encoding_colour, text};
use crate::encoding::Xpos;
use serde::{Deserialize, Serialize};

/// What xPos leaves of each pair's share of a score, by distance: ζ_c^(n / scale base), and the mean over the
/// pairs, which is what bounds a score whose pairs are all equal (Sun et al. 2022, arXiv 2212.10554). No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct XposDecay {
    pub d_head: usize,
    pub length: usize,
    pub trained_length: usize,
    #[serde(default = "usual_scale_base")]
    pub scale_base: f64,
}

fn usual_scale_base() -> f64 {
    Xpos::default().scale_base
}

impl XposDecay {
    /// What is left at a distance, `[d_head / 2]`.
    fn at(&self, distance: usize) -> Vec<f64> {
        let power = distance as f64 / self.scale_base;
        let scales = Xpos::scales(self.d_head / 2).into_iter();
        scales.map(|scale| scale.powf(power)).collect()
    }

    fn mean(&self, distance: usize) -> f64 {
        let all = self.at(distance);
        all.iter().sum::<f64>() / all.len().max(1) as f64
    }

    /// The distances that are drawn: about as many as pixels.
    fn distances(&self, most: usize) -> Vec<usize> {
        let last = self.length - 1;
        let step = self.length.div_ceil(most.max(2));
        let mut distances: Vec<usize> = (0..last).step_by(step).chain([last]).collect();
        distances.dedup();
        distances
    }
}

impl Chart for XposDecay {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn columns(&self) -> usize {
        self.d_head
    }

    fn check(&self) -> Result<(), FigureError> {
        if !(self.scale_base.is_finite() && self.scale_base > 0.0) {
            return Err(FigureError::Setting {
                what: "scale base",
                value: self.scale_base.to_string(),
                need: "a finite number above 0",
            });
        }
        check_rotary(self.d_head, usual_base())
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let distance = at.position(self.length);
        let all = self.at(distance);
        let (pair, value) = nearest(all.len(), at.y, |pair| all.get(pair).copied())?;
        Some(words.fill(
            "read_xpos_decay",
            &[
                ("distance", &distance),
                ("pair", &pair),
                ("value", &text::number(value, 3)),
                ("mean", &text::number(self.mean(distance), 3)),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let far = self.length - 1;
        let last = self.d_head / 2 - 1;
        let number = |value: f64| text::number(value, 3);
        words.fill(
            "sum_xpos_decay",
            &[
                ("pairs", &(self.d_head / 2)),
                ("trained", &text::count(self.trained_length)),
                ("far", &text::count(far)),
                ("last", &last),
                ("near_first", &number(self.at(self.trained_length)[0])),
                ("near_last", &number(self.at(self.trained_length)[last])),
                ("near_mean", &number(self.mean(self.trained_length))),
                ("far_first", &number(self.at(far)[0])),
                ("far_last", &number(self.at(far)[last])),
                ("far_mean", &number(self.mean(far))),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let pairs = (0..self.d_head / 2).map(|pair| words.fill("pair_label", &[("pair", &pair)]));
        let names = ["col_distance", "col_mean_pairs"].map(|key| words.say(key).to_string());
        let mut table = Table::new(names.into_iter().chain(pairs));
        for distance in 0..self.length {
            let numbers = [self.mean(distance)].into_iter().chain(self.at(distance));
            table.row(std::iter::once(distance.into()).chain(numbers.map(Into::into)));
        }
        table
    }
}

fn compose(scene: &mut Scene, style: &Style, figure: &XposDecay) {
    let (words, size) = (style.words(), style.text_px());
    let pairs = figure.d_head / 2;
    let name = |pair: usize| words.fill("pair_label", &[("pair", &pair)]);
    let mean = words.say("mean_pairs");
    let labels = [name(0), name(pairs - 1)];
    let plot = frame::inside(
        style,
        Margins {
            left: 40.0,
            right: curves::room(labels.iter().map(String::as_str).chain([mean]), style),
            top: size * 3.2,
            bottom: size * 2.6 + 14.0,
        },
    );
    let last = (figure.length - 1).max(1) as f64;
    let x = Scale::linear([0.0, last], [plot.x, plot.right()]);
    let y = Scale::linear([0.0, 1.04], [plot.bottom(), plot.y]);
    frame::heading(scene, style, 0.0, size * 0.7, words.say("pair_share_up"));
    let most = ((plot.height / 34.0) as usize).clamp(2, 6);
    let y_ticks = frame::number_ticks(&scale::linear_ticks([0.0, 1.0], most));
    frame::y_axis(scene, style, plot, &y, &Axis::new(y_ticks, "").with_grid());
    frame::distance_axis(scene, style, plot, &x, figure.length - 1);
    frame::mark_trained_x(scene, style, plot, &x, figure.trained_length, false);
    let distances = figure.distances(plot.width as usize);
    let curve = |value: &dyn Fn(usize) -> f64| -> Vec<[f64; 2]> {
        let place = |&distance: &usize| [x.px(distance as f64), y.px(value(distance))];
        distances.iter().map(place).collect()
    };
    let colours = Colours::new(Ramp::Sequential, style.theme);
    let (mut ends, mut lines) = (Vec::new(), Vec::new());
    let mut draw =
        |scene: &mut Scene, points: Vec<[f64; 2]>, stroke: Stroke, label: Option<String>, strong| {
            scene.line(points.iter().copied(), stroke);
            if let (Some(text), Some(&at)) = (label, points.last()) {
                let colour = stroke.colour;
                ends.push(EndLabel {
                    at,
                    text,
                    colour,
                    strong,
                });
            }
            lines.push(points);
        };
    for pair in 0..pairs {
        // From fast and pale to slow and strong; the first and the last are enough of names.
        let colour = colours.at(0.42 + 0.58 * (pair as f64 + 1.0) / pairs as f64);
        let label = (pair == 0 || pair == pairs - 1).then(|| name(pair));
        let points = curve(&|distance| figure.at(distance)[pair]);
        draw(scene, points, Stroke::new(colour, 1.25), label, false);
    }
    if pairs > 1 {
        let stroke = Stroke::new(encoding_colour("xpos", style.theme), 2.75);
        let points = curve(&|distance| figure.mean(distance));
        draw(scene, points, stroke, Some(mean.into()), true);
    }
    curves::end_labels(scene, style, plot, ends, &lines);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::{Positional, Shape};
    use crate::figure::Cell;
    use crate::model::Weights;

    fn figure() -> XposDecay {
        XposDecay {
            d_head: 24,
            length: 300,
            trained_length: 128,
            scale_base: 512.0,
        }
    }

    /// From the tables that a model gets: the lengths of a turned query and key, multiplied.
    #[test]
    fn the_curves_are_what_the_tables_do_to_a_pair() {
        let shape = Shape {
            length: 300,
            d_model: 24,
            heads: 1,
            d_head: 24,
        };
        let tables = Xpos::default().tables(&shape, &Weights::default()).unwrap();
        let rotation = tables.rotation.unwrap();
        let [key_cos, key_sin] = rotation.keys.unwrap();
        let size = |cos: &crate::encoding::Table, sin: &crate::encoding::Table, at: usize, pair: usize| {
            cos.data[at * 12 + pair].hypot(sin.data[at * 12 + pair])
        };
        for (query, key) in [(0, 0), (299, 0), (200, 72), (128, 0)] {
            for (pair, value) in figure().at(query - key).into_iter().enumerate() {
                let found =
                    size(&rotation.cos, &rotation.sin, query, pair) * size(&key_cos, &key_sin, key, pair);
                assert!(
                    (found - value).abs() < 1e-9,
                    "{query} {key} {pair}: {found} {value}"
                );
            }
        }
    }

    #[test]
    fn distances_reach_both_ends_and_rise() {
        for (length, most) in [(1, 100), (2, 1), (300, 200), (4096, 500)] {
            let distances = XposDecay { length, ..figure() }.distances(most);
            assert_eq!([distances[0], distances[distances.len() - 1]], [0, length - 1]);
            assert!(
                distances.windows(2).all(|pair| pair[0] < pair[1]),
                "{distances:?}"
            );
            assert!(distances.len() <= most.max(2) + 1);
        }
    }

    #[test]
    fn the_table_has_the_mean_and_every_pair() {
        let table = figure().table(&[], Words::of("en"));
        assert_eq!((table.columns.len(), table.rows.len()), (14, 300));
        let Cell::Number(mean) = table.rows[128][1] else {
            panic!("a number")
        };
        let pairs = (0..12).map(|pair| ((f64::from(pair) / 12.0 + 0.4) / 1.4).powf(0.25));
        assert!((mean - pairs.sum::<f64>() / 12.0).abs() < 1e-12);
    }
}
