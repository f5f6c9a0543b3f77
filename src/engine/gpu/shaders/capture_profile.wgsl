// Twin of cpu/capture.rs, capture_profile: mean attention by distance of the first window, and the mean of
// −p ln p by distance.
// A thread computes one distance of one head. Partial sums of 64 keep the rounding small.
struct Parameters { length: u32, heads: u32, d_head: u32, has_bias: u32, score_scale: f32, far_from: u32, far_keys: u32, far_last: u32, has_far_qk: u32, start: u32, entropy: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read> far_qk: array<f32>;
@group(0) @binding(4) var<storage, read> softmax: array<vec2<f32>>;
// Twice [layers][heads][length]: this layer's weights begin at `start`, its entropies at `entropy`.
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let distance = id.x;
    let head = id.y;
    if distance >= p.length { return; }
    let is_far = distance >= p.far_from;
    let is_turned = is_far && p.has_far_qk != 0u;
    let d_model = p.heads * p.d_head;
    let width = select(3u, 2u, is_turned) * d_model;
    // Queries up to this one see the key at that distance.
    let last = select(p.length, min(p.length, distance + p.far_keys), is_far);
    var sum = 0.0;
    var entropy = 0.0;
    var query = distance;
    while query < last {
        var part = 0.0;
        var entropy_part = 0.0;
        let end = min(query + 64u, last);
        for (; query < end; query++) {
            let key = query - distance;
            let q = query * width + head * p.d_head;
            let k = key * width + d_model + head * p.d_head;
            var score = 0.0;
            if is_turned {
                for (var c = 0u; c < p.d_head; c++) { score += far_qk[q + c] * far_qk[k + c]; }
            } else {
                for (var c = 0u; c < p.d_head; c++) { score += qkv[q + c] * qkv[k + c]; }
            }
            let position = select(query, min(query, p.far_last), is_far);
            var shift = 0.0;
            if p.has_bias != 0u { shift = bias[head * p.length + position - min(position, key)]; }
            let stats = softmax[query * p.heads + head];
            let power = max(score * p.score_scale + shift - stats.x, -100.0);
            let weight = exp(power) / stats.y;
            part += weight;
            entropy_part += weight * (log(stats.y) - power);
        }
        sum += part;
        entropy += entropy_part;
    }
    let at = head * p.length + distance;
    out[p.start + at] = sum / f32(p.length - distance);
    out[p.entropy + at] = entropy / f32(p.length - distance);
}
