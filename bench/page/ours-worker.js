// One of the workers of ours-workers.js: loads the checkpoint of its first message, then runs batches.
import { load } from "./ours.js";

let engine;

onmessage = async ({ data: { checkpoint, tokens, windows, length } }) => {
  try {
    if (checkpoint) {
      engine = await load(checkpoint, { engine: "cpu" });
      postMessage({ about: engine.about });
    } else {
      postMessage({ losses: await engine.run(tokens, windows, length) });
    }
  } catch (error) {
    postMessage({ error: String(error) });
  }
};
