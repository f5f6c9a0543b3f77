use super::bitmap::Bitmap;
use super::error::FigureError;
use super::paint::{Units, paint};
use super::style::Style;
use super::{Figure, compose};
use plotters::element::Text;
use plotters::prelude::{IntoDrawingArea, SVGBackend};
use plotters::style::FontFamily;

/// Units a CSS px: plotters draws in whole numbers, so the drawing is this much larger than the file
/// says, and curves and fractions of a pixel stay exact.
const FINE: f64 = 16.0;

/// Stands for a bitmap until the file is put together; plotters-svg places bitmaps only at their own
/// size, without transparency.
const PLACE: &str = "\u{f8ff}bitmap";

/// A figure as an SVG document: text as text, heat maps as embedded PNG images. It is the same at any
/// `pixel_ratio`, which only says for what resolution heat maps are made.
///
/// # Errors
/// As [`draw`](super::draw).
#[cfg(not(target_arch = "wasm32"))]
pub fn svg(figure: &Figure, values: &[f32], style: &Style) -> Result<String, FigureError> {
    svg_with(figure, values, style, png)
}

/// As [`svg`]; `encode` makes a data URL of a bitmap, one pixel a cell.
///
/// # Errors
/// As [`draw`](super::draw), and what `encode` refuses.
pub(crate) fn svg_with(
    figure: &Figure,
    values: &[f32],
    style: &Style,
    encode: impl Fn(&Bitmap) -> Result<String, FigureError>,
) -> Result<String, FigureError> {
    let scene = compose(figure, values, style)?;
    let units = Units {
        scale: FINE,
        text: 1.24,
        text_shift: 0.08,
    };
    let size = [style.width, style.height].map(|px| (px * FINE).round() as u32);
    let mut document = String::new();
    let mut images = Vec::new();
    {
        let area = SVGBackend::with_string(&mut document, (size[0], size[1])).into_drawing_area();
        paint(&area, &scene, style, units, |area, bitmap, corners| {
            let place = format!("{PLACE}{}.", images.len());
            images.push(image(&encode(bitmap)?, corners));
            area.draw(&Text::new(place, corners[0], (FontFamily::SansSerif, 10.0)))
                .map_err(|error| FigureError::Backend(error.to_string()))
        })?;
        area.present()
            .map_err(|error| FigureError::Backend(error.to_string()))?;
    }
    let document = with_images(&document, &images);
    let fine = format!("<svg width=\"{}\" height=\"{}\"", size[0], size[1]);
    let real = format!("<svg width=\"{}\" height=\"{}\"", style.width, style.height);
    let document = document.replacen(&fine, &real, 1);
    // Readers of the file, and machines, learn what it shows and with which settings.
    let head = format!(
        "\n<title>Longview: {}</title>\n<desc>{}</desc>\n<metadata>{}</metadata>",
        escaped(figure.name()),
        escaped(&figure.summary(values, &style.locale)?),
        escaped(&figure.parameters()),
    );
    let inside = document.find('>').map_or(0, |at| at + 1);
    Ok([&document[..inside], &head, &document[inside..]].concat())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Puts the images in the places of the text elements that stand for them, which come in their order: in one pass, for
/// there may be thousands.
fn with_images(document: &str, images: &[String]) -> String {
    let bytes: usize = images.iter().map(String::len).sum();
    let mut whole = String::with_capacity(document.len() + bytes);
    let mut rest = document;
    for (index, image) in images.iter().enumerate() {
        let Some(at) = rest.find(&format!("{PLACE}{index}.")) else {
            continue;
        };
        let (Some(start), Some(end)) = (rest[..at].rfind("<text"), rest[at..].find("</text>")) else {
            continue;
        };
        whole.push_str(&rest[..start]);
        whole.push_str(image);
        rest = &rest[at + end + "</text>".len()..];
    }
    whole + rest
}

/// An `<image>` element.
fn image(data_url: &str, [(left, top), (right, bottom)]: [(i32, i32); 2]) -> String {
    format!(
        "<image x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
         style=\"image-rendering:pixelated\" href=\"{data_url}\"/>",
        right - left,
        bottom - top,
    )
}

/// The bitmap as the data URL of a PNG.
#[cfg(not(target_arch = "wasm32"))]
fn png(bitmap: &Bitmap) -> Result<String, FigureError> {
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, bitmap.columns as u32, bitmap.rows as u32);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder
        .write_header()
        .and_then(|mut writer| writer.write_image_data(&bitmap.rgba))
        .map_err(|error| FigureError::Backend(error.to_string()))?;
    Ok(["data:image/png;base64,", &base64(&png)].concat())
}

/// RFC 4648, with padding.
#[cfg(not(target_arch = "wasm32"))]
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0u32, |word, &byte| word << 8 | u32::from(byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let shown = digit <= chunk.len();
            let index = (word >> (18 - 6 * digit)) & 63;
            text.push(if shown {
                char::from(DIGITS[index as usize])
            } else {
                '='
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_the_standards() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn a_heat_map_becomes_an_image_and_no_placeholder_is_left() {
        let figure = Figure::AlibiMatrices(crate::figure::AlibiMatrices {
            heads: 8,
            length: 64,
            slopes: None,
            trained_length: 16,
        });
        let document = svg(&figure, &[], &Style::default()).unwrap();
        // Eight matrices and the legend.
        assert_eq!(document.matches("<image").count(), 9);
        assert!(!document.contains(PLACE));
        assert!(document.starts_with("<svg width=\"720\" height=\"400\" viewBox=\"0 0 11520 6400\""));
    }
}
