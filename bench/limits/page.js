// The engines' matrix products beside kernels that do nothing else, for the shapes of the shipped models.
import init, { Product } from "/out/checks/engine.js";
import { gpuVariants } from "./wgsl.js";

const numbers = (count, step) => Float32Array.from({ length: count }, (_, i) => ((i * step) % 17) / 17 - 0.5);

/** A few values of the product, to see that a kernel computes what it should. */
function spots({ m, k, n }, a, b) {
  return [
    [0, 0],
    [m - 1, n - 1],
    [77 % m, 33 % n],
  ].map(([row, column]) => {
    let sum = 0;
    for (let depth = 0; depth < k; depth++) sum += a[row * k + depth] * b[depth * n + column];
    return [row * n + column, sum];
  });
}

const agrees = (expected, out) => expected.every(([index, value]) => Math.abs(out[index] - value) < 1e-3);

/** Kernels of one module by name, each a function that multiplies once. */
async function wasmVariants(file, shape) {
  const { m, k, n } = shape;
  const { instance } = await WebAssembly.instantiateStreaming(fetch(file));
  const { memory, reserve, pack, ...kernels } = instance.exports;
  const [a, b, out] = [reserve(m * k), reserve(k * n), reserve(m * n)];
  const room = reserve(64 * k);
  const [left, right] = [numbers(m * k, 7), numbers(k * n, 5)];
  new Float32Array(memory.buffer, a, m * k).set(left);
  new Float32Array(memory.buffer, b, k * n).set(right);
  const expected = spots(shape, left, right);
  const variants = {};
  for (const [name, kernel] of Object.entries(kernels)) {
    const [, rows, columns] = /^tile_(\d+)x(\d+)$/.exec(name) ?? [];
    if (!rows || m % rows || n % columns) continue;
    const packed = reserve(k * n);
    pack(b, packed, k, n, columns);
    for (const [how, space] of [["", 0], [" packed", room]]) {
      variants[`${rows} × ${columns}${how}`] = {
        run: (repeats) => {
          for (let i = 0; i < repeats; i++) kernel(m, k, n, a, packed, out, space);
        },
        agrees: () => agrees(expected, new Float32Array(memory.buffer, out, m * n)),
      };
    }
  }
  return variants;
}

/** Milliseconds of one product by name, kernels taking turns of `repeats` products each. */
async function race(kernels, rounds, repeats) {
  const times = Object.fromEntries(Object.keys(kernels).map((name) => [name, []]));
  for (let round = 0; round < rounds; round++) {
    for (const [name, { run }] of Object.entries(kernels)) {
      const start = performance.now();
      await run(repeats);
      if (round > 0) times[name].push((performance.now() - start) / repeats);
    }
  }
  for (const [name, { agrees }] of Object.entries(kernels)) {
    if (agrees && !(await agrees())) throw new Error(`the kernel ${name} computes wrongly`);
  }
  return times;
}

/** Times the CPU engine's product and every wasm kernel. */
window.cpuLimits = async (shape, rounds, repeats) => {
  await init();
  const own = await Product.load("cpu", shape.m, shape.k, shape.n);
  const kernels = { ours: { run: (repeats) => own.run(repeats) } };
  for (const [name, variant] of Object.entries(await wasmVariants("/out/bench/limits/simd128.wasm", shape))) kernels[`simd128 ${name}`] = variant;
  for (const [name, variant] of Object.entries(await wasmVariants("/out/bench/limits/relaxed.wasm", shape).catch(() => ({})))) {
    kernels[`relaxed ${name}`] = variant;
  }
  return race(kernels, rounds, repeats);
};

/** Times the GPU engine's product and every WGSL variant. */
window.gpuLimits = async (shape, rounds, repeats) => {
  await init();
  const own = await Product.load("gpu", shape.m, shape.k, shape.n);
  const [left, right] = [numbers(shape.m * shape.k, 7), numbers(shape.k * shape.n, 5)];
  const expected = spots(shape, left, right);
  const variants = await gpuVariants(shape, left, right, (out) => agrees(expected, out));
  return race({ ours: { run: (times) => own.run(times) }, ...variants }, rounds, repeats);
};
document.documentElement.dataset.ready = "limits";
