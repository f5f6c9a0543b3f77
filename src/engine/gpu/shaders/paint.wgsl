// Twin of cpu/paint.rs: rasters of attention as colours. A thread paints one pixel.
struct Parameters { rasters: u32, across: u32, side: u32, px: u32, stride: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
// [rasters][side][side], as bits: weights are not negative, so their bits have their order.
@group(0) @binding(1) var<storage, read> weights: array<u32>;
// 255 weights at which the next colour begins, 256 colours, that of masked cells, that of what is no number.
@group(0) @binding(2) var<storage, read> scale: array<u32>;
// [down][stride]
@group(0) @binding(3) var<storage, read_write> out: array<u32>;

const STEPS: u32 = 255u;
const MASKED: u32 = 511u;
const INFINITY: u32 = 0x7f800000u;

// The cells that a pixel shows, from and to (exclusive).
fn span(pixel: u32) -> vec2<u32> {
    let from_cell = pixel * p.side / p.px;
    return vec2<u32>(from_cell, max((pixel + 1u) * p.side / p.px, from_cell + 1u));
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= p.across * p.px { return; }
    let raster = id.y / p.px * p.across + id.x / p.px;
    let rows = span(id.y % p.px);
    let columns = span(id.x % p.px);
    var place = MASKED;
    if raster < p.rasters && columns.x < rows.y {
        var most = 0u;
        for (var row = rows.x; row < rows.y; row++) {
            let start = (raster * p.side + row) * p.side;
            for (var column = columns.x; column < columns.y; column++) {
                most = max(most, weights[start + column]);
            }
        }
        // How many steps it has reached.
        var steps = 0u;
        for (var leap = 128u; leap > 0u; leap /= 2u) {
            if scale[steps + leap - 1u] <= most { steps += leap; }
        }
        place = select(STEPS + steps, MASKED + 1u, most > INFINITY);
    }
    out[id.y * p.stride + id.x] = scale[place];
}
