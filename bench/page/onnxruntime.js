// onnxruntime-web: `provider=wasm` or `webgpu`, `attention=fused` (its own operator) or `plain`, `threads=N`. Its files are loaded as it ships them.
import { sourcesAndTargets } from "./windows.js";

const DIST = "/bench/node_modules/onnxruntime-web/dist/";

export async function load(_checkpoint, { provider, attention, threads, model }) {
  const ort = await import(`${DIST}ort.${provider}.min.mjs`);
  ort.env.wasm.wasmPaths = DIST;
  ort.env.wasm.numThreads = Number(threads ?? 1);
  ort.env.logLevel = "error";
  const graph = new Uint8Array(await (await fetch(`/out/bench/onnx/${model}-${attention}.onnx`)).arrayBuffer());
  let of = "";
  let session;
  // One session for each size: with the sizes known, the biases are computed once instead of in each run.
  async function prepare(windows, length) {
    if (of === `${windows}x${length}`) return;
    await session?.release();
    of = "";
    session = await ort.InferenceSession.create(graph, {
      executionProviders: [provider],
      graphOptimizationLevel: "all",
      freeDimensionOverrides: { windows, length },
    });
    of = `${windows}x${length}`;
  }
  return {
    about: `onnxruntime-web ${ort.env.versions.web}, ${provider}, ${ort.env.wasm.numThreads} threads, isolated: ${self.crossOriginIsolated}`,
    async run(tokens, windows, length) {
      await prepare(windows, length);
      const [sources, targets] = sourcesAndTargets(tokens, windows, length);
      const shape = [windows, length];
      const { losses } = await session.run({
        sources: new ort.Tensor("int32", sources, shape),
        targets: new ort.Tensor("int32", targets, shape),
      });
      return losses.data;
    },
  };
}
