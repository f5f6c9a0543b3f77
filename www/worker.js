// The engine's worker: loads the module, fetches what it needs, and shares its time out among what the views
// want. What a reader looks at (weights, attention) goes before the measurement; between two steps messages
// come through.
import { AttentionWorker } from "./attention-worker.js";
import { BoardWorker } from "./board-worker.js";
import init, { Laboratory } from "../pkg/engine.js";
import { telling } from "./download.js";
import { reason, Told } from "./told.js";
import { compile } from "./compile.js";
import { hasRelaxedSimd } from "./simd.js";
import { Files } from "./files.js";
import { GpuLoss, isGpuFailure } from "./gpu-loss.js";
import { Helpers, coresUsed, help } from "./helpers.js";
import { ownText, settingsOf, withPast } from "./run-settings.js";

/** Runs that nobody wants any more are kept, for who comes back; so many in all. */
const RUNS_KEPT = 12;

/** @type {Laboratory} */
let laboratory;
/** The engine's module, which helpers get as it is. @type {WebAssembly.Module} */
let module;
/** What views want, by id. @type {Map<number, any>} */
const wants = new Map();
/** Files that could not be had; asked for again only when the reader says so. */
const failed = new Set();
const models = new Set();
/** Number of tokens of each text. */
const texts = new Map();
/** The reader's own text: `{source, isCleaned}`; it came from the page and goes nowhere. */
let own = null;
/** Plans by run. */
const plans = new Map();
/** Runs whose points the page has let go. */
const forgotten = [];
let hasTokenizer = false;

/** The model of a variant such as `rotary?scaling=yarn`. */
const modelOf = (variant) => variant.split("?")[0];

/** The worker's own scope, where `self` would be a window's. @type {any} */
const scope = self;
const post = (message, transfer = []) => scope.postMessage(message, transfer);
const files = new Files(post);
const helpers = new Helpers((id) => post({ kind: "helper-lost", id }));
const loss = new GpuLoss(() => wake());
/** What the reader wants: "auto", "cpu" or "gpu". */
let choice;
let isOnCpu = false;
let hasAskedForHelp = false;
/** The module's memory. @type {WebAssembly.Memory} */
let memory;
let isAskedForHeld = false;
const board = new BoardWorker({ post, load, takeText, models, texts, failed, hashes: () => files.hashes() });
const attention = new AttentionWorker({ post, texts });

self.addEventListener("message", ({ data }) => {
  switch (data.kind) {
    case "start":
      files.places = data.places;
      files.folder = data.models;
      start(data.engine);
      break;
    case "help":
      help(data.port);
      return;
    case "helper":
      helpers.add(data.id, data.port, module);
      return;
    case "helper-lost":
      helpers.lose(data.id);
      return;
    case "want":
      wants.delete(data.id);
      wants.set(data.id, data.want);
      break;
    case "drop":
      if (wants.get(data.id)?.kind === "board") board.keepSoon();
      wants.delete(data.id);
      break;
    case "restore":
      board.restore(data.results);
      break;
    case "heard":
      board.hear(data);
      break;
    case "options":
      board.choose(data.options);
      break;
    case "forget":
      board.forget(data.ids);
      break;
    case "forget-run":
      forgotten.push(data.run);
      break;
    case "held":
      isAskedForHeld = true;
      break;
    case "retry":
      failed.delete(data.name);
      board.retry(data.name);
      break;
    case "bytes":
      files.take(data);
      break;
    case "text":
      // Another text under the same name: what was measured on the last one is over.
      own = data.text;
      texts.delete("own");
      failed.delete("own");
      for (const run of plans.keys()) if (run.startsWith("own")) plans.delete(run);
      break;
  }
  wake();
});

// One step after another; between them the event loop runs. A timer would wait four milliseconds.
const channel = new MessageChannel();
let isAwake = false;
let isBusy = false;
channel.port1.onmessage = async () => {
  isAwake = false;
  if (isBusy) return;
  isBusy = true;
  const went = await work().catch((error) => {
    if (isGpuFailure(error)) {
      loss.note(error);
      return true;
    }
    // Only a defect leads here: every step handles what can go wrong.
    post({ kind: "dead", reason: reason(error) });
    laboratory = null;
    return false;
  });
  isBusy = false;
  if (went) wake();
};
function wake() {
  if (!laboratory || isAwake) return;
  isAwake = true;
  channel.port2.postMessage(null);
}

async function start(engine) {
  choice = engine;
  files.models().then((models) => post({ kind: "models", models: [...models.values()] }));
  try {
    module = await compileEngine();
    ({ memory } = await init({ module_or_path: module }));
    post({ kind: "loaded-module" });
    laboratory = await Laboratory.start(engine, helpers);
    board.begin(laboratory);
    attention.begin(laboratory);
    loss.watch(laboratory);
    tellVerdict();
  } catch (error) {
    post({ kind: "dead", reason: reason(error) });
    return;
  }
  wake();
}

