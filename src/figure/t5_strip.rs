//! T5's buckets as a strip: one segment a bucket, with its number and its first distance.

use super::colour::{Colours, Ramp, Rgb};
use super::frame;
use super::geometry::Rect;
use super::scale::Scale;
use super::scene::{Align, Scene, Stroke, Text};
use super::style::Style;
use super::text;
use crate::encoding::T5Bias;

/// The bucket and the first and last distance of every segment up to `length − 1`.
pub(super) fn segments(bias: &T5Bias, length: usize) -> Vec<(usize, usize, usize)> {
    let firsts = bias.first_distances();
    firsts
        .iter()
        .enumerate()
        .filter(|(_, (_, first))| *first < length)
        .map(|(index, &(bucket, first))| {
            let next = firsts
                .get(index + 1)
                .map_or(length, |&(_, next)| next.min(length));
            (bucket, first, next - 1)
        })
        .collect()
}

/// The colour of a bucket, of which `last` is the highest.
pub(super) fn bucket_colour(colours: &Colours, bucket: usize, last: usize) -> Rgb {
    let part = if last == 0 {
        0.0
    } else {
        bucket as f64 / last as f64
    };
    // Neighbours differ a little more than the ramp alone would make them.
    let step = if bucket.is_multiple_of(2) { 0.0 } else { 0.05 };
    colours.at(1.0 - part * 0.92 - step)
}

/// Buckets as segments with their numbers, the first distance of each below.
pub(super) fn draw(scene: &mut Scene, style: &Style, bias: &T5Bias, length: usize, strip: Rect, x: &Scale) {
    let (ink, small) = (style.ink(), style.small_px());
    let colours = Colours::new(Ramp::Sequential, style.theme);
    let last_bucket = bias.first_distances().last().map_or(0, |&(bucket, _)| bucket);
    frame::heading(
        scene,
        style,
        0.0,
        strip.y + strip.height / 2.0,
        style.words().say("bucket"),
    );
    let first_line = strip.bottom() + 5.0 + small * 0.8;
    frame::heading(scene, style, 0.0, first_line, style.words().say("bucket_from"));
    // Two rows of numbers, each free from its own place on.
    let mut free = [strip.x - 10.0; 2];
    // In the second the place of the last bucket's is kept: from there on all distances are alike.
    let last_first = segments(bias, length).last().map_or(0, |segment| segment.1);
    let last_from = x.px(last_first as f64) - text::width(&last_first.to_string(), small) / 2.0 - 3.0;
    for (bucket, first, last) in segments(bias, length) {
        // A distance stands for the whole token: from half a step before it.
        let from = if first == 0 {
            strip.x
        } else {
            x.px_clamped(first as f64)
        };
        let to = if last + 1 >= length {
            strip.right()
        } else {
            x.px_clamped(last as f64 + 1.0)
        };
        let segment = Rect {
            x: style.snap(from),
            width: style.snap(to) - style.snap(from),
            ..strip
        };
        let colour = bucket_colour(&colours, bucket, last_bucket);
        scene.rect(segment, colour);
        let middle = segment.x + segment.width / 2.0;
        let label = bucket.to_string();
        if text::width(&label, small) + 4.0 < segment.width {
            let dark = if colour.luminance() > 0.3 {
                Rgb(16, 24, 36)
            } else {
                Rgb(255, 255, 255)
            };
            let words = frame::words(style, middle, strip.y + strip.height / 2.0, label, Align::Centre);
            scene.text(Text {
                colour: dark,
                size: small,
                ..words
            });
        }
        let label = first.to_string();
        let half = text::width(&label, small) / 2.0;
        let fits = |row: usize| {
            let clear = row == 0 || first == last_first || from + half <= last_from;
            clear && from - half >= free[row] + 3.0
        };
        let Some(row) = (0..2).find(|&row| fits(row)) else {
            continue;
        };
        free[row] = from + half;
        let y = first_line + row as f64 * small * 1.25;
        let tick = style.snap_hair(from);
        let line = [[tick, strip.bottom()], [tick, y - small * 0.65]];
        scene.line(line, Stroke::new(ink.axis, style.hair()));
        let words = frame::words(style, from, y, label, Align::Centre);
        scene.text(Text { size: small, ..words });
    }
}

#[cfg(test)]
mod tests {
    use super::super::t5_bias::encoding;
    use super::*;

    #[test]
    fn segments_cover_every_distance_once() {
        let bias = encoding(32, 128, false);
        for length in [1, 10, 113, 114, 500] {
            let mut next = 0;
            for (bucket, first, last) in segments(&bias, length) {
                assert_eq!(first, next);
                assert!((first..=last).all(|distance| bias.bucket_behind(distance) == bucket));
                next = last + 1;
            }
            assert_eq!(next, length);
        }
    }
}
