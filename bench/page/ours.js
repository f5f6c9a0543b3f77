// Longview: `engine=cpu` or `engine=gpu`.
import init, { Bench } from "../../out/checks/engine.js";

export async function load(checkpoint, { engine }) {
  // Bundled, the script stands elsewhere than the module.
  await init({ module_or_path: "/out/checks/engine_bg.wasm" });
  const bench = await Bench.load(engine, new Uint8Array(checkpoint));
  return { about: bench.engine(), run: (tokens, windows, length) => bench.run(tokens, windows, length) };
}
