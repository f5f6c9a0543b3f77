// A thread computes {R} rows by {C} panels in registers, with no memory shared: the fastest of those tried on
// software adapters, where barriers and loads cost most.
const ROWS: u32 = {R}u;
const PANELS: u32 = {C}u;

@compute @workgroup_size(8, 4)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let panel = id.x * PANELS;
    let row = id.y * ROWS;
    if panel >= p.outputs || row >= p.rows { return; }
    let panel{c} = min(panel + {c}u, p.outputs - 1u);
    let x{r} = min(row + {r}u, p.rows - 1u) * p.inputs;
    var a{r}_{c} = bias[panel{c}];
    for (var k = 0u; k < p.inputs; k++) {
        let w{c} = weight[k * p.outputs + panel{c}];
        let v{r} = x[x{r} + k];
        a{r}_{c} += w{c} * v{r};
    }
    sums[{r}u * PANELS + {c}u] = a{r}_{c};
    finish(row, 1u, panel, 1u, id.x);
}
