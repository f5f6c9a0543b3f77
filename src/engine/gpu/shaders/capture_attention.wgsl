// Twin of cpu/capture.rs, capture_attention: heads of the first window from `head` on, one a workgroup in
// z, each pooled to side × side cells: a cell is the mean over its queries of the sum over its keys.
// `share` threads, a power of two, compute one cell: large cells are few, and would leave a GPU idle.
struct Parameters { length: u32, heads: u32, d_head: u32, has_bias: u32, score_scale: f32, far_from: u32, far_keys: u32, far_last: u32, has_far_qk: u32, head: u32, side: u32, start: u32, share: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read> far_qk: array<f32>;
@group(0) @binding(4) var<storage, read> softmax: array<vec2<f32>>;
// [heads][side][side]; the first of these heads begins at `start`.
@group(0) @binding(5) var<storage, read_write> out: array<f32>;

const THREADS: u32 = 64u;

var<workgroup> sums: array<f32, THREADS>;

fn probability(head: u32, query: u32, key: u32) -> f32 {
    let is_far = query - key >= p.far_from;
    if is_far && key >= p.far_keys { return 0.0; }
    let d_model = p.heads * p.d_head;
    var score = 0.0;
    if is_far && p.has_far_qk != 0u {
        let q = query * 2u * d_model + head * p.d_head;
        let k = key * 2u * d_model + d_model + head * p.d_head;
        for (var c = 0u; c < p.d_head; c++) { score += far_qk[q + c] * far_qk[k + c]; }
    } else {
        let q = query * 3u * d_model + head * p.d_head;
        let k = key * 3u * d_model + d_model + head * p.d_head;
        for (var c = 0u; c < p.d_head; c++) { score += qkv[q + c] * qkv[k + c]; }
    }
    score *= p.score_scale;
    let position = select(query, min(query, p.far_last), is_far);
    if p.has_bias != 0u { score += bias[head * p.length + position - min(position, key)]; }
    let stats = softmax[query * p.heads + head];
    return exp(max(score - stats.x, -100.0)) / stats.y;
}

// The first position that falls into a cell.
fn first(cell: u32) -> u32 {
    return (cell * p.length + p.side - 1u) / p.side;
}

@compute @workgroup_size(THREADS)
fn main(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3<u32>) {
    let cell = vec2<u32>(group.x * (THREADS / p.share) + thread / p.share, group.y);
    let part = thread % p.share;
    let queries = first(cell.y + 1u) - first(cell.y);
    var sum = 0.0;
    if cell.x < p.side {
        let keys = first(cell.x + 1u) - first(cell.x);
        for (var pair = part; pair < queries * keys; pair += p.share) {
            let query = first(cell.y) + pair / keys;
            let key = first(cell.x) + pair % keys;
            if key <= query { sum += probability(p.head + group.z, query, key); }
        }
    }
    sums[thread] = sum;
    workgroupBarrier();
    for (var reach = p.share / 2u; reach > 0u; reach /= 2u) {
        if part < reach { sums[thread] += sums[thread + reach]; }
        workgroupBarrier();
    }
    if part == 0u && cell.x < p.side {
        out[p.start + (group.z * p.side + cell.y) * p.side + cell.x] = sums[thread] / f32(queries);
    }
}
