// Twin of cpu/embed.rs: out[rows][d] = embedding[token] · scale + table[row mod length]; d in vectors of four.
struct Parameters { rows: u32, length: u32, d: u32, has_table: u32, scale: f32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read> embedding: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> table: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4<f32>>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let index = id.x + id.y * groups.x * 64u;
    if index >= p.rows * p.d { return; }
    let row = index / p.d;
    let column = index % p.d;
    var value = embedding[tokens[row] * p.d + column] * p.scale;
    if p.has_table != 0u {
        value += table[(row % p.length) * p.d + column];
    }
    out[index] = value;
}
