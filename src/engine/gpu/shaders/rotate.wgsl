// Twin of cpu/rotate.rs: turns pairs of q and k in place; rows of qk[rows][width] begin with them.
struct Parameters { rows: u32, length: u32, heads: u32, d_head: u32, pairs: u32, interleaved: u32, width: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> cosines: array<f32>;
@group(0) @binding(2) var<storage, read> sines: array<f32>;
// Those of the keys; the same buffers where keys turn as queries do.
@group(0) @binding(3) var<storage, read> key_cosines: array<f32>;
@group(0) @binding(4) var<storage, read> key_sines: array<f32>;
@group(0) @binding(5) var<storage, read_write> qk: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = id.x + id.y * groups.x * 64u;
    // The first 2 · heads blocks of d_head are the queries and keys.
    let turned = 2u * p.heads * p.pairs;
    if index >= p.rows * turned { return; }
    let row = index / turned;
    let head = index % turned / p.pairs;
    let pair = index % p.pairs;
    let angle = (row % p.length) * p.pairs + pair;
    var cosine = cosines[angle];
    var sine = sines[angle];
    if head >= p.heads {
        cosine = key_cosines[angle];
        sine = key_sines[angle];
    }
    let start = row * p.width + head * p.d_head;
    var first = start + pair;
    var second = first + p.pairs;
    if p.interleaved != 0u {
        first = start + 2u * pair;
        second = first + 1u;
    }
    let a = qk[first];
    let b = qk[second];
    qk[first] = a * cosine - b * sine;
    qk[second] = a * sine + b * cosine;
}
