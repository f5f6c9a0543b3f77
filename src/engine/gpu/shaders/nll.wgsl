// Twin of cpu/nll.rs, from the logits on. One workgroup reduces one row to the largest logit, the sum of
// the exponentials less it, and the target's logit; the logarithm is taken on the CPU in f64.
struct Parameters { rows: u32, vocabulary: u32 }

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> logits: array<f32>;
@group(0) @binding(2) var<storage, read> targets: array<u32>;
// [rows][3]
@group(0) @binding(3) var<storage, read_write> out: array<f32>;

const THREADS: u32 = 64u;
var<workgroup> partial: array<f32, THREADS>;

@compute @workgroup_size(THREADS)
fn main(
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let row = group.x + group.y * groups.x;
    // A whole workgroup leaves or stays: the barriers below stay uniform.
    if row >= p.rows { return; }
    let start = row * p.vocabulary;
    var most = -1e30;
    for (var c = thread; c < p.vocabulary; c += THREADS) { most = max(most, logits[start + c]); }
    partial[thread] = most;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half { partial[thread] = max(partial[thread], partial[thread + half]); }
        workgroupBarrier();
    }
    most = partial[0];
    workgroupBarrier();
    var sum = 0.0;
    for (var c = thread; c < p.vocabulary; c += THREADS) { sum += exp(max(logits[start + c] - most, -100.0)); }
    partial[thread] = sum;
    workgroupBarrier();
    for (var half = THREADS / 2u; half > 0u; half /= 2u) {
        if thread < half { partial[thread] += partial[thread + half]; }
        workgroupBarrier();
    }
    if thread == 0u {
        out[row * 3u] = most;
        out[row * 3u + 1u] = partial[0];
        out[row * 3u + 2u] = logits[start + targets[row]];
    }
}
