// Twin of cpu/smear.rs: keys of qkv[rows][3 · heads · d_head] become (1 − s)·k_t + s·k_(t−1), with k from
// before[rows][2 · heads · d_head] and the head's own share s.
struct Parameters { rows: u32, length: u32, heads: u32, d_head: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> before: array<f32>;
@group(0) @binding(2) var<storage, read> share: array<f32>;
@group(0) @binding(3) var<storage, read_write> qkv: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = id.x + id.y * groups.x * 64u;
    let d_model = p.heads * p.d_head;
    if index >= p.rows * d_model { return; }
    let row = index / d_model;
    let c = index % d_model;
    let at = row * 2u * d_model + d_model + c;
    var previous = 0.0;
    if row % p.length > 0u { previous = before[at - 2u * d_model]; }
    let s = share[c / p.d_head];
    qkv[row * 3u * d_model + d_model + c] = (1.0 - s) * before[at] + s * previous;
}
