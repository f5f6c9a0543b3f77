// Longview on several workers, `threads=N`: each has a module of its own and a share of the windows.

/** Starts one worker and promises a function that runs a batch on it. */
function start(checkpoint) {
  const worker = new Worker("/out/bench/page/ours-worker.js", { type: "module" });
  const ask = (message) =>
    new Promise((done, fail) => {
      worker.onmessage = ({ data }) => (data.error ? fail(new Error(data.error)) : done(data));
      worker.onerror = ({ message }) => fail(new Error(message));
      worker.postMessage(message);
    });
  return ask({ checkpoint }).then(({ about }) => ({ about, run: (batch) => ask(batch).then(({ losses }) => losses) }));
}

export async function load(checkpoint, { threads }) {
  const workers = await Promise.all(Array.from({ length: Number(threads) }, () => start(checkpoint)));
  return {
    about: `${workers.length} workers: ${workers[0].about}`,
    async run(tokens, windows, length) {
      const share = Math.ceil(windows / workers.length);
      const parts = workers.map(({ run }, index) => {
        const [first, last] = [Math.min(windows, index * share), Math.min(windows, (index + 1) * share)];
        const part = tokens.slice(first * (length + 1), last * (length + 1));
        return last > first ? run({ tokens: part, windows: last - first, length }) : new Float32Array();
      });
      const losses = new Float32Array(windows * length);
      let at = 0;
      for (const part of await Promise.all(parts)) {
        losses.set(part, at);
        at += part.length;
      }
      return losses;
    },
  };
}
