// Twin of cpu/attention.rs: causal attention with an online softmax. A workgroup takes 64 queries of one
// head of one window and walks over tiles of 16 keys; a thread keeps one query.
struct Parameters { length: u32, heads: u32, d_head: u32, has_bias: u32, score_scale: f32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<f32>;
// [rows][heads]: the largest score, and the sum of the exponentials of the scores less it.
@group(0) @binding(4) var<storage, read_write> softmax: array<vec2<f32>>;

// Vectors of four in a head, ⌈d_head / 4⌉: the program writes the model's own here.
const VECTORS: u32 = 6u;
const QUERIES: u32 = 64u;
const KEYS: u32 = 16u;
// Stands for minus infinity, which WGSL does not promise to handle.
const MASKED: f32 = -1e30;

var<workgroup> keys: array<vec4<f32>, KEYS * VECTORS>;
var<workgroup> values: array<vec4<f32>, KEYS * VECTORS>;

// Four values of a head from `start` on, zero past its width.
fn load(start: u32, vector: u32) -> vec4<f32> {
    var four = vec4<f32>(0.0);
    let c = vector * 4u;
    if c < p.d_head { four.x = qkv[start + c]; }
    if c + 1u < p.d_head { four.y = qkv[start + c + 1u]; }
    if c + 2u < p.d_head { four.z = qkv[start + c + 2u]; }
    if c + 3u < p.d_head { four.w = qkv[start + c + 3u]; }
    return four;
}

@compute @workgroup_size(QUERIES)
fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first_query = group.x * QUERIES;
    let head = group.y % p.heads;
    let first_row = group.y / p.heads * p.length;
    let d_model = p.heads * p.d_head;
    let width = 3u * d_model;
    let query = first_query + thread;
    let is_query = query < p.length;
    let at = (first_row + min(query, p.length - 1u)) * width + head * p.d_head;
    var q: array<vec4<f32>, VECTORS>;
    var sum: array<vec4<f32>, VECTORS>;
    for (var c = 0u; c < VECTORS; c++) {
        q[c] = load(at, c) * p.score_scale;
        sum[c] = vec4<f32>(0.0);
    }
    var largest = MASKED;
    var total = 0.0;
    let end = min(first_query + QUERIES, p.length);
    for (var first_key = 0u; first_key < end; first_key += KEYS) {
        for (var cell = thread; cell < KEYS * VECTORS; cell += QUERIES) {
            let key = min(first_key + cell / VECTORS, p.length - 1u);
            let start = (first_row + key) * width + head * p.d_head;
            keys[cell] = load(start + d_model, cell % VECTORS);
            values[cell] = load(start + 2u * d_model, cell % VECTORS);
        }
        workgroupBarrier();
        if is_query && first_key <= query {
            var scores: array<f32, KEYS>;
            var most = largest;
            for (var j = 0u; j < KEYS; j++) {
                let key = first_key + j;
                var score = MASKED;
                if key <= query {
                    var products = vec4<f32>(0.0);
                    for (var c = 0u; c < VECTORS; c++) { products += q[c] * keys[j * VECTORS + c]; }
                    score = products.x + products.y + products.z + products.w;
                    if p.has_bias != 0u { score += bias[head * p.length + query - key]; }
                }
                scores[j] = score;
                most = max(most, score);
            }
            let shrink = exp(max(largest - most, -100.0));
            largest = most;
            total *= shrink;
            for (var c = 0u; c < VECTORS; c++) { sum[c] *= shrink; }
            var tile = 0.0;
            for (var j = 0u; j < KEYS; j++) {
                if first_key + j <= query {
                    let weight = exp(max(scores[j] - most, -100.0));
                    tile += weight;
                    for (var c = 0u; c < VECTORS; c++) { sum[c] += weight * values[j * VECTORS + c]; }
                }
            }
            total += tile;
        }
        workgroupBarrier();
    }
    if is_query {
        let row = first_row + query;
        softmax[row * p.heads + head] = vec2<f32>(largest, total);
        let start = row * d_model + head * p.d_head;
        for (var c = 0u; c < VECTORS; c++) {
            let four = sum[c] / total;
            if c * 4u < p.d_head { out[start + c * 4u] = four.x; }
            if c * 4u + 1u < p.d_head { out[start + c * 4u + 1u] = four.y; }
            if c * 4u + 2u < p.d_head { out[start + c * 4u + 2u] = four.z; }
            if c * 4u + 3u < p.d_head { out[start + c * 4u + 3u] = four.w; }
        }
    }
}
