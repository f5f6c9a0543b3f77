//! Figures on a canvas, and what stands under the pointer.

use super::fine::FineCanvas;
use crate::encoding::NAMES;
use crate::figure::{
    Bitmap, Figure, FigureError, Geometry, Style, Theme, Units, compose, encoding_colour, paint,
};
use plotters::prelude::IntoDrawingArea;
use plotters_canvas::CanvasBackend;
use std::cell::OnceCell;
use std::thread::LocalKey;
use wasm_bindgen::prelude::*;
use wasm_bindgen::{Clamped, JsCast};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

/// Backend units a device pixel: plotters draws in whole numbers, so it draws larger and the canvas
/// scales it down, and curves are not moved to whole pixels.
const FINE: f64 = 8.0;

thread_local! {
    /// Where a heat map's cells are put before they are drawn enlarged.
    static CELLS: OnceCell<HtmlCanvasElement> = const { OnceCell::new() };
    /// The same for one of a picture: that one's pixels never leave the GPU.
    static TILE: OnceCell<HtmlCanvasElement> = const { OnceCell::new() };
}

/// Sizes the canvas to `width · pixel_ratio` by `height · pixel_ratio` device pixels, draws the figure
/// (JSON, as in the crate's `Figure`) on it, and returns its geometry as JSON (as in `Geometry`).
///
/// # Errors
/// JSON that is no figure or style, values of the wrong count, or a canvas without a 2D context.
#[wasm_bindgen]
pub fn draw(
    canvas: &HtmlCanvasElement,
    figure_json: &str,
    style_json: &str,
    values: &[f32],
) -> Result<String, JsError> {
    render(canvas, figure_json, style_json, values, None)
}

/// As [`draw`], for a figure whose heat maps are there as a picture: `across` of them beside each other on the
/// canvas `cells`, in the figure's order.
///
/// # Errors
/// As [`draw`].
#[wasm_bindgen]
pub fn draw_around(
    canvas: &HtmlCanvasElement,
    figure_json: &str,
    style_json: &str,
    cells: &HtmlCanvasElement,
    across: u32,
) -> Result<String, JsError> {
    render(canvas, figure_json, style_json, &[], Some((cells, across)))
}

/// Pixels along a side of each of a figure's square heat maps, if it is drawn in that style.
///
/// # Errors
/// JSON that is no figure or style.
#[wasm_bindgen]
pub fn heat_px(figure_json: &str, style_json: &str) -> Result<usize, JsError> {
    let figure: Figure = crate::json::read(figure_json)?;
    Ok(crate::figure::heat_px(&figure, crate::json::read(style_json)?)?)
}

/// The scale of attention's weights, for an engine that paints them, as the engine's module takes it:
/// `[255 + 256 + 2]`, the weights (the bits of f32) at which the next colour begins, the colours `0xAABBGGRR`, that
/// of masked cells, and that of what is not a number.
///
/// # Errors
/// JSON that is no style.
#[wasm_bindgen]
pub fn heat_scale(style_json: &str) -> Result<Vec<u32>, JsError> {
    Ok(crate::figure::scale_tables(&crate::json::read(style_json)?))
}

