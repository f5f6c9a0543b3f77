use super::chart::{At, Chart};
use super::curves::{self, EndLabel};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::rotary::{check_rotary, encoding, wavelength_text, wavelengths};
use super::scale::{self, Scale};
use super::scene::{Align, Scene, Stroke, Text};
use super::settings::usual_base;
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{encoding_colour, text};
use crate::encoding::Pairing;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// How many tokens a full turn of every rotary pair takes, against the trained length. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wavelengths {
    pub d_head: usize,
    #[serde(default = "usual_base")]
    pub base: f64,
    pub trained_length: usize,
    pub length: usize,
}

impl Wavelengths {
    /// Tokens a turn, `[d_head / 2]`. How dimensions are paired does not matter.
    fn waves(&self) -> Vec<f64> {
        wavelengths(&encoding(self.base, Pairing::default()), self.d_head)
    }

    /// Whether a pair never completes a turn within L.
    fn is_slow(&self, wave: f64) -> bool {
        wave > self.trained_length as f64
    }

    fn slow_count(&self) -> usize {
        self.waves()
            .into_iter()
            .filter(|&wave| self.is_slow(wave))
            .count()
    }
}

impl Chart for Wavelengths {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn check(&self) -> Result<(), FigureError> {
        check_rotary(self.d_head, self.base)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let waves = self.waves();
        let (pair, _) = at.cell(waves.len(), 1);
        let wave = *waves.get(pair)?;
        Some(words.fill(
            "read_wavelength",
            &[
                ("pair", &pair),
                ("wavelength", &wavelength_text(wave)),
                ("turns", &text::number(self.trained_length as f64 / wave, 3)),
                ("trained", &text::count(self.trained_length)),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let waves = self.waves();
        let (first, last) = (waves.first().copied(), waves.last().copied());
        words.fill(
            "sum_wavelengths",
            &[
                ("pairs", &waves.len()),
                ("shortest", &wavelength_text(first.unwrap_or(f64::NAN))),
                ("longest", &wavelength_text(last.unwrap_or(f64::NAN))),
                ("slow", &self.slow_count()),
                ("trained", &text::count(self.trained_length)),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let keys = ["col_pair", "col_frequency", "col_wavelength", "col_turns"];
        let mut table = Table::new(keys.map(|key| words.say(key)));
        for (pair, wave) in self.waves().into_iter().enumerate() {
            let turns = self.trained_length as f64 / wave;
            table.row([pair.into(), (TAU / wave).into(), wave.into(), turns.into()]);
        }
        table
    }
}

/// A stem and a dot for each pair; those above the line at L stay within one turn all through training, so
/// that a longer text shows them angles they have never had.
fn compose(scene: &mut Scene, style: &Style, figure: &Wavelengths) {
    let (ink, size, words) = (style.ink(), style.text_px(), style.words());
    let waves = figure.waves();
    let (trained, length) = (figure.trained_length as f64, figure.length as f64);
    let marks: &[(f64, String)] = &[
        (trained, frame::trained_label(style, figure.trained_length)),
        (
            length,
            words.fill("length_label", &[("length", &text::count(figure.length))]),
        ),
    ];
    let marks = if trained == length { &marks[..1] } else { marks };

    let sentence = words.fill(
        "slow_pairs",
        &[("slow", &figure.slow_count()), ("pairs", &waves.len())],
    );
    let mut y = size * 0.7;
    for line in frame::wrap(&sentence, style.width - 4.0, size * 1.06) {
        scene.text(Text {
            colour: ink.strong,
            bold: true,
            ..frame::words(style, 1.0, y, line, Align::Left)
        });
        y += size * 1.4;
    }
    y += size * 0.3;
    frame::heading(scene, style, 0.0, y, words.say("wavelength_log"));

    let all = || waves.iter().copied().chain(marks.iter().map(|mark| mark.0));
    let low = all().fold(f64::INFINITY, f64::min) / 1.5;
    // Above the highest dot stands its number.
    let high = all().fold(0.0, f64::max) * 2.2;
    let plot = frame::inside(
        style,
        Margins {
            left: text::width("100\u{202f}000", size) + 10.0,
            right: curves::room(marks.iter().map(|mark| mark.1.as_str()), style),
            top: y + size * 1.1,
            bottom: size * 2.6 + 14.0,
        },
    );
    let x = Scale::linear([0.0, waves.len() as f64], [plot.x, plot.right()]);
    let scale_y = Scale::log([low, high], [plot.bottom(), plot.y]);
    let y_ticks = scale::log_ticks(scale_y.domain(), ((plot.height / 34.0) as usize).clamp(2, 7));
    let y_ticks = y_ticks
        .iter()
        .map(|&tick| (tick, wavelength_text(tick)))
        .collect();
    frame::y_axis(scene, style, plot, &scale_y, &Axis::new(y_ticks, "").with_grid());
    let step = waves.len().div_ceil(frame::most_ticks(plot.width, 26.0));
    let pairs = (0..waves.len()).step_by(step);
    let x_ticks = pairs.map(|pair| (pair as f64 + 0.5, pair.to_string())).collect();
    frame::x_axis(
        scene,
        style,
        plot,
        &x,
        &Axis::new(x_ticks, words.say("pair_axis")),
    );

    let (mut ends, mut lines) = (Vec::new(), Vec::new());
    for (index, (at, label)) in marks.iter().enumerate() {
        let at = style.snap_hair(scale_y.px_clamped(*at));
        let (from, to) = ([plot.x, at], [plot.right(), at]);
        lines.push(at);
        if index == 0 {
            frame::mark_line(scene, style, from, to, false);
        } else {
            scene.line([from, to], Stroke::new(ink.muted, style.hair()));
        }
        ends.push(EndLabel {
            at: to,
            text: label.clone(),
            colour: if index == 0 { ink.strong } else { ink.muted },
            strong: index == 0,
        });
    }

    let strong = encoding_colour("rotary", style.theme);
    let pale = strong.mix(ink.paper, 0.55);
    let band = plot.width / waves.len() as f64;
    let radius = (band * 0.3).clamp(1.0, 5.0);
    let labels: Vec<String> = waves.iter().map(|&wave| wavelength_text(wave)).collect();
    let widest = labels.iter().map(|label| text::width(label, style.small_px()));
    let labelled = widest.fold(0.0, f64::max) + 4.0 < band && plot.height > 60.0;
    for (pair, (&wave, label)) in waves.iter().zip(labels).enumerate() {
        let [at_x, at_y] = [x.px(pair as f64 + 0.5), scale_y.px_clamped(wave)];
        let is_slow = figure.is_slow(wave);
        let (colour, width) = if is_slow { (strong, 2.0f64) } else { (pale, 1.25) };
        let stroke = Stroke::new(colour, width.min(band * 0.5));
        scene.line([[at_x, plot.bottom()], [at_x, at_y]], stroke);
        scene.disc([at_x, at_y], radius, colour);
        if labelled {
            let middle = at_y - radius - size * 0.8;
            let (width, height) = (text::width(&label, style.small_px()), size * 1.2);
            // Where a line passes, the number has ground of its own.
            if lines.iter().any(|line| (line - middle).abs() < height / 2.0) {
                let ground = Rect {
                    x: at_x - width / 2.0 - 2.0,
                    y: middle - height / 2.0,
                    width: width + 4.0,
                    height,
                };
                scene.rect(ground, ink.paper);
            }
            let words = frame::words(style, at_x, middle, label, Align::Centre);
            scene.text(Text {
                size: style.small_px(),
                colour: if is_slow { ink.strong } else { ink.muted },
                bold: is_slow,
                ..words
            });
        }
    }
    curves::end_labels(scene, style, plot, ends, &[]);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Strip, 0, plot, &x, &scale_y));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Figure, compose, readout};

    fn figure() -> Wavelengths {
        Wavelengths {
            d_head: 24,
            base: 10_000.0,
            trained_length: 128,
            length: 512,
        }
    }

    #[test]
    fn wavelengths_and_turns_are_those_of_the_paper() {
        let table = figure().table(&[], Words::of("en"));
        assert_eq!(table.rows.len(), 12);
        for (pair, row) in table.rows.iter().enumerate() {
            let wave = TAU * 10_000f64.powf(pair as f64 / 12.0);
            for (cell, expected) in row.iter().zip([pair as f64, TAU / wave, wave, 128.0 / wave]) {
                let crate::figure::Cell::Number(found) = cell else {
                    panic!("{cell:?}")
                };
                assert!((found - expected).abs() <= expected * 1e-12, "{found} {expected}");
            }
        }
    }

    #[test]
    fn the_readout_and_the_sentence_say_which_pairs_complete_a_turn() {
        // 2π · 10000^(c/12) > 128 from c = 12 · log(128/2π) / log 10000 = 3.93 on: pairs 4 … 11.
        let figure = Figure::Wavelengths(figure());
        let scene = compose(&figure, &[], &Style::default()).unwrap();
        let sentence = "8 of 12 pairs never complete a turn within L";
        let is_said =
            |mark: &super::super::scene::Mark| format!("{mark:?}").contains(&format!("{sentence:?}"));
        assert!(scene.marks.iter().any(is_said));
        let plot = &scene.geometry.plots[0];
        let place = [plot.x + plot.width * 3.5 / 12.0, plot.y + plot.height / 2.0];
        // 2π · 10 tokens
        assert_eq!(
            readout(&figure, &[], &scene.geometry, place, "en").unwrap(),
            "pair 3: 62.8 tokens a turn, 2.04 turns within L = 128"
        );
    }
}
