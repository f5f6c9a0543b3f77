use super::chart::{At, Chart};
use super::error::FigureError;
use super::frame::{self, Axis, Margins};
use super::geometry::{Plot, PlotKind, Rect};
use super::measured::{Curve, Measured, Names};
use super::rotary::{check_rotary, wavelength_text};
use super::scale::{self, Scale, within};
use super::scene::{Align, Scene, Text};
use super::settings::usual_base;
use super::style::Style;
use super::table::Table;
use super::text;
use super::words::Words;
use crate::encoding::{Scaling, ScalingMethod};
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// What the methods that stretch a trained rotary encoding make of each pair's frequency. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RotaryMethods {
    pub d_head: usize,
    #[serde(default = "usual_base")]
    pub base: f64,
    pub trained_length: usize,
    /// T; the methods stretch by s = T/L.
    pub length: usize,
    /// s in place of T/L.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factor: Option<f64>,
    /// Pairs that turn more often than this within L keep their frequency (by parts, YaRN).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta_fast: Option<f64>,
    /// Pairs that turn less often than this are stretched in full (by parts, YaRN).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beta_slow: Option<f64>,
}

/// The methods and their words. Dynamic NTK is NTK with s = T/L, once T is past L.
const METHODS: [(&str, ScalingMethod); 5] = [
    ("method_pi", ScalingMethod::Pi),
    ("method_ntk", ScalingMethod::Ntk),
    ("method_by_parts", ScalingMethod::ByParts),
    ("method_yarn", ScalingMethod::Yarn),
    ("method_llama3", ScalingMethod::Llama3),
];

impl RotaryMethods {
    fn factor(&self) -> f64 {
        let stretch = (self.length as f64 / self.trained_length as f64).max(1.0);
        self.factor.unwrap_or(stretch)
    }

    fn scaling(&self, method: ScalingMethod) -> Scaling {
        let usual = Scaling::default();
        Scaling {
            method,
            original_length: self.trained_length,
            factor: Some(self.factor()),
            beta_fast: self.beta_fast.unwrap_or(usual.beta_fast),
            beta_slow: self.beta_slow.unwrap_or(usual.beta_slow),
            ..usual
        }
    }

    /// Radians a token without any method, `[pairs]`: those of a sequence that needs no stretching.
    fn plain(&self) -> Vec<f64> {
        let scaling = Scaling {
            factor: Some(1.0),
            ..self.scaling(ScalingMethod::Pi)
        };
        let plain = scaling.frequencies(self.base, self.d_head, self.length);
        plain.map_or(Vec::new(), |(frequencies, _)| frequencies)
    }

    /// A method's frequency of every pair divided by the plain one.
    fn ratios(&self, method: ScalingMethod) -> Vec<f64> {
        let scaled = self
            .scaling(method)
            .frequencies(self.base, self.d_head, self.length);
        let scaled = scaled.map_or(Vec::new(), |(frequencies, _)| frequencies);
        scaled
            .into_iter()
            .zip(self.plain())
            .map(|(scaled, plain)| scaled / plain)
            .collect()
    }

    /// What YaRN multiplies scores by.
    fn sharpening(&self) -> f64 {
        let yarn = self.scaling(ScalingMethod::Yarn);
        let scaled = yarn.frequencies(self.base, self.d_head, self.length);
        scaled.map_or(f64::NAN, |(_, factor)| factor * factor)
    }

    fn title(&self, name: &str, words: &Words) -> String {
        let title = words.say(name).to_string();
        match name {
            "method_yarn" => words.fill(
                "method_scores",
                &[
                    ("method", &title),
                    ("factor", &text::number(self.sharpening(), 3)),
                ],
            ),
            _ => title,
        }
    }

    fn curves(&self, words: &Words) -> Vec<Curve> {
        let curve = |(style, (name, method)): (usize, &(&str, ScalingMethod))| {
            let ratios = self.ratios(*method).into_iter().enumerate();
            let points = ratios.map(|(pair, ratio)| Measured {
                x: pair as f64,
                y: ratio,
                error: f64::NAN,
                other: f64::NAN,
            });
            Curve {
                name: "rotary".into(),
                title: self.title(name, words),
                style,
                strong: false,
                points: points.collect(),
            }
        };
        METHODS.iter().enumerate().map(curve).collect()
    }

