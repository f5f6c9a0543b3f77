// Twin of cpu/layer_norm.rs. A thread normalises one row: rows are short, and barriers cost more than the
// few vectors that threads could share. A row has d values in `vectors` vectors of four, zeros at its end.
struct Parameters { rows: u32, d: u32, vectors: u32, epsilon: f32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4<f32>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = id.x + id.y * groups.x * 32u;
    if row >= p.rows { return; }
    let start = row * p.vectors;
    var sum = vec4<f32>(0.0);
    for (var c = 0u; c < p.vectors; c++) { sum += x[start + c]; }
    let mean = (sum.x + sum.y + sum.z + sum.w) / f32(p.d);
    var squares = vec4<f32>(0.0);
    for (var c = 0u; c < p.vectors; c++) {
        // The zeros after the row's end are not of it.
        let of_row = vec4<f32>(vec4<u32>(0u, 1u, 2u, 3u) + c * 4u < vec4<u32>(p.d));
        let centred = (x[start + c] - mean) * of_row;
        squares += centred * centred;
    }
    let scale = 1.0 / sqrt((squares.x + squares.y + squares.z + squares.w) / f32(p.d) + p.epsilon);
    for (var c = 0u; c < p.vectors; c++) {
        out[start + c] = (x[start + c] - mean) * scale * weight[c] + bias[c];
    }
}
