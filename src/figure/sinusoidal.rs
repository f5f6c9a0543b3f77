use super::chart::{At, Chart};
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::learned::dimensions_table;
use super::legend::Legend;
use super::scene::Scene;
use super::settings::usual_base;
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{heat, size, text};
use crate::encoding::{Layout, Positional, Shape, Sinusoidal as Encoding};
use crate::model::Weights;
use serde::{Deserialize, Serialize};

/// A heat map of position × dimension. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sinusoidal {
    pub length: usize,
    pub d_model: usize,
    #[serde(default)]
    pub layout: Layout,
    #[serde(default = "usual_base")]
    pub base: f64,
    #[serde(default)]
    pub trained_length: Option<usize>,
}

/// # Errors
/// Dimensions or a base that make no table.
pub(super) fn check_sinusoidal(d_model: usize, layout: Layout, base: f64) -> Result<(), FigureError> {
    size("d_model", d_model)?;
    // The encoding's own checks, by its smallest table.
    let shape = Shape {
        length: 1,
        d_model,
        heads: 1,
        d_head: d_model,
    };
    Encoding { layout, base }.tables(&shape, &Weights::default())?;
    Ok(())
}

impl Sinusoidal {
    fn encoding(&self) -> Encoding {
        Encoding {
            layout: self.layout,
            base: self.base,
        }
    }
}

impl Chart for Sinusoidal {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, self.trained_length)
    }

    fn columns(&self) -> usize {
        self.d_model
    }

    fn check(&self) -> Result<(), FigureError> {
        check_sinusoidal(self.d_model, self.layout, self.base)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let (position, column) = at.cell(self.length, self.d_model);
        let value = text::fixed(self.encoding().value(position, column, self.d_model), 3);
        Some(words.fill(
            "read_position_dimension",
            &[("position", &position), ("dimension", &column), ("value", &value)],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let waves = (0..self.d_model).filter_map(|column| self.encoding().wave(column, self.d_model));
        let slowest = waves
            .map(|(frequency, _)| frequency)
            .fold(f64::INFINITY, f64::min);
        words.fill(
            "sum_sinusoidal",
            &[
                ("length", &text::count(self.length)),
                ("dimensions", &self.d_model),
                (
                    "slowest",
                    &text::count((std::f64::consts::TAU / slowest).round() as usize),
                ),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let mut table = dimensions_table(self.d_model, words);
        let encoding = self.encoding();
        for position in 0..self.length {
            let cell = |column| encoding.value(position, column, self.d_model).into();
            table.row(std::iter::once(position.into()).chain((0..self.d_model).map(cell)));
        }
        table
    }
}

/// Where positions are narrower than pixels, a column shows the mean of its positions: fast waves fade
/// to the neutral colour, as they do to the eye, and no false slow wave appears.
fn compose(scene: &mut Scene, style: &Style, figure: &Sinusoidal) {
    let (length, d_model, trained) = (figure.length, figure.d_model, figure.trained_length);
    let colours = Colours::new(Ramp::Signed, style.theme);
    let undefined = style.ink().undefined;
    let legend = Legend {
        colours: &colours,
        title: style.words().say("value_added"),
        ticks: vec![(0.0, "−1".into()), (0.5, "0".into()), (1.0, "1".into())],
    };
    let mut waves = Waves::new(&figure.encoding(), d_model);
    heat::positions(
        scene,
        style,
        [length, d_model],
        trained,
        Some(legend),
        |from, to| {
            let mean = waves.mean(to - from);
            mean.map(|value| heat::colour_of(&colours, value * 0.5 + 0.5, undefined))
                .collect()
        },
    );
}

/// All columns of the table, turned from position to position by the addition theorem: a sine for every
/// cell would cost more than the picture's frame.
struct Waves(Vec<Wave>);

struct Wave {
    /// sin and cos at the present position
    now: [f64; 2],
    /// sin and cos of one step
    step: [f64; 2],
    /// 1 for a sine, 0 for a cosine, NaN for a column of zeros
    part: Part,
}

enum Part {
    Sine,
    Cosine,
    Zero,
}

impl Waves {
    fn new(encoding: &Encoding, d_model: usize) -> Self {
        let wave = |column| match encoding.wave(column, d_model) {
            Some((frequency, is_sine)) => Wave {
                now: [0.0, 1.0],
                step: [frequency.sin(), frequency.cos()],
                part: if is_sine { Part::Sine } else { Part::Cosine },
            },
            None => Wave {
                now: [0.0, 1.0],
                step: [0.0, 1.0],
                part: Part::Zero,
            },
        };
        Self((0..d_model).map(wave).collect())
    }

    /// The means of the next `count` positions, one a column.
    fn mean(&mut self, count: usize) -> impl Iterator<Item = f64> {
        self.0.iter_mut().map(move |wave| {
            let mut sum = 0.0;
            for _ in 0..count {
                let ([sine, cosine], [step_sine, step_cosine]) = (wave.now, wave.step);
                sum += match wave.part {
                    Part::Sine => sine,
                    Part::Cosine => cosine,
                    Part::Zero => 0.0,
                };
                wave.now = [
                    sine * step_cosine + cosine * step_sine,
                    cosine * step_cosine - sine * step_sine,
                ];
            }
            sum / count as f64
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_waves_are_the_encoding() {
        for layout in [Layout::Interleaved, Layout::Halves, Layout::Fairseq] {
            let encoding = Encoding {
                layout,
                base: 10_000.0,
            };
            let mut waves = Waves::new(&encoding, 7);
            for position in 0..4096 {
                let row: Vec<f64> = waves.mean(1).collect();
                for (column, value) in row.iter().enumerate() {
                    assert!((value - encoding.value(position, column, 7)).abs() < 1e-9);
                }
            }
        }
    }

    #[test]
    fn a_mean_is_over_its_positions() {
        let encoding = Encoding::default();
        let mut waves = Waves::new(&encoding, 4);
        let first: Vec<f64> = waves.mean(3).collect();
        for (column, mean) in first.iter().enumerate() {
            let all: f64 = (0..3).map(|position| encoding.value(position, column, 4)).sum();
            assert!((mean - all / 3.0).abs() < 1e-12);
        }
    }
}
