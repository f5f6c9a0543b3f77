use super::bitmap::Bitmap;
use super::chart::{At, Chart};
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::heat::Square;
use super::legend::Legend;
use super::scene::Scene;
use super::style::Style;
use super::t5_bias::{check_t5, encoding};
use super::t5_strip::bucket_colour;
use super::table::Table;
use super::text;
use super::words::Words;
use crate::encoding::T5Bias;
use serde::{Deserialize, Serialize};

/// The bucket of every query and key. No values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct T5Matrix {
    pub buckets: usize,
    pub max_distance: usize,
    /// Also for keys ahead of the query, which are masked without.
    #[serde(default)]
    pub bidirectional: bool,
    pub length: usize,
    pub trained_length: usize,
}

impl T5Matrix {
    fn encoding(&self) -> T5Bias {
        encoding(self.buckets, self.max_distance, self.bidirectional)
    }

    /// The bucket at query − key; `None` where the key is masked.
    fn bucket(&self, bias: &T5Bias, difference: isize) -> Option<usize> {
        match difference {
            0.. => Some(bias.bucket_behind(difference as usize)),
            _ if self.bidirectional => Some(bias.bucket_ahead(difference.unsigned_abs())),
            _ => None,
        }
    }
}

impl Chart for T5Matrix {
    fn lengths(&self) -> (usize, Option<usize>) {
        (self.length, Some(self.trained_length))
    }

    fn check(&self) -> Result<(), FigureError> {
        check_t5(&self.encoding())
    }

    fn compose(&self, scene: &mut Scene, style: &Style, _: &[f32]) {
        compose(scene, style, self);
    }

    fn readout(&self, _: &[f32], at: &At, words: &Words) -> Option<String> {
        let (key, query) = at.cell(self.length, self.length);
        let difference = query as isize - key as isize;
        let Some(bucket) = self.bucket(&self.encoding(), difference) else {
            let says = words.say("read_masked");
            return Some(words.fill(
                "read_query_key",
                &[("query", &query), ("key", &key), ("says", &says)],
            ));
        };
        Some(words.fill(
            "read_t5_matrix",
            &[
                ("query", &query),
                ("key", &key),
                ("distance", &text::number(difference as f64, 7)),
                ("bucket", &bucket),
            ],
        ))
    }

    fn summary(&self, _: &[f32], words: &Words) -> String {
        let firsts = self.encoding().first_distances();
        let (last, from) = firsts.last().copied().unwrap_or_default();
        let key = match self.bidirectional {
            true => "sum_t5_matrix_both",
            false => "sum_t5_matrix",
        };
        words.fill(
            key,
            &[
                ("length", &text::count(self.length)),
                ("buckets", &self.buckets),
                ("last", &last),
                ("from", &text::count(from)),
            ],
        )
    }

    fn table(&self, _: &[f32], words: &Words) -> Table {
        let mut table = Table::new(["col_distance_signed", "col_bucket"].map(|key| words.say(key)));
        let (bias, last) = (self.encoding(), self.length as isize - 1);
        for difference in -last..=last {
            if let Some(bucket) = self.bucket(&bias, difference) {
                table.row([(difference as f64).into(), bucket.into()]);
            }
        }
        table
    }
}

/// The colours are the strip's (`T5Buckets`) where all buckets lie behind the query; with keys ahead, their
/// buckets have the numbers of the upper half.
fn compose(scene: &mut Scene, style: &Style, figure: &T5Matrix) {
    let square = Square::new(style, figure.length, true);
    let (bias, last) = (figure.encoding(), figure.buckets - 1);
    let ramp = Colours::new(Ramp::Sequential, style.theme);
    let cells = square.cells(style, figure.length);
    // Where cells are smaller than pixels, one shows the distance nearest to its own.
    let tokens = figure.length as f64 / cells as f64;
    let bitmap = Bitmap::by_difference(cells, |difference| {
        let difference = (difference as f64 * tokens).round() as isize;
        match figure.bucket(&bias, difference) {
            Some(bucket) => bucket_colour(&ramp, bucket, last),
            None => style.ink().masked,
        }
    });
    scene.image(square.plot, bitmap);
    square.finish(scene, style, figure.length, figure.trained_length);

    let steps = Colours::from_fn(|part| {
        let bucket = (part * figure.buckets as f64) as usize;
        bucket_colour(&ramp, bucket.min(last), last)
    });
    let legend = Legend {
        colours: &steps,
        title: style.words().say("bucket"),
        ticks: vec![(0.0, "0".into()), (1.0, text::count(last))],
    };
    let width = (style.width * 0.4).clamp(110.0, 240.0);
    legend.draw(
        scene,
        style,
        square.plot.right(),
        0.0,
        width.min(square.plot.right()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Figure, compose, readout};

    fn matrix(bidirectional: bool) -> T5Matrix {
        T5Matrix {
            buckets: 32,
            max_distance: 128,
            bidirectional,
            length: 256,
            trained_length: 128,
        }
    }

    /// `_relative_position_bucket` as it is published, for distance = query − key.
    fn published(distance: i64, bidirectional: bool) -> i64 {
        let (mut buckets, mut start, mut n) = (32, 0, distance);
        if bidirectional {
            buckets /= 2;
            start = if n < 0 { buckets } else { 0 };
            n = n.abs();
        } else {
            n = n.max(0);
        }
        let exact = buckets / 2;
        if n < exact {
            return start + n;
        }
        let log = (n as f64 / exact as f64).ln() / (128.0 / exact as f64).ln();
        start + (exact + (log * (buckets - exact) as f64) as i64).min(buckets - 1)
    }

    #[test]
    fn the_table_has_the_published_buckets() {
        for (bidirectional, rows) in [(false, 256), (true, 511)] {
            let table = matrix(bidirectional).table(&[], Words::of("en"));
            assert_eq!(table.rows.len(), rows);
            let first = 256 - rows as i64;
            for (index, row) in table.rows.iter().enumerate() {
                let distance = first + index as i64;
                let bucket = published(distance, bidirectional) as usize;
                assert_eq!(*row, [(distance as f64).into(), bucket.into()]);
            }
        }
    }

    #[test]
    fn the_readout_names_the_bucket_on_both_sides() {
        let style = Style::default();
        let said = |bidirectional, query: f64, key: f64| {
            let figure = Figure::T5Matrix(matrix(bidirectional));
            let geometry = compose(&figure, &[], &style).unwrap().geometry;
            let plot = &geometry.plots[0];
            let at = |cell: f64, from: f64, px: f64| from + px * (cell + 0.5) / 256.0;
            let place = [at(key, plot.x, plot.width), at(query, plot.y, plot.height)];
            readout(&figure, &[], &geometry, place, "en").unwrap()
        };
        // 16 + ⌊ln(28/16) / ln(128/16) · 16⌋
        assert_eq!(
            said(false, 40.0, 12.0),
            "query 40, key 12, distance 28: bucket 20"
        );
        assert_eq!(said(false, 12.0, 40.0), "query 12, key 40: masked");
        // 16 + 8 + ⌊ln(28/8) / ln(128/8) · 8⌋
        assert_eq!(
            said(true, 12.0, 40.0),
            "query 12, key 40, distance −28: bucket 27"
        );
    }
}
