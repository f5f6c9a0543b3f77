// As attention.wgsl, for adapters whose threads share memory fast. A workgroup takes 64 queries of one head of
// one window and walks over tiles of 16 keys, first the far ones, then the near; a thread keeps one query.
struct Parameters { length: u32, heads: u32, d_head: u32, has_bias: u32, score_scale: f32, far_from: u32, far_keys: u32, far_last: u32, has_far_qk: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> qkv: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> out: array<vec4<f32>>;
// [rows][heads]: the largest score, and the sum of the exponentials of the scores less it.
@group(0) @binding(4) var<storage, read_write> softmax: array<vec2<f32>>;
// [rows][2 · d_model]: queries and keys turned as far ones are, if they turn otherwise than in qkv.
@group(0) @binding(5) var<storage, read> far_qk: array<vec4<f32>>;

// Vectors of four in a head.
const VECTORS: u32 = {V}u;
const QUERIES: u32 = 64u;
const KEYS: u32 = 16u;
// Stands for minus infinity, which WGSL does not promise to handle.
const MASKED: f32 = -1e30;

var<workgroup> keys: array<vec4<f32>, KEYS * VECTORS>;
var<workgroup> values: array<vec4<f32>, KEYS * VECTORS>;

@compute @workgroup_size(QUERIES)
fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let first_query = group.x * QUERIES;
    let head = group.y % p.heads;
    let first_row = group.y / p.heads * p.length;
    let d = p.heads * VECTORS;
    let width = 3u * d;
    let of_head = head * VECTORS;
    let query = first_query + thread;
    let is_query = query < p.length;
    let row = first_row + min(query, p.length - 1u);
    // Keys from this one on are near, those before it far.
    let first_near = query + 1u - min(query + 1u, p.far_from);
    var q: array<vec4<f32>, VECTORS>;
    var sum: array<vec4<f32>, VECTORS>;
    for (var c = 0u; c < VECTORS; c++) { sum[c] = vec4<f32>(0.0); }
    var largest = MASKED;
    var total = 0.0;
    let all = min(first_query + QUERIES, p.length);
    for (var part = 0u; part < 2u; part++) {
        let is_far = part == 0u;
        let is_turned = is_far && p.has_far_qk != 0u;
        // This part's keys for any of the queries, and for this one.
        var begin = 0u;
        var end = min(all - min(all, p.far_from), p.far_keys);
        var first = 0u;
        var last = min(first_near, p.far_keys);
        var position = min(query, p.far_last);
        if !is_far {
            begin = first_query + 1u - min(first_query + 1u, p.far_from);
            end = all;
            first = first_near;
            last = query + 1u;
            position = query;
        }
        if begin >= end { continue; }
        for (var c = 0u; c < VECTORS; c++) {
            if is_turned { q[c] = far_qk[row * 2u * d + of_head + c] * p.score_scale; }
            else { q[c] = qkv[row * width + of_head + c] * p.score_scale; }
        }
        for (var first_key = begin; first_key < end; first_key += KEYS) {
            for (var cell = thread; cell < KEYS * VECTORS; cell += QUERIES) {
                let key_row = first_row + min(first_key + cell / VECTORS, p.length - 1u);
                let at = key_row * width + d + of_head + cell % VECTORS;
                if is_turned { keys[cell] = far_qk[key_row * 2u * d + d + of_head + cell % VECTORS]; }
                else { keys[cell] = qkv[at]; }
                values[cell] = qkv[at + d];
            }
            workgroupBarrier();
            if is_query && first_key < last && first_key + KEYS > first {
                var scores: array<f32, KEYS>;
                var most = largest;
                for (var j = 0u; j < KEYS; j++) {
                    let key = first_key + j;
                    var score = MASKED;
                    if key >= first && key < last {
                        var products = vec4<f32>(0.0);
                        for (var c = 0u; c < VECTORS; c++) { products += q[c] * keys[j * VECTORS + c]; }
                        score = products.x + products.y + products.z + products.w;
                        if p.has_bias != 0u { score += bias[head * p.length + position - min(position, key)]; }
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
                    let key = first_key + j;
                    if key >= first && key < last {
                        let weight = exp(max(scores[j] - most, -100.0));
                        tile += weight;
                        for (var c = 0u; c < VECTORS; c++) { sum[c] += weight * values[j * VECTORS + c]; }
                    }
                }
                total += tile;
            }
            workgroupBarrier();
        }
    }
    if is_query {
        softmax[row * p.heads + head] = vec2<f32>(largest, total);
        for (var c = 0u; c < VECTORS; c++) { out[row * d + of_head + c] = sum[c] / total; }
    }
}
