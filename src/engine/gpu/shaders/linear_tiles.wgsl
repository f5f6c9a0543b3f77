// A workgroup computes 64 rows by 64 outputs, {K} vectors of inputs at a time in memory that its threads
// share; a thread {R} rows by {C} panels, each 8 apart, so that neighbours read neighbouring memory.
const ROWS: u32 = {R}u;
const PANELS: u32 = {C}u;
const INPUTS: u32 = {K}u;

// [INPUTS][64 rows]
var<workgroup> rows: array<vec4<f32>, INPUTS * 64u>;
// [INPUTS · 4][16 panels]
var<workgroup> columns: array<vec4<f32>, INPUTS * 64u>;

@compute @workgroup_size(8, 8)
fn main(
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
    @builtin(workgroup_id) group: vec3<u32>,
) {
    let first_row = group.y * 64u;
    let first_panel = group.x * 16u;
    let panel = first_panel + local.x;
    let row = first_row + local.y;
    var a{r}_{c} = bias[min(panel + {c}u * 8u, p.outputs - 1u)];
    for (var first = 0u; first < p.inputs; first += INPUTS) {
        for (var cell = thread; cell < INPUTS * 64u; cell += 64u) {
            let k = first + cell % INPUTS;
            let of_row = min(first_row + cell / INPUTS, p.rows - 1u) * p.inputs;
            // Zeros past the last input: what the weight's tile has there does not count.
            rows[cell % INPUTS * 64u + cell / INPUTS] = select(vec4<f32>(0.0), x[of_row + min(k, p.inputs - 1u)], k < p.inputs);
        }
        for (var cell = thread; cell < INPUTS * 16u; cell += 64u) {
            let k = min(first + cell / 16u, p.inputs - 1u);
            let block = weight[k * p.outputs + min(first_panel + cell % 16u, p.outputs - 1u)];
            let at = cell / 16u * 64u + cell % 16u;
            columns[at] = block[0];
            columns[at + 16u] = block[1];
            columns[at + 32u] = block[2];
            columns[at + 48u] = block[3];
        }
        workgroupBarrier();
        for (var k = 0u; k < INPUTS; k++) {
            let at{c} = k * 64u + local.x + {c}u * 8u;
            let w{c} = mat4x4<f32>(columns[at{c}], columns[at{c} + 16u], columns[at{c} + 32u], columns[at{c} + 48u]);
            let v{r} = rows[k * 64u + local.y + {r}u * 8u];
            a{r}_{c} += w{c} * v{r};
        }
        workgroupBarrier();
    }
    sums[{r}u * PANELS + {c}u] = a{r}_{c};
    finish(row, 8u, panel, 8u, group.x * 8u + local.x);
}