fn render(
    canvas: &HtmlCanvasElement,
    figure_json: &str,
    style_json: &str,
    values: &[f32],
    elsewhere: Option<(&HtmlCanvasElement, u32)>,
) -> Result<String, JsError> {
    let figure: Figure = crate::json::read(figure_json)?;
    let mut style: Style = crate::json::read(style_json)?;
    style.cells_elsewhere = elsewhere.is_some();
    let scene = compose(&figure, values, &style)?;
    let pixels = [style.width, style.height].map(|px| (px * style.pixel_ratio).round() as u32);
    // Setting a size clears the canvas, and costs even when the size is the same.
    if canvas.width() != pixels[0] || canvas.height() != pixels[1] {
        canvas.set_width(pixels[0]);
        canvas.set_height(pixels[1]);
    }
    let context = context(canvas)?;
    context
        .set_transform(1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
        .map_err(refused)?;
    context.clear_rect(0.0, 0.0, f64::from(pixels[0]), f64::from(pixels[1]));
    context
        .set_transform(1.0 / FINE, 0.0, 0.0, 1.0 / FINE, 0.0, 0.0)
        .map_err(refused)?;
    context.set_image_smoothing_enabled(false);
    context.set_line_join("round");

    let backend = FineCanvas {
        canvas: CanvasBackend::with_canvas_object(canvas.clone())
            .ok_or_else(|| FigureError::Backend("the canvas has no 2D context".into()))?,
        size: (pixels[0] * FINE as u32, pixels[1] * FINE as u32),
    };
    let units = Units {
        scale: style.pixel_ratio * FINE,
        text: 1.0,
        text_shift: 0.06,
    };
    let mut drawn = 0;
    paint(
        &backend.into_drawing_area(),
        &scene,
        &style,
        units,
        |_, bitmap, corners| {
            // A legend is an image, too, and is here.
            let source = match elsewhere.filter(|_| bitmap.rgba.is_empty()) {
                None => cells(bitmap),
                Some((picture, across)) => {
                    drawn += 1;
                    tile(picture, across, drawn - 1)
                }
            };
            source
                .and_then(|source| place(&context, &source, corners))
                .map_err(refused)
        },
    )?;
    Ok(serde_json::to_string(&scene.geometry)?)
}

/// A canvas of that size that nobody sees.
fn scratch(
    slot: &'static LocalKey<OnceCell<HtmlCanvasElement>>,
    [width, height]: [u32; 2],
) -> Result<(HtmlCanvasElement, CanvasRenderingContext2d), JsValue> {
    let canvas = slot.with(|slot| match slot.get() {
        Some(canvas) => Ok(canvas.clone()),
        None => {
            let document = web_sys::window().and_then(|window| window.document());
            let document = document.ok_or("figures are drawn in a window")?;
            let canvas: HtmlCanvasElement = document.create_element("canvas")?.unchecked_into();
            Ok::<_, JsValue>(slot.get_or_init(|| canvas).clone())
        }
    })?;
    if canvas.width() != width || canvas.height() != height {
        canvas.set_width(width);
        canvas.set_height(height);
    }
    let context = canvas.get_context("2d")?.ok_or("the canvas has no 2D context")?;
    Ok((canvas, context.unchecked_into()))
}

/// A canvas that holds a heat map's cells, one pixel each.
fn cells(bitmap: &Bitmap) -> Result<HtmlCanvasElement, JsValue> {
    let (columns, rows) = (bitmap.columns as u32, bitmap.rows as u32);
    let (canvas, context) = scratch(&CELLS, [columns, rows])?;
    let image = ImageData::new_with_u8_clamped_array_and_sh(Clamped(&bitmap.rgba), columns, rows)?;
    context.put_image_data(&image, 0.0, 0.0)?;
    Ok(canvas)
}

/// A canvas that holds one of several heat maps of a picture. Enlarged right from there, a pixel between two cells
/// would at times be the other's.
fn tile(picture: &HtmlCanvasElement, across: u32, index: u32) -> Result<HtmlCanvasElement, JsValue> {
    let across = across.max(1);
    let side = picture.width() / across;
    let (canvas, context) = scratch(&TILE, [side, side])?;
    let [x, y] = [index % across, index / across].map(|place| -f64::from(place * side));
    context.draw_image_with_html_canvas_element(picture, x, y)?;
    Ok(canvas)
}

fn place(
    target: &CanvasRenderingContext2d,
    source: &HtmlCanvasElement,
    [(left, top), (right, bottom)]: [(i32, i32); 2],
) -> Result<(), JsValue> {
    target.draw_image_with_html_canvas_element_and_dw_and_dh(
        source,
        f64::from(left),
        f64::from(top),
        f64::from(right - left),
        f64::from(bottom - top),
    )
}

fn context(canvas: &HtmlCanvasElement) -> Result<CanvasRenderingContext2d, FigureError> {
    let context = canvas.get_context("2d").ok().flatten();
    context
        .map(|context| context.unchecked_into())
        .ok_or_else(|| FigureError::Backend("the canvas has no 2D context".into()))
}

fn refused(error: JsValue) -> FigureError {
    FigureError::Backend(format!("{error:?}"))
}

/// One line that names what stands at (x, y), in CSS px of the canvas, with the geometry that `draw`
/// returned; undefined where nothing does.
///
/// # Errors
/// JSON that is no figure or geometry.
#[wasm_bindgen]
pub fn readout(
    figure_json: &str,
    geometry_json: &str,
    values: &[f32],
    x: f64,
    y: f64,
    locale: &str,
) -> Result<Option<String>, JsError> {
    let figure: Figure = crate::json::read(figure_json)?;
    let geometry: Geometry = crate::json::read(geometry_json)?;
    Ok(crate::figure::readout(&figure, values, &geometry, [x, y], locale))
}

/// Whether [`draw`] can draw a figure of this name before the module's second part is there; everything else
/// but [`add_locale`] and [`encoding_colours`] waits for that part (`xtask/src/split.rs`).
#[wasm_bindgen]
pub fn is_first(name: &str) -> bool {
    Figure::is_first(name)
}

/// Makes a language known, by the object `chart` of its locale file.
///
/// # Errors
/// A text that is no JSON object.
#[wasm_bindgen]
pub fn add_locale(name: &str, chart_json: &str) -> Result<(), JsError> {
    Ok(crate::figure::add_locale(name, chart_json)?)
}

/// One sentence that says what the figure shows with its present numbers.
///
/// # Errors
/// JSON that is no figure, or values of the wrong count.
#[wasm_bindgen]
pub fn summary(figure_json: &str, values: &[f32], locale: &str) -> Result<String, JsError> {
    let figure: Figure = crate::json::read(figure_json)?;
    Ok(figure.summary(values, locale)?)
}

/// The numbers of the figure as JSON, `{columns, rows, total}`: at most `most` rows, spread over all.
///
/// # Errors
/// JSON that is no figure, or values of the wrong count.
#[wasm_bindgen]
pub fn table(figure_json: &str, values: &[f32], locale: &str, most: usize) -> Result<String, JsError> {
    let figure: Figure = crate::json::read(figure_json)?;
    Ok(figure.table(values, locale)?.page(most).to_string())
}

/// The numbers of the figure as a CSV file.
///
/// # Errors
/// JSON that is no figure, or values of the wrong count.
#[wasm_bindgen]
pub fn csv(figure_json: &str, values: &[f32], locale: &str) -> Result<String, JsError> {
    let figure: Figure = crate::json::read(figure_json)?;
    Ok(figure.csv(values, locale)?)
}

/// The figure's settings in one line, for the metadata of files: `alibi heads=8 length=64`.
///
/// # Errors
/// JSON that is no figure.
#[wasm_bindgen]
pub fn parameters(figure_json: &str) -> Result<String, JsError> {
    Ok(crate::json::read::<Figure>(figure_json)?.parameters())
}

/// A name for files of the figure, without an ending, that tells its settings.
///
/// # Errors
/// JSON that is no figure.
#[wasm_bindgen]
pub fn file_stem(figure_json: &str) -> Result<String, JsError> {
    Ok(crate::json::read::<Figure>(figure_json)?.file_stem())
}

/// The figure as an SVG file: vectors, text as text, heat maps as embedded images.
///
/// # Errors
/// As [`draw`].
#[wasm_bindgen]
pub fn svg(figure_json: &str, style_json: &str, values: &[f32]) -> Result<String, JsError> {
    let figure: Figure = crate::json::read(figure_json)?;
    let style: Style = crate::json::read(style_json)?;
    Ok(crate::figure::svg_with(&figure, values, &style, |bitmap| {
        let data = cells(bitmap).and_then(|canvas| canvas.to_data_url());
        data.map_err(refused)
    })?)
}

/// The colour of every encoding in both themes, as JSON: `{"light": {"alibi": "#1664c0", …}, "dark": …}`.
///
/// # Errors
/// None that can be met; JSON is made here.
#[wasm_bindgen]
pub fn encoding_colours() -> Result<String, JsError> {
    let of = |theme| {
        let mut colours = serde_json::Map::new();
        for name in NAMES {
            colours.insert(name.to_string(), encoding_colour(name, theme).hex().into());
        }
        serde_json::Value::Object(colours)
    };
    Ok(serde_json::json!({"light": of(Theme::Light), "dark": of(Theme::Dark)}).to_string())
}
