// Twin of cpu/linear.rs: out[rows][outputs] = x[rows][inputs] · weight + bias, and what follows it. Inputs and
// outputs are counted in vectors of four. The weight lies in blocks of 4 × 4, [inputs][outputs]; a column of
// a block belongs to one input. What is here is common to the variants, whose files hold `main`.
struct Parameters { rows: u32, inputs: u32, outputs: u32, then: u32, parts: u32 }

// What is done to the outputs while they are at hand.
const RESIDUAL: u32 = 1u;
const GELU: u32 = 2u;
const GELU_TANH: u32 = 3u;
const LOSS: u32 = 4u;

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> weight: array<mat4x4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;
// [rows]; only the loss looks at them.
@group(0) @binding(4) var<storage, read> targets: array<u32>;
// [rows][outputs]; of the loss [rows][parts]: the largest logit of a part of the vocabulary, the sum of the
// exponentials less it, and the target's logit where it is in this part, else 0.
@group(0) @binding(5) var<storage, read_write> out: array<vec4<f32>>;

// A thread's outputs, [ROWS][PANELS].
var<private> sums: array<vec4<f32>, ROWS * PANELS>;

fn tanh_of(v: vec4<f32>) -> vec4<f32> {
    return 1.0 - 2.0 / (exp(2.0 * clamp(v, vec4<f32>(-20.0), vec4<f32>(20.0))) + 1.0);
}

// The error function to 1.5e-7 (Abramowitz & Stegun 7.1.26).
fn erf_of(v: vec4<f32>) -> vec4<f32> {
    let a = abs(v);
    let t = 1.0 / (1.0 + 0.3275911 * a);
    let series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    return sign(v) * (1.0 - series * exp(-a * a));
}

fn store(at: u32, value: vec4<f32>) {
    switch p.then {
        case RESIDUAL: { out[at] += value; }
        case GELU: { out[at] = 0.5 * value * (1.0 + erf_of(value * 0.70710678)); }
        case GELU_TANH: {
            out[at] = 0.5 * value * (1.0 + tanh_of(0.7978845608 * (value + 0.044715 * value * value * value)));
        }
        default: { out[at] = value; }
    }
}

// One row of logits: this thread's part of the softmax.
fn lose(row: u32, of_row: u32, panel: u32, panel_step: u32, part: u32) {
    var most = vec4<f32>(-1e30);
    for (var c = 0u; c < PANELS; c++) {
        if panel + c * panel_step < p.outputs { most = max(most, sums[of_row + c]); }
    }
    let largest = max(max(most.x, most.y), max(most.z, most.w));
    let chosen = targets[row];
    var sum = vec4<f32>(0.0);
    var logit = 0.0;
    for (var c = 0u; c < PANELS; c++) {
        let at = panel + c * panel_step;
        if at >= p.outputs { continue; }
        let four = sums[of_row + c];
        sum += exp(max(four - largest, vec4<f32>(-100.0)));
        if chosen / 4u == at { logit = four[chosen % 4u]; }
    }
    out[row * p.parts + part] = vec4<f32>(largest, sum.x + sum.y + sum.z + sum.w, logit, 0.0);
}

// Writes the thread's outputs: rows and panels from the first on, by steps.
fn finish(first_row: u32, row_step: u32, panel: u32, panel_step: u32, part: u32) {
    for (var r = 0u; r < ROWS; r++) {
        let row = first_row + r * row_step;
        if row >= p.rows { break; }
        if p.then == LOSS {
            lose(row, r * PANELS, panel, panel_step, part);
            continue;
        }
        for (var c = 0u; c < PANELS; c++) {
            let at = panel + c * panel_step;
            if at < p.outputs { store(row * p.outputs + at, sums[r * PANELS + c]); }
        }
    }
}
