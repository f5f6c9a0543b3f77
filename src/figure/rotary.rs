use super::error::FigureError;
use super::frame;
use super::geometry::{Plot, PlotKind, Rect};
use super::scale::Scale;
use super::scene::{Align, Scene, Stroke, Text, arc};
use super::style::Style;
use super::{size, text};
use crate::encoding::{Pairing, Positional, Rotary, Shape};
use crate::model::Weights;
use std::f64::consts::{FRAC_PI_2, TAU};

pub(crate) fn encoding(base: f64, pairing: Pairing) -> Rotary {
    Rotary {
        pairing,
        base,
        fraction: 1.0,
    }
}

/// Tokens a full turn of every pair takes, `[d_head / 2]`.
pub(crate) fn wavelengths(rotary: &Rotary, d_head: usize) -> Vec<f64> {
    rotary
        .inv_freq(d_head)
        .iter()
        .map(|frequency| TAU / frequency)
        .collect()
}

/// A wavelength with as many digits as it needs.
pub(crate) fn wavelength_text(tokens: f64) -> String {
    if tokens < 100.0 {
        text::number(tokens, 3)
    } else {
        text::count(tokens.round() as usize)
    }
}

pub(crate) fn compose(
    scene: &mut Scene,
    style: &Style,
    rotary: &Rotary,
    d_head: usize,
    [query, key]: [usize; 2],
    trained: usize,
) -> Result<(), FigureError> {
    size("d_head", d_head)?;
    if d_head > 512 {
        let need = "an even number from 2 to 512";
        return Err(FigureError::Setting {
            what: "d_head",
            value: d_head.to_string(),
            need,
        });
    }
    // The encoding's own checks, by its smallest table.
    rotary.tables(
        &Shape {
            length: 1,
            d_model: d_head,
            heads: 1,
            d_head,
        },
        &Weights::default(),
    )?;
    let frequencies = rotary.inv_freq(d_head);
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
    Ok(())
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
    let (ink, size) = (style.ink(), style.text_px());
    let distance = query as i64 - key as i64;
    let entries = [
        (Some(ink.first), format!("query at m = {}", text::count(query))),
        (Some(ink.second), format!("key at n = {}", text::count(key))),
        (
            Some(ink.strong),
            format!("angle (m − n)·θ, m − n = {}", text::number(distance as f64, 7)),
        ),
        (
            None,
            format!(
                "λ: tokens a turn; grey: angles seen within L = {}; bold: no full turn within L",
                text::count(trained)
            ),
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
    }
}
