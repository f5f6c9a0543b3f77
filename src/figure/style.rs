use super::colour::Rgb;
use super::words::{DEFAULT_LOCALE, Words};
use serde::{Deserialize, Serialize};

/// How a figure is drawn: its size, sharpness and colours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Style {
    /// CSS px
    pub width: f64,
    /// CSS px
    pub height: f64,
    /// Device pixels a CSS px.
    pub pixel_ratio: f64,
    pub theme: Theme,
    /// Quiet words and lines as strong as the others, for readers who ask for more contrast.
    pub high_contrast: bool,
    /// A CSS font family list.
    pub font: String,
    /// Of the axes' numbers, in CSS px; chosen from the width where it is absent.
    pub font_size: Option<f64>,
    /// Whether the paper is painted; without it the figure is transparent.
    pub background: bool,
    /// Who draws has the cells of heat maps as a picture; the figure is what stands around them.
    #[serde(skip)]
    pub cells_elsewhere: bool,
    /// The language of its words, such as "en" or "zh-Hant".
    pub locale: String,
}

/// Dark ink on light paper, or the other way round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Theme {
    #[default]
    Light,
    Dark,
}

impl Default for Style {
    fn default() -> Self {
        Self {
            width: 720.0,
            height: 400.0,
            pixel_ratio: 1.0,
            theme: Theme::Light,
            high_contrast: false,
            font: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif".into(),
            font_size: None,
            background: false,
            cells_elsewhere: false,
            locale: DEFAULT_LOCALE.into(),
        }
    }
}

/// The largest side of a figure, in CSS px.
pub const SIDE_MAX_PX: f64 = 8192.0;

impl Style {
    /// The size of the axes' numbers and of most words, CSS px.
    pub fn text_px(&self) -> f64 {
        let usual = if self.width < 480.0 { 11.0 } else { 12.0 };
        self.font_size
            .filter(|size| size.is_finite())
            .map_or(usual, |size| size.clamp(6.0, 40.0))
    }

    /// The size of labels that must fit into small places, CSS px.
    pub(crate) fn small_px(&self) -> f64 {
        (self.text_px() - 1.0).max(5.0)
    }

    /// The words of the style's language.
    pub(crate) fn words(&self) -> &'static Words {
        Words::of(&self.locale)
    }

    pub(crate) fn ink(&self) -> &'static Ink {
        match (self.theme, self.high_contrast) {
            (Theme::Light, false) => &LIGHT,
            (Theme::Light, true) => &LIGHT_HIGH,
            (Theme::Dark, false) => &DARK,
            (Theme::Dark, true) => &DARK_HIGH,
        }
    }

    /// Moves a coordinate to the nearest border between device pixels.
    pub(crate) fn snap(&self, px: f64) -> f64 {
        (px * self.pixel_ratio).round() / self.pixel_ratio
    }

    /// The thinnest line that is sharp: one device pixel, or the nearest whole number to 1 CSS px.
    pub(crate) fn hair(&self) -> f64 {
        self.pixel_ratio.round().max(1.0) / self.pixel_ratio
    }

    /// Where a hair line near `px` is sharp: on a pixel border if it is an even number of pixels wide,
    /// else in the middle of a pixel.
    pub(crate) fn snap_hair(&self, px: f64) -> f64 {
        let odd = (self.hair() * self.pixel_ratio).round() as i64 % 2 != 0;
        let shift = if odd { 0.5 } else { 0.0 };
        ((px * self.pixel_ratio - shift).round() + shift) / self.pixel_ratio
    }
}

/// The neutral colours of a theme.
pub(crate) struct Ink {
    pub paper: Rgb,
    /// Words and marks that carry the message.
    pub strong: Rgb,
    /// Axes' numbers and notes; 4.5 : 1 on the paper.
    pub muted: Rgb,
    /// Lines of the axes.
    pub axis: Rgb,
    pub grid: Rgb,
    /// Cells that causal attention never looks at.
    pub masked: Rgb,
    /// What is not a number, or was never trained.
    pub undefined: Rgb,
    /// The query's hand and other first things of two.
    pub first: Rgb,
    /// The key's hand and other second things of two.
    pub second: Rgb,
}

const LIGHT: Ink = Ink {
    paper: Rgb(255, 255, 255),
    strong: Rgb(28, 32, 38),
    muted: Rgb(88, 96, 106),
    axis: Rgb(150, 157, 166),
    grid: Rgb(232, 235, 239),
    masked: Rgb(246, 247, 248),
    undefined: Rgb(221, 224, 229),
    first: Rgb(22, 100, 192),
    second: Rgb(201, 72, 11),
};

const LIGHT_HIGH: Ink = Ink {
    strong: Rgb(0, 0, 0),
    muted: Rgb(20, 24, 30),
    axis: Rgb(40, 46, 54),
    grid: Rgb(176, 182, 190),
    masked: Rgb(238, 239, 241),
    undefined: Rgb(190, 195, 202),
    first: Rgb(6, 62, 132),
    second: Rgb(148, 46, 0),
    ..LIGHT
};

const DARK: Ink = Ink {
    paper: Rgb(20, 23, 28),
    strong: Rgb(233, 236, 240),
    muted: Rgb(160, 168, 179),
    axis: Rgb(100, 108, 119),
    grid: Rgb(41, 46, 54),
    masked: Rgb(27, 31, 37),
    undefined: Rgb(58, 63, 72),
    first: Rgb(106, 176, 255),
    second: Rgb(255, 138, 80),
};

const DARK_HIGH: Ink = Ink {
    paper: Rgb(8, 10, 13),
    strong: Rgb(255, 255, 255),
    muted: Rgb(232, 236, 241),
    axis: Rgb(200, 206, 214),
    grid: Rgb(92, 100, 110),
    ..DARK
};
