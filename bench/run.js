// Measures the engines in Chromium; started by `cargo xtask bench`, which builds them.
import { mkdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { cold, growth } from "./cold.js";
import { ENGINES, MODELS, size } from "./engines.js";
import { limits } from "./limits.js";
import { native } from "./native.js";
import { bundle, exportModels, OUT, ROOT, writeTokens } from "./prepare.js";
import { keep, print } from "./report.js";
import { serve } from "./server.js";
import { speed } from "./speed.js";
import { training } from "./training.js";

const PARTS = ["speed", "cold", "growth", "limits", "native", "training"];
/** The longest window that is measured, and its last target. */
const TOKENS = 16_385;

const { values } = parseArgs({
  options: {
    parts: { type: "string", default: "speed,cold,growth,limits" },
    engines: { type: "string", default: Object.keys(ENGINES).join() },
    models: { type: "string", default: Object.keys(MODELS).join() },
    sizes: { type: "string", default: "16x128,8x512,2x2048,1x8192" },
    rounds: { type: "string", default: "5" },
    patience: { type: "string", default: "60" },
  },
});

/** The names in a list, each of which must be known. */
function chosen(list, known, what) {
  const names = list.split(",");
  const wrong = names.find((name) => !known.includes(name));
  if (wrong) throw new Error(`there is no ${what} "${wrong}"; there are ${known.join(", ")}`);
  return names;
}

const parts = chosen(values.parts, PARTS, "part");
const engines = chosen(values.engines, Object.keys(ENGINES), "engine");
const models = chosen(values.models, Object.keys(MODELS), "model");
const sizes = values.sizes.split(",").map(size);
const [rounds, patience] = [Number(values.rounds), Number(values.patience)];

mkdirSync(OUT, { recursive: true });
await bundle();
await writeTokens(TOKENS);
if (["speed", "cold", "growth"].some((part) => parts.includes(part)) && engines.some((name) => name.startsWith("ort"))) {
  try {
    exportModels(models);
  } catch (error) {
    // Its rows will say that they have no model.
    console.error(`No ONNX models: Python 3 with venv is needed (${String(error.message).split("\n")[0]})`);
  }
}
const servers = { plain: await serve(ROOT, false), isolated: await serve(ROOT, true) };
const note = (line) => console.error(line);
try {
  for (const model of parts.includes("speed") ? models : []) {
    console.error(`\n— ${MODELS[model]}: tokens per second —`);
    keep("speed", model, await speed(servers, { model, engines, sizes, rounds, patience, note }));
  }
  if (parts.includes("cold")) {
    console.error("\n— from a cold load to the first answer —");
    keep("cold", "alibi", await cold(servers, { engines, rounds: Math.min(rounds, 3), patience, note }));
  }
  if (parts.includes("growth")) {
    console.error("\n— one window, longer and longer —");
    keep("growth", "alibi", await growth(servers, { engines, patience, note }));
  }
  if (parts.includes("limits")) {
    console.error("\n— matrix products beside the best kernels —");
    keep("limits", "shapes", await limits(servers, { rounds, note }));
  }
  for (const model of parts.includes("native") ? models : []) {
    console.error(`\n— ${MODELS[model]}: natively, one thread —`);
    keep("native", model, native({ model, sizes, rounds }));
  }
  if (parts.includes("training")) {
    console.error("\n— steps of training —");
    keep("training", "alibi", training({ rounds, note }));
  }
} finally {
  servers.plain.close();
  servers.isolated.close();
}
print();
