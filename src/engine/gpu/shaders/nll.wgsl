// Twin of cpu/nll.rs, with linear.wgsl, which leaves a softmax in parts; a thread puts those of one row
// together: the largest logit, the sum of the exponentials less it, the target's logit. The logarithm is
// taken on the CPU in f64.
struct Parameters { rows: u32, parts: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
// [rows][parts]
@group(0) @binding(1) var<storage, read> softmax: array<vec4<f32>>;
// [rows][3]
@group(0) @binding(2) var<storage, read_write> out: array<f32>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let row = id.x + id.y * groups.x * 32u;
    if row >= p.rows { return; }
    var most = -1e30;
    for (var c = 0u; c < p.parts; c++) { most = max(most, softmax[row * p.parts + c].x); }
    var sum = 0.0;
    var chosen = 0.0;
    for (var c = 0u; c < p.parts; c++) {
        let part = softmax[row * p.parts + c];
        sum += part.y * exp(max(part.x - most, -100.0));
        chosen += part.z;
    }
    out[row * 3u] = most;
    out[row * 3u + 1u] = sum;
    out[row * 3u + 2u] = chosen;
}
