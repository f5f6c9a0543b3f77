use super::colour::{Colours, Ramp};
use super::error::FigureError;
use super::frame;
use super::geometry::Rect;
use super::legend::Legend;
use super::order::quantiles;
use super::scene::Scene;
use super::style::Style;
use super::{heat, size, text};

/// The largest absolute value that is shown in full colour: the 99th percentile, so that one outlier
/// does not pale the rest.
fn reach(values: &[f32]) -> f64 {
    let sizes = values.iter().map(|value| f64::from(value.abs())).collect();
    let Some([reach]) = quantiles(sizes, [0.99]) else {
        return 1.0;
    };
    // One significant digit, upwards: a number to write on the legend.
    let ten = 10f64.powf(reach.log10().floor());
    if reach > 0.0 {
        (reach / ten * 2.0).ceil() / 2.0 * ten
    } else {
        1.0
    }
}

pub(crate) fn compose(
    scene: &mut Scene,
    style: &Style,
    length: usize,
    trained: usize,
    d_model: usize,
    values: &[f32],
) -> Result<(), FigureError> {
    size("d_model", d_model)?;
    let colours = Colours::new(Ramp::Signed, style.theme);
    let ink = style.ink();
    let reach = reach(values);
    let legend = Legend {
        colours: &colours,
        title: "value added to the embedding",
        ticks: vec![
            (0.0, format!("≤ {}", text::number(-reach, 2))),
            (0.5, "0".into()),
            (1.0, format!("≥ {}", text::number(reach, 2))),
        ],
    };
    let legend = (!values.is_empty()).then_some(legend);
    let plot = heat::positions(
        scene,
        style,
        [length, d_model],
        Some(trained),
        legend,
        |from, to| {
            let value = |column: usize| {
                if values.is_empty() || from >= trained {
                    return f64::NAN;
                }
                let rows = from..to.min(trained);
                let count = rows.len() as f64;
                rows.map(|row| f64::from(values[row * d_model + column]))
                    .sum::<f64>()
                    / count
            };
            (0..d_model)
                .map(|column| heat::colour_of(&colours, value(column) / reach * 0.5 + 0.5, ink.masked))
                .collect()
        },
    );
    if values.is_empty() {
        let inside = Rect {
            width: plot.width * (trained as f64 / length as f64).min(1.0),
            ..plot
        };
        frame::note(
            scene,
            style,
            inside,
            "The trained table appears when its model is loaded.",
            style.ink().paper,
        );
    }
    if length > trained {
        let left = style.snap(plot.x + plot.width * trained as f64 / length as f64);
        let past = Rect {
            x: left,
            width: plot.right() - left,
            ..plot
        };
        frame::hatch(scene, style, past, ink.axis.mix(ink.masked, 0.45));
        let mut sentence = format!("undefined: no row past {}", text::count(trained));
        if text::width(&sentence, style.text_px()) > past.width - 24.0 {
            sentence = format!("undefined past {}", text::count(trained));
        }
        if past.width > style.text_px() * 6.0 {
            frame::note(scene, style, past, &sentence, ink.masked);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::reach;

    #[test]
    fn the_reach_is_a_round_number_that_ignores_outliers() {
        let mut values: Vec<f32> = (0..1000).map(|i| (i as f32 / 1000.0 - 0.5) * 0.6).collect();
        values[0] = 1000.0;
        values[1] = f32::NAN;
        assert!((reach(&values) - 0.3).abs() < 1e-9);
        assert_eq!(reach(&[]), 1.0);
        assert_eq!(reach(&[0.0, 0.0]), 1.0);
    }
}
