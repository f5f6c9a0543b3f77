//! A figure as a list of marks in CSS px, before any backend draws it.

use super::bitmap::Bitmap;
use super::colour::Rgb;
use super::geometry::{Geometry, Rect};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stroke {
    pub colour: Rgb,
    pub alpha: f64,
    /// CSS px
    pub width: f64,
    /// Lengths of dash and gap, CSS px.
    pub dash: Option<(f64, f64)>,
}

impl Stroke {
    pub fn new(colour: Rgb, width: f64) -> Self {
        Self {
            colour,
            alpha: 1.0,
            width,
            dash: None,
        }
    }

    pub fn alpha(self, alpha: f64) -> Self {
        Self { alpha, ..self }
    }

    pub fn dashed(self, dash: f64, gap: f64) -> Self {
        Self {
            dash: Some((dash, gap)),
            ..self
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Centre,
    Right,
}

/// Words; `y` is the middle of the line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    pub x: f64,
    pub y: f64,
    pub text: String,
    pub size: f64,
    pub colour: Rgb,
    pub align: Align,
    pub bold: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Mark {
    Line {
        points: Vec<[f64; 2]>,
        stroke: Stroke,
    },
    Area {
        points: Vec<[f64; 2]>,
        colour: Rgb,
        alpha: f64,
    },
    Rect {
        rect: Rect,
        colour: Rgb,
    },
    Disc {
        centre: [f64; 2],
        radius: f64,
        colour: Rgb,
    },
    Ring {
        centre: [f64; 2],
        radius: f64,
        stroke: Stroke,
    },
    Text(Text),
    Image {
        rect: Rect,
        bitmap: Bitmap,
    },
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scene {
    pub marks: Vec<Mark>,
    pub geometry: Geometry,
}

impl Scene {
    /// A line through the points; points that are not finite break it.
    pub fn line(&mut self, points: impl IntoIterator<Item = [f64; 2]>, stroke: Stroke) {
        let mut run = Vec::new();
        for point in points {
            if point[0].is_finite() && point[1].is_finite() {
                run.push(point);
            } else {
                self.run(std::mem::take(&mut run), stroke);
            }
        }
        self.run(run, stroke);
    }

    fn run(&mut self, points: Vec<[f64; 2]>, stroke: Stroke) {
        if points.len() < 2 {
            return;
        }
        match stroke.dash {
            None => self.marks.push(Mark::Line { points, stroke }),
            Some((dash, gap)) => {
                for points in dashes(&points, dash, gap) {
                    self.marks.push(Mark::Line { points, stroke });
                }
            }
        }
    }

    pub fn area(&mut self, points: Vec<[f64; 2]>, colour: Rgb, alpha: f64) {
        if points.len() > 2 && points.iter().flatten().all(|at| at.is_finite()) {
            self.marks.push(Mark::Area {
                points,
                colour,
                alpha,
            });
        }
    }

    pub fn rect(&mut self, rect: Rect, colour: Rgb) {
        self.marks.push(Mark::Rect { rect, colour });
    }

    pub fn disc(&mut self, centre: [f64; 2], radius: f64, colour: Rgb) {
        if centre.iter().all(|at| at.is_finite()) {
            self.marks.push(Mark::Disc {
                centre,
                radius,
                colour,
            });
        }
    }

    pub fn ring(&mut self, centre: [f64; 2], radius: f64, stroke: Stroke) {
        match stroke.dash {
            None => self.marks.push(Mark::Ring {
                centre,
                radius,
                stroke,
            }),
            Some(_) => self.line(arc(centre, radius, 0.0, std::f64::consts::TAU), stroke),
        }
    }

    pub fn image(&mut self, rect: Rect, bitmap: Bitmap) {
        self.marks.push(Mark::Image { rect, bitmap });
    }

    pub fn text(&mut self, text: Text) {
        if !text.text.is_empty() {
            self.marks.push(Mark::Text(text));
        }
    }
}

/// Points of an arc, anticlockwise from the right as in mathematics; angles in radians.
pub(crate) fn arc([x, y]: [f64; 2], radius: f64, from: f64, to: f64) -> Vec<[f64; 2]> {
    let steps = ((to - from).abs() / 0.08).ceil().clamp(2.0, 400.0) as usize;
    (0..=steps)
        .map(|step| {
            let angle = from + (to - from) * step as f64 / steps as f64;
            [x + radius * angle.cos(), y - radius * angle.sin()]
        })
        .collect()
}

/// Cuts a line into dashes.
fn dashes(points: &[[f64; 2]], dash: f64, gap: f64) -> Vec<Vec<[f64; 2]>> {
    let mut pieces = Vec::new();
    let mut current = vec![points[0]];
    let (mut drawing, mut left) = (true, dash);
    for pair in points.windows(2) {
        let ([mut x, mut y], [to_x, to_y]) = (pair[0], pair[1]);
        loop {
            let rest = (to_x - x).hypot(to_y - y);
            if rest <= left {
                left -= rest;
                if drawing {
                    current.push([to_x, to_y]);
                }
                break;
            }
            (x, y) = (x + (to_x - x) * left / rest, y + (to_y - y) * left / rest);
            if drawing {
                current.push([x, y]);
                pieces.push(std::mem::take(&mut current));
            } else {
                current = vec![[x, y]];
            }
            drawing = !drawing;
            left = if drawing { dash } else { gap };
        }
    }
    if current.len() > 1 {
        pieces.push(current);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::colour::Rgb;

    #[test]
    fn dashes_have_their_lengths_and_turn_corners() {
        let pieces = dashes(&[[0.0, 0.0], [5.0, 0.0], [5.0, 5.0]], 4.0, 2.0);
        assert_eq!(
            pieces,
            [vec![[0.0, 0.0], [4.0, 0.0]], vec![[5.0, 1.0], [5.0, 5.0]]]
        );
    }

    #[test]
    fn a_line_breaks_where_it_is_undefined() {
        let mut scene = Scene::default();
        let y = [1.0, 2.0, f64::NAN, 3.0, 4.0, f64::INFINITY, 5.0];
        scene.line(y.map(|y| [y, y]), Stroke::new(Rgb(0, 0, 0), 1.0));
        assert_eq!(scene.marks.len(), 2);
    }
}
