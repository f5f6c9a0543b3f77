// Matrix products in WGSL and nothing else, in several shapes: `out[m][n] = a[m][k] · b[k][n]`.

const each = (count, text) => Array.from({ length: count }, (_, i) => text(i)).join("");

const header = ({ m, k, n }, left) => `
  const M = ${m}u; const K = ${k}u; const N4 = ${n / 4}u;
  @group(0) @binding(0) var<storage, read> a: array<${left}>;
  @group(0) @binding(1) var<storage, read> b: array<vec4f>;
  @group(0) @binding(2) var<storage, read_write> out: array<vec4f>;`;

/** Every invocation a tile of `rows` × 4 · `columns` in registers; what it needs comes from the caches. `depth` is how
 *  many numbers of a row one load takes. */
function inRegisters(shape, rows, columns, depth) {
  const { m, n } = shape;
  const across = n / (4 * columns);
  if (m % rows || n % (4 * columns) || shape.k % depth) return undefined;
  const part = (j) => (depth === 1 ? "" : `.${"xyzw"[j]}`);
  const code = `${header(shape, depth === 1 ? "f32" : "vec4f")}
  @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
    let column = id.x % ${across}u * ${columns}u; let row = id.x / ${across}u * ${rows}u;
    if (row >= M) { return; }
    ${each(rows, (r) => each(columns, (c) => `var s${r}_${c} = vec4f();`))}
    for (var d = 0u; d < K / ${depth}u; d++) {
      ${each(rows, (r) => `let a${r} = a[(row + ${r}u) * (K / ${depth}u) + d];`)}
      ${each(depth, (j) => `{ ${each(columns, (c) => `let b${c} = b[(d * ${depth}u + ${j}u) * N4 + column + ${c}u];`)}
        ${each(rows, (r) => each(columns, (c) => `s${r}_${c} += a${r}${part(j)} * b${c};`))} }`)}
    }
    ${each(rows, (r) => each(columns, (c) => `out[(row + ${r}u) * N4 + column + ${c}u] = s${r}_${c};`))}
  }`;
  return { code, groups: [Math.ceil((m / rows) * across / 64), 1] };
}

/** A workgroup a tile of 16 · rows × 64, both matrices going through its shared memory, 16 deep at a time. */
function inSharedMemory(shape, rows, side) {
  const { m, n, k } = shape;
  const [height, threads] = [side * rows, side * 16];
  if (m % height || n % 64 || k % 16) return undefined;
  const code = `${header(shape, "f32")}
  var<workgroup> left: array<f32, ${height * 16}>;
  var<workgroup> right: array<vec4f, 256>;
  @compute @workgroup_size(16, ${side}) fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) at: vec3u, @builtin(local_invocation_index) index: u32) {
    let row = group.y * ${height}u; let column = group.x * 16u;
    ${each(rows, (r) => `var s${r} = vec4f();`)}
    for (var d = 0u; d < K; d += 16u) {
      for (var e = index; e < ${height * 16}u; e += ${threads}u) { left[e % 16u * ${height}u + e / 16u] = a[(row + e / 16u) * K + d + e % 16u]; }
      for (var e = index; e < 256u; e += ${threads}u) { right[e] = b[(d + e / 16u) * N4 + column + e % 16u]; }
      workgroupBarrier();
      for (var j = 0u; j < 16u; j++) {
        let line = right[j * 16u + at.x]; let first = j * ${height}u + at.y * ${rows}u;
        ${each(rows, (r) => `s${r} += left[first + ${r}u] * line;`)}
      }
      workgroupBarrier();
    }
    ${each(rows, (r) => `out[(row + at.y * ${rows}u + ${r}u) * N4 + column + at.x] = s${r};`)}
  }`;
  return { code, groups: [n / 64, m / height] };
}

function sources(shape) {
  const all = {};
  for (const rows of [4, 8]) {
    for (const columns of [1, 2]) {
      for (const depth of [1, 4]) all[`registers ${rows} × ${4 * columns}, ${depth} deep`] = inRegisters(shape, rows, columns, depth);
    }
  }
  for (const [rows, side] of [[4, 16], [8, 8], [4, 8]]) all[`shared ${rows * side} × 64, ${side * 16} threads`] = inSharedMemory(shape, rows, side);
  return Object.entries(all).filter(([, source]) => source);
}

/** Every variant by name: `run(repeats)` multiplies so often and waits; `agrees` reads the product back. */
export async function gpuVariants(shape, left, right, isRight) {
  const adapter = await navigator.gpu.requestAdapter();
  const device = await adapter.requestDevice();
  const { STORAGE, COPY_DST, COPY_SRC, MAP_READ } = GPUBufferUsage;
  const upload = (data) => {
    const buffer = device.createBuffer({ size: data.byteLength, usage: STORAGE | COPY_DST });
    device.queue.writeBuffer(buffer, 0, data);
    return buffer;
  };
  const size = shape.m * shape.n * 4;
  const out = device.createBuffer({ size, usage: STORAGE | COPY_SRC });
  const staging = device.createBuffer({ size, usage: COPY_DST | MAP_READ });
  const buffers = [upload(left), upload(right), out];

  const variants = {};
  for (const [name, { code, groups }] of sources(shape)) {
    const pipeline = await device.createComputePipelineAsync({ layout: "auto", compute: { module: device.createShaderModule({ code }), entryPoint: "main" } });
    const entries = buffers.map((buffer, binding) => ({ binding, resource: { buffer } }));
    const group = device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
    const run = async (repeats) => {
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      for (let i = 0; i < repeats; i++) pass.dispatchWorkgroups(...groups);
      pass.end();
      device.queue.submit([encoder.finish()]);
      await device.queue.onSubmittedWorkDone();
    };
    const agrees = async () => {
      await run(1);
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(out, 0, staging, 0, size);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(GPUMapMode.READ);
      const good = isRight(new Float32Array(staging.getMappedRange()));
      staging.unmap();
      return good;
    };
    variants[name] = { run, agrees };
  }
  return variants;
}
