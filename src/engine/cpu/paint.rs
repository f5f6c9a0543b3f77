//! Rasters as colours, one table look-up a pixel.

/// Weights of a scale at which the next colour begins.
const STEPS: usize = 255;
/// The place of what causal attention never looks at, after the scale's colours.
const MASKED: usize = STEPS + 256;
/// Words of a scale.
pub const SCALE_WORDS: usize = MASKED + 2;

/// Where a raster is painted, and how large.
#[derive(Clone, Copy, Debug)]
pub struct Canvas {
    /// Rasters, which stand `across` beside each other.
    pub rasters: usize,
    pub across: usize,
    /// Cells along a side of a raster.
    pub side: usize,
    /// Pixels along a side of its picture.
    pub px: usize,
}

impl Canvas {
    /// Pixels across and down.
    pub fn size(&self) -> [usize; 2] {
        [
            self.across * self.px,
            self.rasters.div_ceil(self.across) * self.px,
        ]
    }

    /// Pixels from one row to the next: copies to textures want rows of whole 256 bytes.
    pub fn stride(&self) -> usize {
        self.size()[0].next_multiple_of(64)
    }
}

/// Paints rasters of attention, `[rasters][side][side]`, pixel by pixel: `[down][stride]` colours `0xAABBGGRR`.
///
/// `scale` is 255 weights (their bits) at which the next colour begins, 256 colours, that of masked cells, and
/// that of what is not a number. Where a pixel has several cells the largest weight of them is seen.
pub fn paint(weights: &[f32], canvas: Canvas, scale: &[u32]) -> Vec<u32> {
    let Canvas { across, side, px, .. } = canvas;
    let [width, height] = canvas.size();
    let mut out = vec![0; canvas.stride() * height];
    for (y, row) in out.chunks_exact_mut(canvas.stride()).enumerate() {
        let (first, last) = span(y % px, px, side);
        for (x, pixel) in row[..width].iter_mut().enumerate() {
            let raster = y / px * across + x / px;
            let (left, right) = span(x % px, px, side);
            if raster >= canvas.rasters || left >= last {
                *pixel = scale[MASKED];
                continue;
            }
            let rows = (first..last).map(|row| (raster * side + row) * side);
            let cells = rows.flat_map(|start| &weights[start + left..start + right]);
            // Weights are not negative, so their bits have their order, and those of no number come last.
            let most = cells.map(|weight| weight.to_bits()).max().unwrap_or(0);
            *pixel = if most > f32::INFINITY.to_bits() {
                scale[MASKED + 1]
            } else {
                scale[STEPS + scale[..STEPS].partition_point(|&step| step <= most)]
            };
        }
    }
    out
}

/// The cells that a pixel shows, at least one.
fn span(pixel: usize, px: usize, side: usize) -> (usize, usize) {
    let from = pixel * side / px;
    (from, ((pixel + 1) * side / px).max(from + 1))
}