/** The engine's module for this browser. A copy of the page that was put together by hand may lack the faster one. */
async function compileEngine() {
  const faster = hasRelaxedSimd() && files.places["engine-relaxed.wasm"];
  const module = faster && (await compile(faster).catch(() => null));
  return module || compile(files.places["engine.wasm"] ?? (await files.read("engine.wasm")));
}

function tellVerdict() {
  const verdict = JSON.parse(laboratory.verdict());
  isOnCpu = verdict.engine === "cpu";
  attention.isOnCpu = isOnCpu;
  post({ kind: "verdict", verdict });
}

/** What is held, which the laboratory tells between two steps. */
function tellHeld() {
  isAskedForHeld = false;
  const [checkpoints, models, buffers, buffer_bytes, read_back_bytes] = laboratory.held();
  const held = { engine_memory: memory.buffer.byteLength, helpers: helpers.memory(), checkpoints, models, buffers, buffer_bytes, read_back_bytes };
  post({ kind: "held", held });
}

/** Goes on after a GPU that failed, with all that was measured. */
async function goOn() {
  post({ kind: "starting" });
  const { isBack, cause } = await loss.renew(laboratory, choice, helpers);
  board.isCalibrated = false;
  attention.beginAgain();
  tellVerdict();
  post({ kind: "problem", key: "engine", path: isBack ? "problems.gpuAgain" : "problems.gpuLost", parts: { reason: cause } });
  return true;
}

/** The wants of a kind, the newest first. */
const wanted = (kind) => [...wants].filter(([, want]) => want.kind === kind).reverse();

/** Does the most wanted thing; says whether there may be another. */
async function work() {
  if (loss.cause !== null) return goOn();
  if (isAskedForHeld) tellHeld();
  await board.settle();
  for (const run of forgotten.splice(0)) closeRun(run);
  for (const [id, { encoding }] of wanted("weights")) {
    if (models.has(encoding) || failed.has(encoding)) wants.delete(id);
    else return load(encoding);
  }
  for (const [id, want] of wanted("biases")) {
    const model = modelOf(want.variant);
    if (failed.has(model)) wants.delete(id);
    else if (!models.has(model)) return load(model);
    else return tellBiases(id, want);
  }
  for (const [id, want] of [...wanted("attention"), ...wanted("numbers")]) {
    const model = modelOf(want.variant);
    if (failed.has(model) || failed.has(want.text)) continue;
    if (!texts.has(want.text)) return takeText(want.text);
    if (!models.has(model)) return load(model);
    await attention.answer(want);
    // Another may be wanted in its place by now.
    if (wants.get(id) === want) wants.delete(id);
    return true;
  }
  for (const [id, want] of wanted("position")) {
    wants.delete(id);
    tellPositions(want);
    return true;
  }
  const [listed] = wanted("claims");
  if (listed) return listClaims();
  // The claim that was asked for first.
  const [claim] = wanted("board").reverse();
  if (claim) return stepClaim(claim);
  const running = wanted("run");
  const going = running.filter(([, want]) => !want.paused && !failed.has(want.text));
  for (const [, want] of going) {
    if (!texts.has(want.text)) return takeText(want.text);
    if (!plans.has(want.run)) return plan(want);
  }
  // Of all runs and models the one that is furthest behind; in a round the model that is looked at first.
  let best = null;
  for (const [, want] of going) {
    for (const [place, name] of want.order.entries()) {
      if (failed.has(name) || failed.has(modelOf(name))) continue;
      const isMissing = !models.has(modelOf(name));
      if (!isMissing && !canHave(name)) continue;
      if (!isMissing && laboratory.steps_left(want.run, variantOf(want.run, name)) === 0) continue;
      // The first round of the model that is looked at goes before the others are fetched.
      const round = isMissing ? 0 : laboratory.next_round(want.run, variantOf(want.run, name));
      if (!best || round < best.round || (round === best.round && place < best.place)) {
        best = { round, place, name, isMissing, want };
      }
    }
  }
  if (best) return best.isMissing ? load(modelOf(best.name)) : measure(best.want, best.name);
  for (const [, { run }] of going) {
    const planned = plans.get(run);
    if (planned?.steps && !planned.isTold) {
      planned.isTold = true;
      post({ kind: "finished", run });
    }
  }
  return false;
}

/** Variants that were looked at, so that each is told of once. */
const known = new Set();

/** Whether the engine can change a model so; says why not. */
function canHave(name) {
  if (known.has(name)) return true;
  try {
    laboratory.check_variant(name);
    known.add(name);
    return true;
  } catch (error) {
    failed.add(name);
    post({ kind: "problem", key: `variant-${name}`, path: "problems.variant", parts: { reason: reason(error) } });
    return false;
  }
}

