use super::chart::{At, Chart};
use super::error::FigureError;
use super::frame;
use super::geometry::{Plot, PlotKind, Rect};
use super::scale::Scale;
use super::scene::{Align, Scene, Stroke, Text, arc};
use super::settings::{positions, usual_base};
use super::style::Style;
use super::table::Table;
use super::words::Words;
use super::{at_most, text};
use crate::encoding::{Pairing, Positional, Rotary as Encoding, Shape};
use crate::model::Weights;
use serde::{Deserialize, Serialize};
use std::f64::consts::{FRAC_PI_2, TAU};

/// One dial for each pair of dimensions, with the hands of a query at position `query` and a key at position
/// `key`, and the angle between them. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rotary {
    pub d_head: usize,
    #[serde(default = "usual_base")]
    pub base: f64,
    #[serde(default)]
    pub pairing: Pairing,
    pub query: usize,
    pub key: usize,
    pub trained_length: usize,
}

/// # Errors
/// Dimensions that cannot be paired, or a base that makes no frequencies.
pub(super) fn check_rotary(d_head: usize, base: f64) -> Result<(), FigureError> {
    at_most("d_head", d_head, 512, "an even number from 2 to 512")?;
    // The encoding's own checks, by its smallest table.
    let shape = Shape {
        length: 1,
        d_model: d_head,
        heads: 1,
        d_head,
    };
    encoding(base, Pairing::default()).tables(&shape, &Weights::default())?;
    Ok(())
}

/// The two dimensions that a pair turns.
pub(super) fn dimensions_of(pair: usize, d_head: usize, pairing: Pairing) -> [usize; 2] {
    match pairing {
        Pairing::Halves => [pair, pair + d_head / 2],
        Pairing::Interleaved => [2 * pair, 2 * pair + 1],
    }
}

/// The pair that turns a dimension.
pub(super) fn pair_of(dimension: usize, d_head: usize, pairing: Pairing) -> usize {
    match pairing {
        Pairing::Halves => dimension % (d_head / 2),
        Pairing::Interleaved => dimension / 2,
    }
}

impl Chart for Rotary {
    fn lengths(&self) -> (usize, Option<usize>) {
        (1, Some(self.trained_length))
    }

