//! Every colour that carries a meaning: one an encoding, one sequential and one signed scale.
//! All are told apart with the common colour blindnesses; scales change in lightness throughout.

use super::Theme;
use super::measured::base_of;
use serde::{Deserialize, Serialize};

/// Red, green and blue in sRGB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl Rgb {
    /// `#rrggbb`
    pub fn hex(self) -> String {
        format!("#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }

    /// This colour moved towards `other`; `share` from 0 to 1.
    pub(crate) fn mix(self, other: Self, share: f64) -> Self {
        let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * share).round() as u8;
        Self(mix(self.0, other.0), mix(self.1, other.1), mix(self.2, other.2))
    }

    /// Relative luminance (WCAG 2.2), 0 to 1.
    pub(crate) fn luminance(self) -> f64 {
        let linear = |channel: u8| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.040_45 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }
}

/// The colour of an encoding by its name; grey for an unknown one. Models and variants of an encoding have its
/// colour: `rotary-l64` and `rotary?scaling=yarn` that of `rotary`.
pub fn encoding_colour(name: &str, theme: Theme) -> Rgb {
    let (light, dark) = match base_of(name) {
        "learned" => (Rgb(168, 50, 121), Rgb(240, 140, 200)),
        "sinusoidal" => (Rgb(201, 72, 11), Rgb(255, 138, 80)),
        "rotary" => (Rgb(0, 122, 92), Rgb(62, 207, 159)),
        "t5_bias" => (Rgb(146, 103, 0), Rgb(233, 185, 73)),
        "alibi" => (Rgb(22, 100, 192), Rgb(106, 176, 255)),
        "kerple" => (Rgb(14, 116, 144), Rgb(94, 219, 235)),
        "sandwich" => (Rgb(150, 75, 60), Rgb(222, 165, 143)),
        "xpos" => (Rgb(85, 119, 13), Rgb(172, 214, 75)),
        "randomized" => (Rgb(109, 70, 190), Rgb(183, 156, 255)),
        _ => (Rgb(104, 112, 122), Rgb(156, 163, 175)),
    };
    match theme {
        Theme::Light => light,
        Theme::Dark => dark,
    }
}

/// Which of the two scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ramp {
    /// From the paper to full colour.
    Sequential,
    /// Blue below zero, orange above, the paper at zero.
    Signed,
}

/// A scale as 256 colours, so that a heat map costs one look-up a cell.
pub(crate) struct Colours([Rgb; 256]);

impl Colours {
    pub fn new(ramp: Ramp, theme: Theme) -> Self {
        let anchors = match (ramp, theme) {
            (Ramp::Sequential, Theme::Light) => &SEQUENTIAL_LIGHT,
            (Ramp::Sequential, Theme::Dark) => &SEQUENTIAL_DARK,
            (Ramp::Signed, Theme::Light) => &SIGNED_LIGHT,
            (Ramp::Signed, Theme::Dark) => &SIGNED_DARK,
        };
        let last = anchors.len() - 1;
        Self(std::array::from_fn(|index| {
            let at = index as f64 / 255.0 * last as f64;
            let below = (at as usize).min(last - 1);
            anchors[below].mix(anchors[below + 1], at - below as f64)
        }))
    }

    /// A scale of other colours; `colour` takes places from 0 to 1.
    pub fn from_fn(mut colour: impl FnMut(f64) -> Rgb) -> Self {
        Self(std::array::from_fn(|index| colour(index as f64 / 255.0)))
    }

    /// The colour at `t` from 0 to 1; outside it, the nearest end.
    pub fn at(&self, t: f64) -> Rgb {
        self.0[Self::place(t)]
    }

    /// Which of the colours that is.
    pub fn place(t: f64) -> usize {
        (t.clamp(0.0, 1.0) * 255.0).round() as usize
    }

    /// All colours of the scale, in order.
    #[cfg(any(target_arch = "wasm32", test))]
    pub fn all(&self) -> &[Rgb] {
        &self.0
    }
}

const SEQUENTIAL_LIGHT: [Rgb; 9] = [
    Rgb(236, 243, 249),
    Rgb(212, 228, 242),
    Rgb(178, 209, 233),
    Rgb(136, 185, 220),
    Rgb(91, 157, 205),
    Rgb(53, 127, 187),
    Rgb(26, 97, 163),
    Rgb(12, 67, 124),
    Rgb(8, 38, 80),
];
const SEQUENTIAL_DARK: [Rgb; 9] = [
    Rgb(24, 36, 51),
    Rgb(22, 54, 82),
    Rgb(22, 75, 112),
    Rgb(26, 99, 143),
    Rgb(40, 126, 170),
    Rgb(70, 156, 192),
    Rgb(116, 187, 210),
    Rgb(173, 217, 226),
    Rgb(236, 248, 243),
];
const SIGNED_LIGHT: [Rgb; 9] = [
    Rgb(10, 58, 116),
    Rgb(40, 106, 172),
    Rgb(105, 163, 208),
    Rgb(180, 209, 230),
    Rgb(246, 245, 242),
    Rgb(246, 205, 164),
    Rgb(231, 152, 82),
    Rgb(194, 98, 25),
    Rgb(126, 56, 5),
];
const SIGNED_DARK: [Rgb; 9] = [
    Rgb(176, 217, 255),
    Rgb(108, 174, 232),
    Rgb(60, 125, 184),
    Rgb(37, 78, 117),
    Rgb(30, 34, 41),
    Rgb(110, 66, 30),
    Rgb(180, 110, 45),
    Rgb(234, 160, 80),
    Rgb(255, 219, 168),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::NAMES;
    use crate::figure::Style;

    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let (a, b) = (a.luminance(), b.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn every_encoding_has_its_own_readable_colour() {
        for theme in [Theme::Light, Theme::Dark] {
            let paper = Style {
                theme,
                ..Style::default()
            }
            .ink()
            .paper;
            let mut seen = Vec::new();
            for name in NAMES {
                let colour = encoding_colour(name, theme);
                assert!(
                    contrast(colour, paper) >= 4.5,
                    "the colour of {name} is too near to the paper ({theme:?}, a contrast of {}, 4.5 is needed): \
                     change it in encoding_colour in src/figure/colour.rs",
                    contrast(colour, paper)
                );
                assert!(
                    !seen.contains(&colour),
                    "the encoding {name} has another's colour: give it one of its own, for light and dark, in \
                     encoding_colour in src/figure/colour.rs"
                );
                seen.push(colour);
            }
        }
    }

    #[test]
    fn the_sequential_scale_changes_steadily_in_lightness() {
        for theme in [Theme::Light, Theme::Dark] {
            let colours = Colours::new(Ramp::Sequential, theme);
            let lightness: Vec<f64> = (0..=16)
                .map(|i| colours.at(f64::from(i) / 16.0).luminance())
                .collect();
            let falls = theme == Theme::Light;
            assert!(
                lightness.windows(2).all(|pair| (pair[1] < pair[0]) == falls),
                "{lightness:?}"
            );
        }
    }

    #[test]
    fn the_signed_scale_is_neutral_at_zero_and_blue_below() {
        for theme in [Theme::Light, Theme::Dark] {
            let colours = Colours::new(Ramp::Signed, theme);
            let (low, zero, high) = (colours.at(0.0), colours.at(0.5), colours.at(1.0));
            assert!(low.2 > low.0 && high.0 > high.2);
            assert!(zero.0.abs_diff(zero.2) < 16);
            assert_eq!(colours.at(-3.0), low);
        }
    }
}
