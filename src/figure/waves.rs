use super::chart::{At, Chart, nearest};
use super::colour::Rgb;
use super::curves::{self, EndLabel};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind};
use super::order::sort_few;
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke};
use super::settings::usual_base;
use super::sinusoidal::check_sinusoidal;
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{encoding_colour, text};
use crate::encoding::{Layout, Sinusoidal};
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, TAU};

/// The values of a few sinusoidal dimensions along the positions. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Waves {
    pub length: usize,
    pub d_model: usize,
    #[serde(default)]
    pub layout: Layout,
    #[serde(default = "usual_base")]
    pub base: f64,
    #[serde(default)]
    pub trained_length: Option<usize>,
    /// 1 to 8 dimensions below `d_model`.
    pub dimensions: Vec<usize>,
}

/// One dimension as a sine: `sin(frequency · position + phase)`; a column of zeros is `None`.
#[derive(Clone, Copy, Debug)]
struct Wave(Option<(f64, f64)>);

impl Wave {
    fn at(self, position: f64) -> f64 {
        self.0
            .map_or(0.0, |(frequency, phase)| (frequency * position + phase).sin())
    }

    fn frequency(self) -> f64 {
        self.0.map_or(0.0, |(frequency, _)| frequency)
    }

    fn is_cosine(self) -> bool {
        self.0.is_some_and(|(_, phase)| phase > 0.0)
    }

    /// The smallest and the largest value from one position to another.
    fn extremes(self, from: f64, to: f64) -> [f64; 2] {
        let (low, high) = (self.at(from).min(self.at(to)), self.at(from).max(self.at(to)));
        let Some((frequency, phase)) = self.0 else {
            return [0.0, 0.0];
        };
        let (from, to) = (frequency * from + phase, frequency * to + phase);
        // Whether an angle `top` (plus whole turns) lies between.
        let passes = |top: f64| ((to - top) / TAU).floor() >= ((from - top) / TAU).ceil();
        [
            if passes(-FRAC_PI_2) { -1.0 } else { low },
            if passes(FRAC_PI_2) { 1.0 } else { high },
        ]
    }
}

impl Waves {
    fn wave(&self, dimension: usize) -> Wave {
        let encoding = Sinusoidal {
            layout: self.layout,
            base: self.base,
        };
        let wave = encoding.wave(dimension, self.d_model);
        Wave(wave.map(|(frequency, is_sine)| (frequency, if is_sine { 0.0 } else { FRAC_PI_2 })))
    }

    fn label(&self, dimension: usize, words: &Words) -> String {
        let frequency = self.wave(dimension).frequency();
        let key = if frequency > 0.0 {
            "wave_label"
        } else {
            "wave_zero"
        };
        let parts: [(&str, &dyn ToString); 2] =
            [("dimension", &dimension), ("wavelength", &wavelength(frequency))];
        words.fill(key, &parts)
    }
}

/// Tokens a turn as they are written: three digits, and whole from 100 on.
pub(super) fn wavelength(frequency: f64) -> String {
    let wavelength = TAU / frequency;
    match wavelength {
        _ if !wavelength.is_finite() => "∞".into(),
        100.0..1e9 => text::count(wavelength.round() as usize),
        _ => text::number(wavelength, 3),
    }
}

