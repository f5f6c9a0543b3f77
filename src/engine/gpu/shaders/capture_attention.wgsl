// Twin of cpu/capture.rs, capture_attention: one head of the first window, pooled to side × side cells.
// A thread computes one cell: the mean over its queries of the sum over its keys.
struct Parameters { length: u32, heads: u32, d_head: u32, has_bias: u32, score_scale: f32, head: u32, side: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read> softmax: array<vec2<f32>>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

fn probability(query: u32, key: u32) -> f32 {
    let d_model = p.heads * p.d_head;
    let q = query * 3u * d_model + p.head * p.d_head;
    let k = key * 3u * d_model + d_model + p.head * p.d_head;
    var score = 0.0;
    for (var c = 0u; c < p.d_head; c++) { score += qkv[q + c] * qkv[k + c]; }
    score *= p.score_scale;
    if p.has_bias != 0u { score += bias[p.head * p.length + query - key]; }
    let stats = softmax[query * p.heads + p.head];
    return exp(max(score - stats.x, -100.0)) / stats.y;
}

// The first position that falls into a cell.
fn first(cell: u32) -> u32 {
    return (cell * p.length + p.side - 1u) / p.side;
}

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x >= p.side || id.y >= p.side { return; }
    let queries = first(id.y + 1u) - first(id.y);
    var sum = 0.0;
    for (var query = first(id.y); query < first(id.y + 1u); query++) {
        for (var key = first(id.x); key < min(first(id.x + 1u), query + 1u); key++) {
            sum += probability(query, key);
        }
    }
    out[id.y * p.side + id.x] = sum / f32(queries);
}
