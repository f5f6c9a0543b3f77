// The engines that are measured. A `group` is what may be compared: one thread, more threads, or the GPU; in each
// the first is ours.
import { availableParallelism } from "node:os";

const threads = Math.max(2, Math.min(4, availableParallelism()));

export const ENGINES = {
  "ours-cpu": { title: "Longview, CPU", group: "WASM, 1 thread", adapter: "ours", engine: "cpu" },
  "ort-wasm": { title: "onnxruntime-web, WASM", group: "WASM, 1 thread", adapter: "onnxruntime", provider: "wasm", attention: "fused", threads: 1 },
  "jax-wasm": { title: "jax-js, WASM", group: "WASM, 1 thread", adapter: "jax", device: "wasm" },
  "tfjs-wasm": { title: "TensorFlow.js, WASM", group: "WASM, 1 thread", adapter: "tensorflow-wasm" },
  "ours-workers": { title: `Longview, CPU, ${threads} workers`, group: `WASM, ${threads} threads`, adapter: "ours-workers", threads },
  "ort-wasm-threads": {
    title: `onnxruntime-web, WASM, ${threads} threads`,
    group: `WASM, ${threads} threads`,
    adapter: "onnxruntime",
    provider: "wasm",
    attention: "fused",
    threads,
    isolated: true,
  },
  "ours-gpu": { title: "Longview, WebGPU", group: "WebGPU", adapter: "ours", engine: "gpu" },
  // With its fused attention the losses on WebGPU are wrong: by 9.5 nats at 16 × 128.
  "ort-webgpu": { title: "onnxruntime-web, WebGPU", group: "WebGPU", adapter: "onnxruntime", provider: "webgpu", attention: "plain", threads: 1 },
  "jax-webgpu": { title: "jax-js, WebGPU", group: "WebGPU", adapter: "jax", device: "webgpu" },
  "tfjs-webgpu": { title: "TensorFlow.js, WebGPU", group: "WebGPU", adapter: "tensorflow-webgpu" },
};

/** The engine that another is compared with. */
export const ours = (name) => Object.keys(ENGINES).find((own) => ENGINES[own].group === ENGINES[name].group);

export const isOurs = (name) => ours(name) === name;

export const MODELS = { alibi: "ALiBi", rotary: "rotary", t5_bias: "T5 bias" };

/** `16x128` → windows and length. */
export function size(text) {
  const found = /^(\d+)x(\d+)$/.exec(text);
  if (!found) throw new Error(`"${text}" is no size: write windows x length, as in 16x128`);
  return { text, windows: Number(found[1]), length: Number(found[2]) };
}
