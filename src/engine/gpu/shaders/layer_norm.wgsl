// Twin of cpu/layer_norm.rs. One workgroup normalises one row.
struct Parameters { rows: u32, d: u32, epsilon: f32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<f32>;
@group(0) @binding(3) var<storage, read> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

const THREADS: u32 = 64u;
var<workgroup> partial: array<f32, THREADS>;

// The sum over the workgroup, for every thread.
fn total(thread: u32, value: f32) -> f32 {
    partial[thread] = value;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half { partial[thread] += partial[thread + half]; }
        workgroupBarrier();
    }
    let sum = partial[0];
    workgroupBarrier();
    return sum;
}

@compute @workgroup_size(THREADS)
fn main(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let row = group.x + group.y * groups.x;
    // A whole workgroup leaves or stays: the barriers below stay uniform.
    if row >= p.rows { return; }
    let start = row * p.d;
    var sum = 0.0;
    for (var c = thread; c < p.d; c += THREADS) { sum += x[start + c]; }
    let mean = total(thread, sum) / f32(p.d);
    var squares = 0.0;
    for (var c = thread; c < p.d; c += THREADS) {
        let centred = x[start + c] - mean;
        squares += centred * centred;
    }
    let scale = 1.0 / sqrt(total(thread, squares) / f32(p.d) + p.epsilon);
    for (var c = thread; c < p.d; c += THREADS) {
        out[start + c] = (x[start + c] - mean) * scale * weight[c] + bias[c];
    }
}
