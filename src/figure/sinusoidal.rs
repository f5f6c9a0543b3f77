use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::legend::Legend;
use super::scene::Scene;
use super::style::Style;
use super::{heat, size};
use crate::encoding::{Layout, Positional, Shape, Sinusoidal};
use crate::model::Weights;

/// Where positions are narrower than pixels, a column shows the mean of its positions: fast waves fade
/// to the neutral colour, as they do to the eye, and no false slow wave appears.
pub(crate) fn compose(
    scene: &mut Scene,
    style: &Style,
    length: usize,
    d_model: usize,
    layout: Layout,
    base: f64,
    trained: Option<usize>,
) -> Result<(), FigureError> {
    size("d_model", d_model)?;
    let encoding = Sinusoidal { layout, base };
    // The encoding's own checks, by its smallest table.
    encoding.tables(
        &Shape {
            length: 1,
            d_model,
            heads: 1,
            d_head: d_model,
        },
        &Weights::default(),
    )?;
    let colours = Colours::new(Ramp::Signed, style.theme);
    let undefined = style.ink().undefined;
    let legend = Legend {
        colours: &colours,
        title: "value added to the embedding",
        ticks: vec![(0.0, "−1".into()), (0.5, "0".into()), (1.0, "1".into())],
    };
    let mut waves = Waves::new(&encoding, d_model);
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
    Ok(())
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
    fn new(encoding: &Sinusoidal, d_model: usize) -> Self {
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
            let encoding = Sinusoidal {
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
        let encoding = Sinusoidal::default();
        let mut waves = Waves::new(&encoding, 4);
        let first: Vec<f64> = waves.mean(3).collect();
        for (column, mean) in first.iter().enumerate() {
            let all: f64 = (0..3).map(|position| encoding.value(position, column, 4)).sum();
            assert!((mean - all / 3.0).abs() < 1e-12);
        }
    }
}
