use super::bitmap::{Bitmap, span};
use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::frame;
use super::heat::{self, Square};
use super::legend::Legend;
use super::scene::Scene;
use super::size;
use super::style::Style;

/// The weight at the pale end of the scale; what is smaller is drawn like it. Attention is at most 1,
/// so the scale is the same for every head, length and encoding.
const FLOOR: f64 = 1e-4;

/// The place of an attention weight on the scale, 0 to 1.
fn part(weight: f64) -> f64 {
    if weight.is_nan() {
        return f64::NAN;
    }
    (weight.max(FLOOR) / FLOOR).ln() / (1.0 / FLOOR).ln()
}

pub(crate) fn compose(
    scene: &mut Scene,
    style: &Style,
    length: usize,
    trained: usize,
    side: usize,
    values: &[f32],
) -> Result<(), FigureError> {
    size("raster's side", side)?;
    let square = Square::new(style, length, true);
    let ink = style.ink();
    let colours = Colours::new(Ramp::Sequential, style.theme);
    let drawn = square.cells(style, side);
    let bitmap = if values.is_empty() {
        Bitmap::by_difference(drawn, |d| if d >= 0 { ink.masked } else { ink.paper })
    } else {
        Bitmap::from_fn(drawn, drawn, |row, column| {
            // Smaller than the raster: the largest weight of the cells that share a pixel stays seen.
            let (row, row_end) = span(row, drawn, side);
            let (column, column_end) = span(column, drawn, side);
            if column >= row_end {
                return ink.masked;
            }
            let cells = (row..row_end).flat_map(|r| &values[r * side + column..r * side + column_end]);
            let weight = cells.fold(
                f32::NEG_INFINITY,
                |most, &w| if w.is_nan() || w > most { w } else { most },
            );
            heat::colour_of(&colours, part(f64::from(weight)), ink.undefined)
        })
    };
    scene.image(square.plot, bitmap);
    square.finish(scene, style, length, trained);
    let ticks = [1e-4, 1e-3, 1e-2, 1e-1, 1.0];
    let legend = Legend {
        colours: &colours,
        title: "attention weight (log scale)",
        ticks: ticks
            .iter()
            .map(|&weight| {
                let number = super::text::number(weight, 1);
                (
                    part(weight),
                    if weight == FLOOR {
                        format!("≤ {number}")
                    } else {
                        number
                    },
                )
            })
            .collect(),
    };
    let width = square.plot.width.min(260.0);
    legend.draw(scene, style, square.plot.right(), 0.0, width);
    if values.is_empty() {
        frame::note(
            scene,
            style,
            square.plot,
            "Attention appears when the model has run.",
            style.ink().paper,
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn the_scale_runs_over_four_powers_of_ten() {
        assert_eq!(part(1.0), 1.0);
        assert!((part(0.01) - 0.5).abs() < 1e-12);
        assert_eq!(part(1e-9), 0.0);
        assert_eq!(part(0.0), 0.0);
        assert!(part(f64::NAN).is_nan());
    }
}