async function takeText(name) {
  try {
    if (!hasTokenizer) {
      laboratory.set_tokenizer(await files.read("tokenizer.json"));
      hasTokenizer = true;
    }
    const text = name === "own" ? ownText(own) : new TextDecoder().decode(await files.read(`${name}.txt`));
    const { tokens, dropped } = JSON.parse(laboratory.set_text(name, text));
    texts.set(name, tokens);
    post({ kind: "text", name, tokens, dropped: dropped + (name === "own" ? own.lost : 0) });
    post({ kind: "solved", key: `text-${name}` });
  } catch (error) {
    failed.add(name);
    post({ kind: "problem", key: `text-${name}`, retry: name, ...telling(error) });
  }
  return true;
}

function plan({ run, text, past, max, windows, stride }) {
  forgetRuns();
  const tokens = texts.get(text);
  const settings = settingsOf({ text, max, windows, stride }, isOnCpu);
  try {
    const planned = JSON.parse(laboratory.open_run(run, JSON.stringify(settings)));
    plans.set(run, { steps: planned.steps, past });
    post({ kind: "planned", run, of: tokens, ...planned });
    const longest = planned.lengths.at(-1);
    if (longest * 2 <= max) post({ kind: "problem", key: `short-${text}`, path: "problems.tooShort", parts: { text, tokens, longest } });
  } catch (error) {
    plans.set(run, { steps: 0, past });
    post({ kind: "problem", key: `short-${text}`, path: "problems.noText", parts: { text, reason: reason(error) } });
  }
  return true;
}

/** Lets go of the oldest runs that no view wants: the page has their points. */
function forgetRuns() {
  const running = new Set(wanted("run").map(([, want]) => want.run));
  for (const run of plans.keys()) {
    if (plans.size < RUNS_KEPT) return;
    if (!running.has(run)) closeRun(run);
  }
}

function closeRun(run) {
  laboratory.close_run(run);
  plans.delete(run);
}

async function load(name) {
  post({ kind: "loading", name });
  try {
    const { bytes, hash } = await files.model(name);
    try {
      laboratory.load(name, bytes, hash ?? undefined);
    } catch (error) {
      throw new Told("problems.checkpoint", { file: `${name}.safetensors`, reason: reason(error) });
    }
    models.add(name);
    const weights = laboratory.encoding_weights(name);
    post({ kind: "loaded", name, weights }, [weights.buffer]);
  } catch (error) {
    failed.add(name);
    post({ kind: "problem", key: `model-${name}`, retry: name, ...telling(error) });
  }
  return true;
}

/** What of a model is measured in a run. */
const variantOf = (run, model) => withPast(model, plans.get(run)?.past);

async function listClaims() {
  if ((await board.list()) === "told") for (const [other, { kind }] of [...wants]) if (kind === "claims") wants.delete(other);
  return true;
}

/** Asks the page for helpers when there is a measurement for them; one attention needs none. */
function askForHelp() {
  if (hasAskedForHelp || !isOnCpu) return;
  hasAskedForHelp = true;
  post({ kind: "help-wanted", count: coresUsed(navigator.hardwareConcurrency) - 1 });
}

async function stepClaim([id, { claim }]) {
  askForHelp();
  try {
    if (await board.step(claim)) wants.delete(id);
  } catch (error) {
    if (isGpuFailure(error)) throw error;
    // A text too short for this claim, for one; the others go on.
    wants.delete(id);
    post({ kind: "stopped", id: claim });
    post({ kind: "problem", key: `claim-${claim}`, path: "problems.claim", parts: { claim, reason: reason(error) } });
  }
  return true;
}

function tellBiases(id, { variant: name, length }) {
  wants.delete(id);
  try {
    const biases = laboratory.biases(name, length);
    post({ kind: "biases", variant: name, length, biases }, [biases.buffer]);
  } catch (error) {
    post({ kind: "problem", key: `variant-${name}`, path: "problems.variant", parts: { reason: reason(error) } });
  }
  return true;
}

function tellPositions({ run, encoding, length }) {
  const losses = laboratory.by_position(run, variantOf(run, encoding), length);
  if (losses.length) post({ kind: "position", run, encoding, length, losses }, [losses.buffer]);
}

/** The models that any view wants in a run. */
const modelsOf = (run) => new Set(wanted("run").filter(([, want]) => want.run === run).flatMap(([, want]) => want.order));

async function measure({ run }, name) {
  askForHelp();
  const began = performance.now();
  try {
    const { tokens, length, points, undefined: isUndefined } = JSON.parse(await laboratory.step(run, variantOf(run, name)));
    const elapsed_ms = performance.now() - began;
    const left = [...modelsOf(run)].reduce((sum, other) => sum + laboratory.steps_left(run, variantOf(run, other)), 0);
    // Gone where the reader has taken another text meanwhile.
    const planned = plans.get(run);
    if (!planned) return true;
    planned.isTold = false;
    post({ kind: "points", run, encoding: name, points, tokens, length, isUndefined, elapsed_ms, left, bytesRead: laboratory.bytes_read() });
  } catch (error) {
    if (isGpuFailure(error)) throw error;
    post({ kind: "dead", reason: reason(error) });
    laboratory = null;
  }
  return true;
}
