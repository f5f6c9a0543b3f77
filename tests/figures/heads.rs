//! What the figures of ALiBi's slopes say, against the formulas of the paper.

use super::numbers::geometry;
use longview::figure::{AlibiSlopes, Cell, Figure, Style, readout};

/// What the readout says at a place of the first plot, as parts of its width and height.
fn said(figure: &Figure, right: f64, down: f64) -> Option<String> {
    let geometry = geometry(figure, &[], &Style::default());
    let plot = &geometry.plots[0];
    let at = [plot.x + plot.width * right, plot.y + plot.height * down];
    readout(figure, &[], &geometry, at, "en")
}

fn slopes(heads: usize, custom: Option<Vec<f64>>) -> Figure {
    Figure::AlibiSlopes(AlibiSlopes {
        heads,
        slopes: custom,
        trained: None,
        length: 512,
        trained_length: 128,
    })
}

#[test]
fn slopes_and_their_half_distances_are_the_papers() {
    let eight = slopes(8, None);
    let table = eight.table(&[], "en").unwrap();
    assert_eq!(table.rows.len(), 8);
    for (head, row) in table.rows.iter().enumerate() {
        let [Cell::Number(given), Cell::Number(slope), Cell::Number(half)] = row[..] else {
            panic!("{row:?}");
        };
        assert_eq!((given, slope), (head as f64, 0.5f64.powi(head as i32 + 1)));
        assert!(((-slope * half).exp() - 0.5).abs() < 1e-12);
    }
    let line = said(&eight, 3.5 / 8.0, 0.5).unwrap();
    assert_eq!(line, "head 3: slope 1/16, halves every 11.1 tokens");
    // Twelve heads: those of eight, then every second one of sixteen.
    let twelve = slopes(12, None).table(&[], "en").unwrap();
    let root = Cell::Number((-0.5f64).exp2());
    assert_eq!(
        (&twelve.rows[7][1], &twelve.rows[8][1]),
        (&Cell::Number(1.0 / 256.0), &root)
    );
}

#[test]
fn slopes_that_differ_are_named() {
    let powers = |heads: i32| (1..=heads).map(|h| 0.5f64.powi(h)).collect::<Vec<f64>>();
    let mut custom = powers(8);
    let same = slopes(8, Some(custom.clone())).summary(&[], "en").unwrap();
    assert!(same.ends_with("custom: all 8 slopes are the paper's."), "{same}");
    custom[3] = 0.05;
    custom[7] = -1.0;
    let figure = slopes(8, Some(custom.clone()));
    let summary = figure.summary(&[], "en").unwrap();
    let list = "2 of 8 heads differ: head 3 has 0.05 in place of 1/16; head 7 has −1 in place of 1/256.";
    assert!(summary.ends_with(list), "{summary}");
    let line = said(&figure, 7.5 / 8.0, 0.5).unwrap();
    assert!(line.ends_with("; custom: −1, never halves"), "{line}");
    custom.fill(3.0);
    let all = slopes(8, Some(custom)).summary(&[], "en").unwrap();
    assert!(
        all.contains("8 of 8 heads differ") && all.ends_with("; and 5 more."),
        "{all}"
    );
}
