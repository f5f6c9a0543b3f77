//! The files of a picture. Each says in itself what it shows, with which settings.

use anyhow::{Context, Result, bail};
use longview::figure::{Figure, Style, svg};
use resvg::{tiny_skia, usvg};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

#[derive(Clone, Copy)]
pub enum Kind {
    Svg,
    Png,
    Csv,
}

impl Kind {
    /// # Errors
    /// A name with another ending.
    pub fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str());
        match ending.map(str::to_lowercase).as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            Some("csv") => Ok(Self::Csv),
            _ => bail!(
                "{} ends in none of .svg, .png and .csv; name the output so",
                path.display()
            ),
        }
    }
}

/// # Errors
/// Settings or values that make no picture, or a file that cannot be written.
pub fn write(path: &Path, kind: Kind, figure: &Figure, values: &[f32], style: &Style) -> Result<()> {
    let bytes = match kind {
        Kind::Svg => svg(figure, values, style)?.into_bytes(),
        Kind::Png => png(figure, values, style)?,
        Kind::Csv => figure.csv(values, &style.locale)?.into_bytes(),
    };
    std::fs::write(path, bytes).with_context(|| format!("{} could not be written", path.display()))
}

/// Renders the SVG document at `pixel_ratio` pixels a CSS px.
fn png(figure: &Figure, values: &[f32], style: &Style) -> Result<Vec<u8>> {
    let document = svg(figure, values, style)?;
    let missing = Arc::new(Mutex::new(BTreeSet::new()));
    let tree = usvg::Tree::from_str(&document, &options(&missing))?;
    if let Ok(missing) = missing.lock()
        && !missing.is_empty()
    {
        eprintln!(
            "warning: no font on this machine has the characters {}, which the PNG lacks; install one (Noto Sans CJK for Chinese), or write an SVG",
            missing.iter().collect::<String>()
        );
    }
    let scale = style.pixel_ratio as f32;
    let size = tree.size().to_int_size().scale_by(scale);
    let size = size.context("the picture has no size")?;
    let mut pixels =
        tiny_skia::Pixmap::new(size.width(), size.height()).context("the picture is too large")?;
    let transform = tiny_skia::Transform::from_scale(scale, scale);
    resvg::render(&tree, transform, &mut pixels.as_mut());

    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, size.width(), size.height());
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    for (keyword, text) in [
        ("Title", format!("Longview: {}", figure.name())),
        ("Description", figure.summary(values, &style.locale)?),
        ("Comment", figure.parameters()),
        ("Software", "Longview".into()),
    ] {
        encoder.add_itxt_chunk(keyword.into(), text)?;
    }
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels.take_demultiplied())?;
    writer.finish()?;
    Ok(bytes)
}

/// The machine's fonts, and one of the program's own. What no font has is noted in `missing`.
fn options(missing: &Arc<Mutex<BTreeSet<char>>>) -> usvg::Options<'static> {
    let mut options = usvg::Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_system_fonts();
    // With no font on the machine, the text is still there.
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let usual = usvg::FontResolver::default_fallback_selector();
    let missing = Arc::clone(missing);
    options.font_resolver.select_fallback = Box::new(move |character, tried, fonts| {
        let found = usual(character, tried, fonts);
        if found.is_none()
            && let Ok(mut missing) = missing.lock()
        {
            missing.insert(character);
        }
        found
    });
    options
}
