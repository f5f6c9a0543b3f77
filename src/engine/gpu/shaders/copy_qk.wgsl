// Twin of cpu/copy_qk.rs: out[rows][2 · d_model] are the queries and keys of qkv[rows][3 · d_model].
struct Parameters { rows: u32, d_model: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> qkv: array<f32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = id.x + id.y * groups.x * 64u;
    let width = 2u * p.d_model;
    if index >= p.rows * width { return; }
    out[index] = qkv[index / width * 3u * p.d_model + index % width];
}
