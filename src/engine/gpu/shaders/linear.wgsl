// Twin of cpu/linear.rs: out[rows][outputs] = x[rows][inputs] · weight + bias, and what follows it.
// The weight lies transposed, [inputs][panels] with a panel of 4 outputs, padded with zeros to 8 outputs.
// A thread computes 8 rows by 8 columns in registers: on a software adapter faster than any tile in
// workgroup memory that was tried.
struct Parameters { rows: u32, inputs: u32, outputs: u32, panels: u32, then: u32 }

// What is done to the outputs while they are at hand.
const STORE: u32 = 0u;
const RESIDUAL: u32 = 1u;
const GELU: u32 = 2u;
const GELU_TANH: u32 = 3u;

@group(0) @binding(0) var<uniform> p: Parameters;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read> weight: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read> bias: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

fn tanh_of(v: f32) -> f32 {
    return 1.0 - 2.0 / (exp(2.0 * clamp(v, -20.0, 20.0)) + 1.0);
}

// The error function to 1.5e-7 (Abramowitz & Stegun 7.1.26).
fn erf_of(v: f32) -> f32 {
    let a = abs(v);
    let t = 1.0 / (1.0 + 0.3275911 * a);
    let series = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    return sign(v) * (1.0 - series * exp(-a * a));
}

fn store(row: u32, column: u32, value: f32) {
    if row >= p.rows || column >= p.outputs { return; }
    let at = row * p.outputs + column;
    switch p.then {
        case RESIDUAL: { out[at] += value; }
        case GELU: { out[at] = 0.5 * value * (1.0 + erf_of(value * 0.70710678)); }
        case GELU_TANH: {
            out[at] = 0.5 * value * (1.0 + tanh_of(0.7978845608 * (value + 0.044715 * value * value * value)));
        }
        default: { out[at] = value; }
    }
}

fn store_pair(row: u32, column: u32, first: vec4<f32>, second: vec4<f32>) {
    store(row, column, first.x);
    store(row, column + 1u, first.y);
    store(row, column + 2u, first.z);
    store(row, column + 3u, first.w);
    store(row, column + 4u, second.x);
    store(row, column + 5u, second.y);
    store(row, column + 6u, second.z);
    store(row, column + 7u, second.w);
}

@compute @workgroup_size(8, 8)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let panel = id.x * 2u;
    let row = id.y * 8u;
    if panel >= p.panels || row >= p.rows { return; }
    let last = p.rows - 1u;
    let x0 = min(row + 0u, last) * p.inputs;
    let x1 = min(row + 1u, last) * p.inputs;
    let x2 = min(row + 2u, last) * p.inputs;
    let x3 = min(row + 3u, last) * p.inputs;
    let x4 = min(row + 4u, last) * p.inputs;
    let x5 = min(row + 5u, last) * p.inputs;
    let x6 = min(row + 6u, last) * p.inputs;
    let x7 = min(row + 7u, last) * p.inputs;
    let bias0 = bias[panel];
    let bias1 = bias[panel + 1u];
    var a0 = bias0;
    var b0 = bias1;
    var a1 = bias0;
    var b1 = bias1;
    var a2 = bias0;
    var b2 = bias1;
    var a3 = bias0;
    var b3 = bias1;
    var a4 = bias0;
    var b4 = bias1;
    var a5 = bias0;
    var b5 = bias1;
    var a6 = bias0;
    var b6 = bias1;
    var a7 = bias0;
    var b7 = bias1;
    var at = panel;
    for (var k = 0u; k < p.inputs; k++) {
        let w0 = weight[at];
        let w1 = weight[at + 1u];
        at += p.panels;
        let v0 = x[x0 + k];
        a0 += v0 * w0;
        b0 += v0 * w1;
        let v1 = x[x1 + k];
        a1 += v1 * w0;
        b1 += v1 * w1;
        let v2 = x[x2 + k];
        a2 += v2 * w0;
        b2 += v2 * w1;
        let v3 = x[x3 + k];
        a3 += v3 * w0;
        b3 += v3 * w1;
        let v4 = x[x4 + k];
        a4 += v4 * w0;
        b4 += v4 * w1;
        let v5 = x[x5 + k];
        a5 += v5 * w0;
        b5 += v5 * w1;
        let v6 = x[x6 + k];
        a6 += v6 * w0;
        b6 += v6 * w1;
        let v7 = x[x7 + k];
        a7 += v7 * w0;
        b7 += v7 * w1;
    }
    let column = panel * 4u;
    store_pair(row + 0u, column, a0, b0);
    store_pair(row + 1u, column, a1, b1);
    store_pair(row + 2u, column, a2, b2);
    store_pair(row + 3u, column, a3, b3);
    store_pair(row + 4u, column, a4, b4);
    store_pair(row + 5u, column, a5, b5);
    store_pair(row + 6u, column, a6, b6);
    store_pair(row + 7u, column, a7, b7);
}
