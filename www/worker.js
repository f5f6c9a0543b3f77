// The engine's worker: loads the module, fetches what it needs, and shares its time out. What the reader
// looks at (the attention) goes before the measurement; between two steps messages come through.
import init, { Laboratory } from "../pkg/longview.js";
import { bytes } from "./fetch.js";
import { problems } from "./locales/en.js";

/** Tokens scored at every length, at most. */
const SCORED_MAX = 65_536;
const SHORTEST = 16;

/** @type {Laboratory} */
let laboratory;
/** What the page wants; changed by its messages at any time. */
const wish = { encoding: "alibi", order: [], text: "persuasion", max: 4096, past: "undefined", paused: false, attention: null, position: null };
/** What is true here. */
const have = { text: null, max: null, past: "undefined", models: new Set(), failed: new Set(), lengths: [] };
let isPlanned = false;

const post = (message, transfer = []) => self.postMessage(message, transfer);
const text = (error) => String(error?.message ?? error).replace(/\.$/, "");
const checkpoint = (name) => new URL(`checkpoints/${name}.safetensors`, import.meta.url);

self.addEventListener("message", ({ data }) => {
  if (data.kind === "start") start(data.engine);
  else if (data.kind === "retry") have.failed.delete(data.name);
  else Object.assign(wish, data.wish);
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
    // Only a defect leads here: every step handles what can go wrong.
    post({ kind: "dead", reason: text(error) });
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
  try {
    await init();
    laboratory = await Laboratory.start(engine);
    post({ kind: "verdict", verdict: JSON.parse(laboratory.verdict()) });
  } catch (error) {
    post({ kind: "dead", reason: text(error) });
    return;
  }
  wake();
}

/** Does the most wanted thing; says whether there may be another. */
async function work() {
  if (wish.text !== have.text) return takeText();
  if (wish.past !== have.past) {
    have.past = wish.past;
    laboratory.repeat_last_row(wish.past === "last");
    post({ kind: "reset", encoding: "learned" });
    return true;
  }
  const missing = wish.order.find((name) => !have.models.has(name) && !have.failed.has(name));
  // The model that is looked at first, then its attention, then the other models.
  if (missing === wish.encoding) return load(missing);
  if (wish.attention) return attend();
  if (wish.position) return tellPositions();
  if (!isPlanned || wish.max !== have.max) return plan();
  if (!wish.paused) {
    // One round of the model that is looked at, then the other models, one by one.
    const ready = wish.order.filter((name) => laboratory.steps_left(name) > 0);
    const round = (name) => laboratory.next_round(name);
    const first = ready.sort((a, b) => round(a) - round(b))[0];
    if (missing && (!first || round(first) > 0)) return load(missing);
    if (first) return measure(first);
  }
  if (missing) return load(missing);
  if (!wish.paused) post({ kind: "finished" });
  return false;
}

async function takeText() {
  const name = wish.text;
  have.text = name;
  isPlanned = false;
  try {
    if (!have.tokenizer) {
      laboratory.set_tokenizer(await bytes(new URL("checkpoints/tokenizer.json", import.meta.url)));
      have.tokenizer = true;
    }
    const raw = await bytes(new URL(`texts/${name}.txt`, import.meta.url));
    const { tokens, dropped } = JSON.parse(laboratory.set_text(new TextDecoder().decode(raw)));
    have.tokens = tokens;
    post({ kind: "text", name, tokens, dropped });
  } catch (error) {
    have.tokens = 0;
    post({ kind: "problem", key: `text-${name}`, text: text(error) });
  }
  return true;
}

function plan() {
  [have.max, isPlanned] = [wish.max, true];
  try {
    const planned = JSON.parse(laboratory.plan(SHORTEST, wish.max, SCORED_MAX));
    have.lengths = planned.lengths;
    post({ kind: "planned", text: have.text, tokens: have.tokens, ...planned });
  } catch (error) {
    have.lengths = [];
    if (have.tokens > 0) post({ kind: "no-plan", text: have.text, reason: text(error) });
  }
  return true;
}

async function load(name) {
  post({ kind: "loading", name });
  try {
    const file = await bytes(checkpoint(name));
    let config;
    try {
      config = JSON.parse(laboratory.load(name, file));
    } catch (error) {
      throw new Error(problems.checkpoint(`${name}.safetensors`, text(error)));
    }
    if (have.past === "last") laboratory.repeat_last_row(true);
    have.models.add(name);
    const weights = laboratory.encoding_weights(name);
    post({ kind: "loaded", name, config, weights }, [weights.buffer]);
  } catch (error) {
    have.failed.add(name);
    post({ kind: "problem", key: `model-${name}`, text: text(error), retry: name });
  }
  return true;
}

async function attend() {
  const request = wish.attention;
  wish.attention = null;
  const { encoding, length, layer, head } = request;
  if (!have.models.has(encoding)) return true;
  try {
    const captured = await laboratory.attention(encoding, length, layer, head);
    const [side, raster, profile] = [captured.side, captured.raster(), captured.profile()];
    captured.free();
    post({ kind: "attention", request, side, raster, profile }, [raster.buffer, profile.buffer]);
  } catch (error) {
    post({ kind: "no-attention", request, reason: text(error) });
  }
  return true;
}

function tellPositions() {
  const request = wish.position;
  wish.position = null;
  const losses = laboratory.by_position(request.encoding, request.length);
  post({ kind: "position", request, losses }, [losses.buffer]);
  return true;
}

async function measure(name) {
  const began = performance.now();
  try {
    const { tokens, length, points, undefined: isUndefined } = JSON.parse(await laboratory.step(name));
    const elapsed_ms = performance.now() - began;
    const left = wish.order.reduce((sum, other) => sum + laboratory.steps_left(other), 0);
    post({ kind: "points", encoding: name, points, tokens, length, isUndefined, elapsed_ms, left, past: have.past });
  } catch (error) {
    post({ kind: "dead", reason: text(error) });
    wish.paused = true;
  }
  return true;
}
