// Longview with the page's own helpers, `threads=N` in all.
import init, { Bench } from "../../out/checks/engine.js";
import { Helpers } from "../../www/helpers.js";
import { moduleFile } from "./ours.js";

/** Starts helpers as the page does, and waits until they are ready. */
async function helped(count) {
  const helpers = new Helpers();
  const module = await WebAssembly.compileStreaming(fetch(`/pkg/${moduleFile()}`));
  for (let id = 0; id < count; id++) {
    const worker = new Worker("/pkg/worker.js");
    const { port1, port2 } = new MessageChannel();
    worker.postMessage({ kind: "help", port: port1 }, [port1]);
    helpers.add(id, port2, module);
  }
  while (helpers.count < count) await new Promise((done) => setTimeout(done, 10));
  return helpers;
}

export async function load(checkpoint, { threads }) {
  await init({ module_or_path: `/out/checks/${moduleFile()}` });
  const bench = await Bench.shared(new Uint8Array(checkpoint), await helped(Number(threads) - 1));
  return { about: `${threads} workers: ${bench.engine()}`, run: (tokens, windows, length) => bench.run(tokens, windows, length) };
}