    /// The number of the pair, between two, that completes one turn within L.
    fn one_turn(&self) -> f64 {
        self.d_head as f64 * (self.trained_length as f64 / TAU).ln() / (2.0 * self.base.ln())
    }
}

impl Chart for RotaryMethods {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn check(&self) -> Result<(), FigureError> {
        check_rotary(self.d_head, self.base)?;
        for (_, method) in METHODS {
            let scaling = self.scaling(method);
            scaling.frequencies(self.base, self.d_head, self.length)?;
        }
        Ok(())
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let plain = self.plain();
        let pair = at.position(plain.len());
        let wave = TAU / plain.get(pair)?;
        let says: Vec<String> = METHODS
            .iter()
            .filter_map(|(name, method)| {
                let ratio = text::number(*self.ratios(*method).get(pair)?, 3);
                Some([words.say(name), " ", &ratio].concat())
            })
            .collect();
        Some(words.fill(
            "read_rotary_methods",
            &[
                ("pair", &pair),
                ("wavelength", &wavelength_text(wave)),
                ("turns", &text::number(self.trained_length as f64 / wave, 3)),
                ("trained", &text::count(self.trained_length)),
                ("says", &says.join(", ")),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let plain = self.plain();
        let slow = |frequency: &&f64| TAU / **frequency > self.trained_length as f64;
        let kept: Vec<String> = METHODS
            .iter()
            .map(|(name, method)| {
                let ratios = self.ratios(*method);
                let count = |is: &dyn Fn(f64) -> bool| ratios.iter().filter(|ratio| is(**ratio)).count();
                let stretched = 1.0 / self.factor();
                words.fill(
                    "sum_method",
                    &[
                        ("method", &self.title(name, words)),
                        ("kept", &count(&|ratio| ratio > 1.0 - 1e-9)),
                        ("full", &count(&|ratio| ratio < stretched + 1e-9)),
                    ],
                )
            })
            .collect();
        words.fill(
            "sum_rotary_methods",
            &[
                ("factor", &text::number(self.factor(), 4)),
                ("pairs", &plain.len()),
                ("slow", &plain.iter().filter(slow).count()),
                ("trained", &text::count(self.trained_length)),
                ("says", &kept.join(words.say("list_separator"))),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let keys = ["col_pair", "col_frequency", "col_wavelength", "col_turns"];
        let columns = keys.map(|key| words.say(key).to_string()).into_iter();
        let methods =
            METHODS.map(|(name, _)| words.fill("col_factor", &[("method", &self.title(name, words))]));
        let mut table = Table::new(columns.chain(methods));
        let ratios = METHODS.map(|(_, method)| self.ratios(method));
        for (pair, plain) in self.plain().into_iter().enumerate() {
            let turns = self.trained_length as f64 * plain / TAU;
            let own = [pair as f64, plain, TAU / plain, turns].into_iter();
            let ratios = ratios
                .iter()
                .map(|ratios| ratios.get(pair).copied().unwrap_or(f64::NAN));
            table.row(own.chain(ratios).map(Into::into));
        }
        table
    }
}

fn compose(scene: &mut Scene, style: &Style, figure: &RotaryMethods) {
    let (words, ink, size) = (style.words(), style.ink(), style.text_px());
    let curves = figure.curves(words);
    // All but a few end at 1/s.
    let names = Names::key(&curves, style);
    let [right, above] = names.room(&curves, style);
    let plot = frame::inside(
        style,
        Margins {
            left: 40.0,
            right: right.max(24.0),
            top: above + size * 4.6,
            bottom: size * 2.6 + 14.0,
        },
    );
    let plain = figure.plain();
    let pairs = plain.len();
    let x = Scale::linear([-0.4, pairs as f64 - 0.6], [plot.x, plot.right()]);
    let lowest = (1.0 / figure.factor()).min(0.8);
    let y = Scale::log([lowest / 1.15, 1.12], [plot.bottom(), plot.y]);

    // Pairs to the right of the mark never complete a turn within L.
    let turn = figure.one_turn();
    let at = within(x.px(turn), plot.x, plot.right());
    let slow = Rect {
        x: at,
        width: plot.right() - at,
        ..plot
    };
    scene.rect(slow, ink.masked);
    frame::heading(
        scene,
        style,
        0.0,
        above + size * 0.7,
        words.say("method_factor_up"),
    );
    let most = ((plot.height / 26.0) as usize).clamp(3, 8);
    let y_ticks = frame::number_ticks(&scale::log_ticks(y.domain(), most));
    frame::y_axis(scene, style, plot, &y, &Axis::new(y_ticks, "").with_grid());
    let most = frame::most_ticks(plot.width, 52.0);
    let ticks = scale::linear_ticks([0.0, (pairs - 1) as f64], most);
    let ticks: Vec<f64> = ticks.into_iter().filter(|tick| tick.fract() == 0.0).collect();
    let x_axis = Axis::new(frame::count_ticks(&ticks), words.say("pair_axis"));
    frame::x_axis(scene, style, plot, &x, &x_axis);
    // Over the numbers of the pairs their wavelengths.
    let row = plot.y - size * 0.8;
    let mut free = 0.0;
    for tick in ticks {
        let Some(frequency) = plain.get(tick as usize) else {
            continue;
        };
        let label = ["λ ", &wavelength_text(TAU / frequency)].concat();
        let half = text::width(&label, style.small_px()) / 2.0;
        let middle = within(x.px(tick), half, style.width - half);
        if middle - half < free {
            continue;
        }
        free = middle + half + size * 0.6;
        let label = frame::words(style, middle, row, label, Align::Centre);
        scene.text(Text {
            size: style.small_px(),
            ..label
        });
    }
    if x.contains(turn) {
        let at = style.snap_hair(at);
        frame::mark_line(scene, style, [at, plot.y], [at, plot.bottom()], false);
        let label = words.fill("one_turn", &[("trained", &text::count(figure.trained_length))]);
        let half = text::width(&label, size) / 2.0 + 2.0;
        let middle = within(at, half, style.width - half);
        let label = frame::words(style, middle, row - size * 1.5, label, Align::Centre);
        scene.text(Text {
            colour: ink.strong,
            bold: true,
            ..label
        });
    }
    names.draw(scene, style, plot, [&x, &y], &curves);
    scene
        .geometry
        .plots
        .push(Plot::new(PlotKind::Curves, 0, plot, &x, &y));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factors_are_those_of_the_papers() {
        let figure = RotaryMethods {
            d_head: 32,
            base: 1e4,
            trained_length: 128,
            length: 512,
            factor: None,
            beta_fast: None,
            beta_slow: None,
        };
        assert!(
            figure
                .ratios(ScalingMethod::Pi)
                .iter()
                .all(|ratio| (ratio - 0.25).abs() < 1e-12)
        );
        for (pair, ratio) in figure.ratios(ScalingMethod::Ntk).into_iter().enumerate() {
            // base·s^(d/(d−2)) in place of the base.
            let base = 1e4f64 * 4f64.powf(32.0 / 30.0);
            let expected = (1e4 / base).powf(2.0 * pair as f64 / 32.0);
            assert!((ratio - expected).abs() < 1e-9, "{pair}: {ratio} {expected}");
        }
        for (pair, ratio) in figure.ratios(ScalingMethod::Llama3).into_iter().enumerate() {
            let turns = 128.0 / (TAU * 1e4f64.powf(pair as f64 / 16.0));
            let kept = ((turns - 1.0) / 3.0).clamp(0.0, 1.0);
            let expected = (1.0 - kept) / 4.0 + kept;
            assert!((ratio - expected).abs() < 1e-9, "{pair}: {ratio} {expected}");
        }
        // Ten of sixteen pairs never complete a turn: those from pair 6 on.
        assert!((5.0..6.0).contains(&figure.one_turn()), "{}", figure.one_turn());
        assert!((figure.sharpening() - (0.1 * 4f64.ln() + 1.0).powi(2)).abs() < 1e-12);
    }
}
