// One engine in one page. The address says which: `?adapter=NAME`, and what the adapter is told. An adapter exports
// `load(checkpoint, options)`, which gives `{ run(tokens, windows, length), about }`: tokens are `[windows][T + 1]`,
// and `run` promises the losses `[windows][T]` in nats.
const options = Object.fromEntries(new URLSearchParams(location.search));

let engine;
let tokens;

const bytes = async (path) => (await fetch(path)).arrayBuffer();

/** Windows of T + 1 tokens that follow one another; each begins with the last one's last target. */
function cut(windows, length) {
  const batch = new Uint32Array(windows * (length + 1));
  for (let w = 0; w < windows; w++) batch.set(tokens.subarray(w * length, (w + 1) * length + 1), w * (length + 1));
  return batch;
}

window.bench = {
  /** Loads the engine with the model; gives one sentence about it. */
  async load() {
    const [checkpoint, words, adapter] = await Promise.all([
      bytes(`/www/checkpoints/${options.model}.safetensors`),
      bytes("/out/bench/tokens.bin"),
      import(`/out/bench/page/${options.adapter}.js`),
    ]);
    tokens = new Uint32Array(words);
    engine = await adapter.load(checkpoint, options);
    return String(engine.about ?? "");
  },
  /** The losses of one batch, and the milliseconds since the page was asked for. */
  async check(windows, length) {
    const losses = await engine.run(cut(windows, length), windows, length);
    return { losses: Array.from(losses), since: performance.now() };
  },
  /** Milliseconds of one run. */
  async time(windows, length) {
    const batch = cut(windows, length);
    const start = performance.now();
    await engine.run(batch, windows, length);
    return performance.now() - start;
  },
};
document.documentElement.dataset.ready = "bench";