    fn check(&self) -> Result<(), FigureError> {
        positions(self.query, self.key)?;
        check_rotary(self.d_head, self.base)
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let pair = at.plot.index;
        let wave = *wavelengths(&encoding(self.base, self.pairing), self.d_head).get(pair)?;
        let turns = (self.query as f64 - self.key as f64) / wave;
        let whole = if wave > self.trained_length as f64 {
            words.say("read_no_turn")
        } else {
            ""
        };
        let [first, second] = dimensions_of(pair, self.d_head, self.pairing);
        Some(words.fill(
            "read_dial",
            &[
                ("pair", &pair),
                ("first", &first),
                ("second", &second),
                ("wavelength", &wavelength_text(wave)),
                ("whole", &whole),
                ("turns", &text::number(turns, 3)),
                ("degrees", &text::number((turns * 360.0) % 360.0, 4)),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let waves = wavelengths(&encoding(self.base, self.pairing), self.d_head);
        let slow = waves
            .iter()
            .filter(|wave| **wave > self.trained_length as f64)
            .count();
        words.fill(
            "sum_rotary",
            &[
                ("pairs", &waves.len()),
                ("query", &text::count(self.query)),
                ("key", &text::count(self.key)),
                ("distance", &text::number(self.query as f64 - self.key as f64, 7)),
                ("slow", &slow),
                ("trained", &text::count(self.trained_length)),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let keys = [
            "col_pair",
            "col_first",
            "col_second",
            "col_frequency",
            "col_wavelength",
            "col_angle",
        ];
        let mut table = Table::new(keys.map(|key| words.say(key)));
        let frequencies = encoding(self.base, self.pairing).inv_freq(self.d_head);
        for (pair, frequency) in frequencies.into_iter().enumerate() {
            let [first, second] = dimensions_of(pair, self.d_head, self.pairing);
            let angle = (self.query as f64 - self.key as f64) * frequency;
            table.row([
                pair.into(),
                first.into(),
                second.into(),
                frequency.into(),
                (TAU / frequency).into(),
                angle.into(),
            ]);
        }
        table
    }
}

pub(crate) fn encoding(base: f64, pairing: Pairing) -> Encoding {
    Encoding {
        pairing,
        base,
        ..Encoding::default()
    }
}

/// Tokens a full turn of every pair takes, `[d_head / 2]`.
pub(crate) fn wavelengths(rotary: &Encoding, d_head: usize) -> Vec<f64> {
    rotary
        .inv_freq(d_head)
        .iter()
        .map(|frequency| TAU / frequency)
        .collect()
}

/// A wavelength with as many digits as it needs.
pub(crate) fn wavelength_text(tokens: f64) -> String {
    // Beyond a thousand million a power of ten reads better, and a count would not fit the browser's usize.
    if (100.0..1e9).contains(&tokens) {
        text::count(tokens.round() as usize)
    } else {
        text::number(tokens, 3)
    }
}

fn compose(scene: &mut Scene, style: &Style, figure: &Rotary) {
    let (query, key, trained) = (figure.query, figure.key, figure.trained_length);
    let frequencies = encoding(figure.base, figure.pairing).inv_freq(figure.d_head);
    let (ink, text_px) = (style.ink(), style.text_px());
    let top = legend(scene, style, [query, key], trained) + 8.0;
    let gap = [
        if style.width < 480.0 { 10.0 } else { 24.0 },
        text_px * 1.7 + 12.0,
    ];
    let (columns, side) = frame::grid(
        frequencies.len(),
        style.width - 4.0,
        style.height - top - 4.0,
        gap,
    );
    let side = side.min(190.0);
    let left = ((style.width - columns as f64 * (side + gap[0]) + gap[0]) / 2.0).max(2.0);

    for (pair, frequency) in frequencies.iter().enumerate() {
        let (row, column) = (pair / columns, pair % columns);
        let rect = Rect {
            x: left + column as f64 * (side + gap[0]),
            y: top + row as f64 * (side + gap[1]),
            width: side,
            height: side,
        };
        let wavelength = TAU / frequency;
        dial(
            scene,
            style,
            rect,
            [query as f64 * frequency, key as f64 * frequency],
            trained as f64 * frequency,
        );
        let incomplete = wavelength > trained as f64;
        let value = wavelength_text(wavelength);
        let mut label = format!("λ = {value}");
        if incomplete && text::width(&label, text_px) * 1.5 < side {
            label.push_str(" > L");
        }
        if text::width(&label, text_px) > side + gap[0] - 2.0 {
            label = value;
        }
        let fit = ((side + gap[0] - 2.0) / text::width(&label, text_px)).clamp(0.6, 1.0);
        let words = frame::words(
            style,
            rect.x + side / 2.0,
            rect.bottom() + text_px * 0.9,
            label,
            Align::Centre,
        );
        let colour = if incomplete { ink.strong } else { ink.muted };
        scene.text(Text {
            colour,
            bold: incomplete,
            size: text_px * fit,
            ..words
        });
        let unit = Scale::linear([-1.0, 1.0], [rect.x, rect.right()]);
        scene
            .geometry
            .plots
            .push(Plot::new(PlotKind::Dial, pair, rect, &unit, &unit));
    }
}

/// One clock face. Angles start at the top and go clockwise, as on a clock.
fn dial(scene: &mut Scene, style: &Style, rect: Rect, [query, key]: [f64; 2], seen: f64) {
    let ink = style.ink();
    let centre = [rect.x + rect.width / 2.0, rect.y + rect.height / 2.0];
    let radius = rect.width / 2.0 - 1.5;
    let clock = |angle: f64| FRAC_PI_2 - angle;
    let point = |angle: f64, length: f64| {
        let (sine, cosine) = clock(angle).sin_cos();
        [
            centre[0] + radius * length * cosine,
            centre[1] - radius * length * sine,
        ]
    };
    // The part of the turn that training has seen.
    let seen_colour = ink.grid.mix(ink.axis, 0.2);
    if seen >= TAU {
        scene.disc(centre, radius, seen_colour);
    } else {
        scene.disc(centre, radius, ink.masked);
        let mut wedge = arc(centre, radius, clock(0.0), clock(seen));
        wedge.push(centre);
        scene.area(wedge, seen_colour, 1.0);
    }
    let ring = Stroke::new(ink.axis, 1.0);
    scene.ring(
        centre,
        radius,
        if seen >= TAU { ring } else { ring.dashed(3.0, 3.0) },
    );

    // From the key's hand to the query's, without whole turns.
    let between = (query - key) % TAU;
    let wedge_radius = radius * 0.42;
    let mut wedge = arc(centre, wedge_radius, clock(key), clock(key + between));
    scene.line(wedge.clone(), Stroke::new(ink.strong, 1.5));
    wedge.push(centre);
    scene.area(wedge, ink.strong, 0.10);
    for (angle, colour) in [(key, ink.second), (query, ink.first)] {
        scene.line(
            [centre, point(angle, 0.86)],
            Stroke::new(colour, if radius > 24.0 { 2.5 } else { 1.75 }),
        );
        scene.disc(point(angle, 0.86), if radius > 24.0 { 3.5 } else { 2.0 }, colour);
    }
    scene.disc(centre, if radius > 24.0 { 2.5 } else { 1.5 }, ink.strong);
}

/// Draws the legend; its height.
fn legend(scene: &mut Scene, style: &Style, [query, key]: [usize; 2], trained: usize) -> f64 {
    let (ink, size, words) = (style.ink(), style.text_px(), style.words());
    let distance = query as i64 - key as i64;
    let entries = [
        (
            Some(ink.first),
            words.fill("query_at", &[("query", &text::count(query))]),
        ),
        (
            Some(ink.second),
            words.fill("key_at", &[("key", &text::count(key))]),
        ),
        (
            Some(ink.strong),
            words.fill(
                "angle_between",
                &[("distance", &text::number(distance as f64, 7))],
            ),
        ),
        (
            None,
            words.fill("dial_legend", &[("length", &text::count(trained))]),
        ),
    ];
    let (mut x, mut y) = (0.0, size * 0.8);
    for (colour, label) in entries {
        let mark = if colour.is_some() { 22.0 } else { 0.0 };
        let mut lines = vec![label];
        let width = mark + text::width(&lines[0], size);
        if x > 0.0 && x + width > style.width {
            (x, y) = (0.0, y + size * 1.5);
        }
        if width > style.width {
            lines = frame::wrap(&lines[0], style.width - mark, size);
        }
        if let Some(colour) = colour {
            scene.line([[x + 1.0, y], [x + 16.0, y]], Stroke::new(colour, 2.5));
        }
        let last = lines.len() - 1;
        for (index, line) in lines.into_iter().enumerate() {
            scene.text(frame::words(style, x + mark, y, line, Align::Left));
            if index < last {
                y += size * 1.4;
            }
        }
        x += width + 20.0;
    }
    y + size * 0.9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pair_turns_in_two_pi_tokens_and_slow_ones_pass_l() {
        let rotary = encoding(10_000.0, Pairing::Halves);
        let turns = wavelengths(&rotary, 16);
        assert!((turns[0] - TAU).abs() < 1e-12);
        // 5 of 8 pairs never complete a turn within 128 tokens
        assert_eq!(turns.iter().filter(|turn| **turn > 128.0).count(), 5);
        assert_eq!(wavelength_text(turns[0]), "6.28");
        assert_eq!(wavelength_text(19869.2), "19\u{202f}869");
        assert_eq!(wavelength_text(2.5e12), "2.5e12");
    }

    #[test]
    fn a_dimension_belongs_to_the_pair_that_turns_it() {
        for pairing in [Pairing::Halves, Pairing::Interleaved] {
            for pair in 0..6 {
                for dimension in dimensions_of(pair, 12, pairing) {
                    assert_eq!(pair_of(dimension, 12, pairing), pair);
                }
            }
        }
    }
}