impl Chart for Waves {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, self.trained_length)
    }

    fn check(&self) -> Result<(), FigureError> {
        check_sinusoidal(self.d_model, self.layout, self.base)?;
        let fits = self.dimensions.iter().all(|&dimension| dimension < self.d_model);
        if !(fits && (1..=8).contains(&self.dimensions.len())) {
            return Err(FigureError::Setting {
                what: "list of dimensions",
                value: format!("{:?}", self.dimensions),
                need: "1 to 8 dimensions below d_model, the first being 0",
            });
        }
        Ok(())
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let position = at.position(self.length);
        let value = |index: usize| Some(self.wave(self.dimensions[index]).at(position as f64));
        let (index, value) = nearest(self.dimensions.len(), at.y, value)?;
        Some(words.fill(
            "read_position_dimension",
            &[
                ("position", &position),
                ("dimension", &self.dimensions[index]),
                ("value", &text::fixed(value, 3)),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let labels: Vec<String> = self
            .dimensions
            .iter()
            .map(|&dimension| self.label(dimension, words))
            .collect();
        words.fill(
            "sum_waves",
            &[
                ("count", &self.dimensions.len()),
                ("dimensions", &self.d_model),
                ("length", &text::count(self.length)),
                ("waves", &labels.join(words.say("list_separator"))),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let title = |dimension: &usize| words.fill("col_dimension", &[("dimension", dimension)]);
        let first = std::iter::once(words.say("col_position").to_string());
        let mut table = Table::new(first.chain(self.dimensions.iter().map(title)));
        let waves: Vec<Wave> = self.dimensions.iter().map(|&d| self.wave(d)).collect();
        for position in 0..self.length {
            let cells = waves.iter().map(|wave| wave.at(position as f64).into());
            table.row(std::iter::once(position.into()).chain(cells));
        }
        table
    }
}

/// A wave of fewer CSS px a turn is drawn as the band that it fills.
const LEAST_PX: f64 = 8.0;
/// A cosine of fewer CSS px a turn is not dashed: its dashes would look like noise.
const LEAST_DASHED_PX: f64 = 100.0;

/// Shades of the encoding's colour by wavelength, light where fast, dark where slow; `[waves]`.
fn shades(waves: &[Wave], style: &Style) -> Vec<Rgb> {
    let family = encoding_colour("sinusoidal", style.theme);
    let (light, dark) = (
        family.mix(style.ink().paper, 0.35),
        family.mix(style.ink().strong, 0.7),
    );
    let mut order: Vec<usize> = (0..waves.len()).collect();
    sort_few(&mut order, |&index| -waves[index].frequency());
    let last = (waves.len().max(2) - 1) as f64;
    let mut shades = vec![family; waves.len()];
    for (rank, index) in order.into_iter().enumerate() {
        let at = rank as f64 / last * 2.0;
        shades[index] = if at < 1.0 {
            light.mix(family, at)
        } else {
            family.mix(dark, at - 1.0)
        };
    }
    shades
}

fn compose(scene: &mut Scene, style: &Style, figure: &Waves) {
    let (ink, words, size) = (style.ink(), style.words(), style.text_px());
    let labels: Vec<String> = figure
        .dimensions
        .iter()
        .map(|&dimension| figure.label(dimension, words))
        .collect();
    let end = (figure.length - 1) as f64;
    let waves: Vec<Wave> = figure.dimensions.iter().map(|&d| figure.wave(d)).collect();
    let margins = Margins {
        left: text::width("−0.5", size) + 12.0,
        right: curves::room(labels.iter().map(String::as_str), style),
        top: size * 3.2,
        bottom: size * 2.6 + 14.0,
    };
    // Tokens a CSS px.
    let step = end.max(1.0) / frame::inside(style, margins).width;
    let turn_px = |wave: Wave| TAU / wave.frequency() / step;
    let is_band = |wave: Wave| turn_px(wave) < LEAST_PX;
    let title = words.say("value_added_up");
    frame::heading(scene, style, 0.0, size * 0.7, title);
    let mut plot = frame::inside(style, margins);
    if waves.iter().any(|wave| is_band(*wave)) {
        let note = words.say("wave_band");
        if text::width(title, size) + text::width(note, size) + 24.0 < style.width {
            let right = style.width - 2.0;
            scene.text(frame::words(style, right, size * 0.7, note, Align::Right));
        } else {
            // A line of its own where there is no room beside the title.
            let top = margins.top + size * 1.4;
            plot = frame::inside(style, Margins { top, ..margins });
            frame::heading(scene, style, 0.0, size * 2.1, note);
        }
    }
    let x = Scale::linear([0.0, end.max(1.0)], [plot.x, plot.right()]);
    let y = Scale::linear([-1.05, 1.05], [plot.bottom(), plot.y]);
    let y_ticks = match plot.height > size * 8.0 {
        true => vec![-1.0, -0.5, 0.0, 0.5, 1.0],
        false => vec![-1.0, 0.0, 1.0],
    };
    let y_axis = Axis::new(frame::number_ticks(&y_ticks), "").with_grid();
    frame::y_axis(scene, style, plot, &y, &y_axis);
    let most = frame::most_ticks(plot.width, 64.0);
    let x_ticks = frame::count_ticks(&scale::positions(end as usize + 1, most));
    frame::x_axis(scene, style, plot, &x, &Axis::new(x_ticks, words.say("position")));
    if let Some(trained) = figure.trained_length {
        frame::mark_trained_x(scene, style, plot, &x, trained, false);
    }

    let shades = shades(&waves, style);
    // Bands lie below the lines.
    let bands = waves.iter().zip(&shades).filter(|(wave, _)| is_band(**wave));
    for (wave, &shade) in bands {
        scene.area(band(*wave, end, [&x, &y]), shade, 0.3);
    }
    for (wave, &shade) in waves.iter().zip(&shades).filter(|(wave, _)| !is_band(**wave)) {
        let mut stroke = Stroke::new(shade, 1.75);
        if wave.is_cosine() && turn_px(*wave) > LEAST_DASHED_PX {
            stroke = stroke.dashed(7.0, 4.0);
        }
        let points = (plot.width * end / end.max(1.0)) as usize;
        let at = |point: usize| end * point as f64 / points.max(1) as f64;
        let line = (0..=points).map(|point| [x.px(at(point)), y.px(wave.at(at(point)))]);
        scene.line(line, stroke);
        // The values themselves, where there is room to tell them from the curve.
        if step * 7.0 <= 1.0 || figure.length == 1 {
            for position in 0..figure.length {
                let position = position as f64;
                scene.disc([x.px(position), y.px(wave.at(position))], 2.25, shade);
            }
        }
    }
    let family = encoding_colour("sinusoidal", style.theme);
    let ends = waves.iter().zip(&shades).zip(labels);
    let ends = ends.map(|((wave, &shade), text)| {
        // Light shades are too pale for words.
        let contrast = |colour: Rgb| (colour.luminance() - ink.paper.luminance()).abs();
        let colour = if contrast(shade) > contrast(family) {
            shade
        } else {
            family
        };
        EndLabel {
            at: [x.px(end), y.px(wave.at(end))],
            text,
            colour,
            strong: false,
        }
    });
    curves::end_labels(scene, style, plot, ends.collect(), &[]);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
}

/// What a fast wave covers, one pair of points a CSS px.
fn band(wave: Wave, end: f64, [x, y]: [&Scale; 2]) -> Vec<[f64; 2]> {
    let columns = ((x.px(end) - x.px(0.0)) as usize).max(2);
    let at = |column: usize| end * column as f64 / columns as f64;
    let (mut low, mut high) = (Vec::new(), Vec::new());
    for column in 0..columns {
        let [least, most] = wave.extremes(at(column), at(column + 1));
        for edge in [at(column), at(column + 1)] {
            low.push([x.px(edge), y.px(least)]);
            high.push([x.px(edge), y.px(most)]);
        }
    }
    low.into_iter().chain(high.into_iter().rev()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::table::Cell;

    #[test]
    fn waves_are_the_encodings_values() {
        for layout in [Layout::Interleaved, Layout::Halves, Layout::Fairseq] {
            let figure = Waves {
                length: 300,
                d_model: 7,
                layout,
                base: 500.0,
                trained_length: None,
                dimensions: (0..7).collect(),
            };
            let encoding = Sinusoidal { layout, base: 500.0 };
            let table = figure.table(&[], Words::of("en"));
            assert_eq!(table.rows.len(), 300);
            for (position, row) in table.rows.iter().enumerate() {
                for (column, cell) in row[1..].iter().enumerate() {
                    let Cell::Number(value) = cell else {
                        panic!("a number")
                    };
                    let wanted = encoding.value(position, column, 7);
                    assert!((value - wanted).abs() < 1e-9, "{layout:?} {position} {column}");
                }
            }
        }
    }

    #[test]
    fn a_label_names_the_dimension_and_its_wavelength() {
        let figure = Waves {
            length: 8,
            d_model: 4,
            layout: Layout::Interleaved,
            base: 10_000.0,
            trained_length: None,
            dimensions: vec![1, 2],
        };
        // 2π, and 2π · 10000^(2/4).
        assert!(figure.label(1, Words::of("en")).ends_with("λ 6.28"));
        assert!(figure.label(2, Words::of("en")).ends_with("λ 628"));
    }

    #[test]
    fn extremes_hold_every_value_between() {
        for phase in [0.0, FRAC_PI_2] {
            let wave = Wave(Some((0.3, phase)));
            for from in 0..40 {
                for width in [1.0, 4.0, 30.0] {
                    let from = f64::from(from);
                    let [least, most] = wave.extremes(from, from + width);
                    let between = (0..=2000).map(|part| wave.at(from + width * f64::from(part) / 2000.0));
                    let (low, high) = between.fold((2.0f64, -2.0f64), |(low, high), value| {
                        (low.min(value), high.max(value))
                    });
                    assert!((least - low).abs() < 1e-4 && (most - high).abs() < 1e-4);
                }
            }
        }
    }
}
