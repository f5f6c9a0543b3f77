// Longview: `engine=cpu` or `engine=gpu`.
import init, { Bench } from "../../out/checks/engine.js";
import { hasRelaxedSimd } from "../../www/simd.js";

/** The file of the engine's module that readers of this browser get; bundled, the script stands elsewhere than it. */
export const moduleFile = () => (hasRelaxedSimd() ? "engine_relaxed_bg.wasm" : "engine_bg.wasm");

export async function load(checkpoint, { engine }) {
  await init({ module_or_path: `/out/checks/${moduleFile()}` });
  const bench = await Bench.load(engine, new Uint8Array(checkpoint));
  return { about: bench.engine(), run: (tokens, windows, length) => bench.run(tokens, windows, length) };
}
