// The page: from the address to the first picture, then the engine, then whatever the reader does.
import init, { encoding_colours } from "../pkg/longview.js";
import { Chart, redrawAll, theme } from "./charts.js";
import * as controls from "./controls.js";
import { EngineClient } from "./engine.js";
import * as messages from "./messages.js";
import { Results } from "./results.js";
import { ENCODINGS, TRAINED_LENGTH, format, parse } from "./state.js";
import * as words from "./locales/en.js";

const get = (id) => document.getElementById(id);
/** The sizes of the shipped models; those of the pictures follow them. */
const MODEL = { d_model: 96, heads: 4, layers: 3, d_head: 24 };
const T5 = { buckets: 32, max_distance: 128, bidirectional: false };
/** Longer pictures of one cell a token would show nothing more. */
const MATRIX_MAX = 512;

const results = new Results();
const { state, problems } = parse(location.search);
/** What the models' encodings were trained to, by name. */
const weights = new Map();
let tokensOfText = 0;
let lastAttention = null;
let speed = 0;
let verdict = null;
let isPaused = false;
let stepsAtMost = 0;

problems.forEach((text, index) => messages.show(`address-${index}`, text));

function chooseTheme() {
  const isDark = state.theme === "dark" || (state.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  theme.name = isDark ? "dark" : "light";
  document.documentElement.dataset.theme = theme.name;
}

const charts = {};

function makeCharts() {
  const within = (low, share, high) => (width) => Math.max(low, Math.min(high, width * share));
  charts.encoding = new Chart("figure-encoding", (width) => encodingHeight(width));
  charts.attention = new Chart("figure-attention", within(260, 0.92, 520));
  charts.distance = new Chart("figure-distance", within(260, 0.92, 520));
  charts.perplexity = new Chart("figure-perplexity", within(320, 0.46, 520));
  charts.position = new Chart("figure-position", within(220, 0.28, 320));
}

function encodingHeight(width) {
  if (state.encoding === "alibi") return Math.max(260, Math.min(620, width * (state.heads > 8 ? 1 : 0.72)));
  return Math.max(300, Math.min(520, width * 0.72));
}

/** The encoding's own picture, for the state's heads and length. */
function encodingFigure() {
  const { encoding, heads, length } = state;
  const trained_length = TRAINED_LENGTH;
  const shown = Math.min(length, MATRIX_MAX);
  switch (encoding) {
    case "none":
      return { figure: "none", length: shown, trained_length };
    case "learned":
      return { figure: "learned", length, trained_length, d_model: MODEL.d_model };
    case "sinusoidal":
      return { figure: "sinusoidal", length, d_model: MODEL.d_model, trained_length };
    case "rotary":
      return { figure: "rotary", d_head: MODEL.d_head, query: length, key: Math.floor(length / 2), trained_length };
    case "t5_bias":
      return { figure: "t5_bias", heads: MODEL.heads, ...T5, length, trained_length };
    default:
      return { figure: "alibi", heads, length: shown, trained_length };
  }
}

function drawEncoding() {
  const { encoding, heads, length } = state;
  const title = words.titles[encoding];
  charts.encoding.show(encodingFigure(), weights.get(encoding), words.summaries.encoding(title, length));
  if (get("formula").dataset.encoding !== encoding) {
    get("encoding-title").textContent = title;
    get("encoding-text").textContent = words.explanations[encoding];
    get("formula").replaceChildren(get(`formula-${encoding}`).content.cloneNode(true));
    get("formula").dataset.encoding = encoding;
  }
  get("heads-note").textContent = notes().join(" ");
}

/** What the picture of the encoding does not say itself. */
function notes() {
  const { encoding, heads, length } = state;
  const found = [];
  if (encoding === "alibi") {
    found.push(words.headsNote(heads, MODEL.heads));
    if (heads & (heads - 1)) found.push(words.slopesBetween);
  } else {
    found.push(encoding === "t5_bias" ? words.trainedHeads(MODEL.heads) : words.noHeads);
  }
  if (encoding === "learned" && state.past === "last") found.push(words.repeatsLast(TRAINED_LENGTH));
  if (["alibi", "none"].includes(encoding) && length > MATRIX_MAX) found.push(words.firstPositions(MATRIX_MAX));
  return found;
}

/** Whether the model of the state has no positions for the state's length. */
const isUndefined = () => state.encoding === "learned" && state.past === "undefined" && state.length > TRAINED_LENGTH;

function drawAttention() {
  const { encoding, layer, head, length } = state;
  const title = words.titles[encoding];
  const have = lastAttention && lastAttention.request.encoding === encoding ? lastAttention : null;
  const attention = { figure: "attention", trained_length: TRAINED_LENGTH, layer, head, encoding };
  const distance = {
    figure: "distance",
    trained_length: TRAINED_LENGTH,
    layers: MODEL.layers,
    heads: MODEL.heads,
    logarithmic: get("logarithmic").checked,
    encoding,
  };
  if (isUndefined() || !have) {
    const text = isUndefined() ? words.attention.undefined(TRAINED_LENGTH) : words.attention.waiting;
    get("attention-text").textContent = text;
    charts.attention.show({ ...attention, length, side: Math.min(length, 512) }, null, text);
    charts.distance.show({ ...distance, length, layer, head }, null, text);
    return;
  }
  const { request, side, raster, profile } = have;
  const at = request.length;
  charts.attention.show(
    { ...attention, length: at, layer: request.layer, head: request.head, side },
    raster,
    words.summaries.attention(title, request.layer, request.head, at),
  );
  charts.distance.show({ ...distance, length: at, layer: request.layer, head: request.head }, profile, words.summaries.distance(title, at));
  get("attention-text").textContent = at > TRAINED_LENGTH
    ? words.attention.past(at, TRAINED_LENGTH, sharePast(profile, request, at))
    : words.attention.within(at);
}

/** The share of its weight that a head's average query puts on keys more than L tokens back. */
function sharePast(profile, { layer, head }, length) {
  const start = (layer * MODEL.heads + head) * length;
  let far = 0;
  // A distance n exists for length − n of the queries only.
  for (let n = TRAINED_LENGTH + 1; n < length; n++) far += (profile[start + n] * (length - n)) / length;
  return far;
}

function drawPerplexity() {
  const figure = {
    figure: "perplexity",
    trained_length: TRAINED_LENGTH,
    length: state.length,
    selected: state.encoding,
    series: results.series(),
    undefined: [...results.undefined],
  };
  const findings = results.findings();
  charts.perplexity.show(figure, null, words.summaries.perplexity(findings.map(({ sentence }) => sentence).join(" ")));
  get("findings").replaceChildren(
    ...findings.map(({ name, sentence }) => {
      const item = Object.assign(document.createElement("li"), { textContent: sentence });
      item.dataset.encoding = name;
      return item;
    }),
  );
  get("perplexity-text").textContent = words.perplexity(results.scored, words.texts[state.text]);
  if (get("numbers").open) results.fill(get("table"));
}

/** The measured length that is nearest to the state's. */
function positionLength() {
  const lengths = (results.points.get(state.encoding) ?? []).map(({ length }) => length);
  return lengths.reduce((best, length) => (Math.abs(Math.log(length / state.length)) < Math.abs(Math.log(best / state.length)) ? length : best), lengths[0]);
}

function askPosition() {
  const length = positionLength();
  if (length) engine.want({ position: { encoding: state.encoding, length } });
}

function clearPosition() {
  get("position-text").textContent = words.positionWaiting;
  charts.position.clear(words.positionWaiting);
}

function drawPosition({ encoding, length }, losses) {
  if (encoding !== state.encoding || !losses.length) return;
  const text = words.position(words.titles[encoding], length);
  get("position-text").textContent = text;
  const figure = { figure: "position_loss", length, trained_length: TRAINED_LENGTH, encoding };
  charts.position.show(figure, losses, words.summaries.position(words.titles[encoding], length));
}

function showStatus(text) {
  get("engine-status").textContent = text;
}

/** What the worker should do for the state. */
function wishes() {
  const order = [state.encoding, ...ENCODINGS.filter((name) => name !== state.encoding)];
  return { encoding: state.encoding, order, text: state.text, max: state.max, past: state.past, paused: isPaused };
}

function askAttention() {
  if (isUndefined()) return;
  const { encoding, length, layer, head } = state;
  engine.want({ attention: { encoding, length, layer, head } });
}

const listeners = {
  verdict(message) {
    verdict = message.verdict;
    if (verdict.reason === "absent" && !isSecureContext) verdict.message += ` ${words.status.insecure}`;
    get("engine-status").dataset.engine = verdict.engine;
    showStatus(words.status.running(verdict.message, speed));
    get("pause").disabled = false;
    document.documentElement.dataset.ready = "engine";
  },
  text({ tokens }) {
    tokensOfText = tokens;
    results.clear();
    drawPerplexity();
  },
  planned({ lengths, scored, text, tokens }) {
    results.clear();
    results.scored = scored;
    stepsAtMost = 0;
    const longest = lengths.at(-1);
    if (longest * 2 <= state.max) messages.show("short", words.problems.tooShort(words.texts[text], tokens, longest));
    else messages.hide("short");
    drawPerplexity();
  },
  "no-plan": ({ text, reason }) => messages.show("short", words.problems.noText(words.texts[text], reason)),
  loading: ({ name }) => showStatus(words.status.loading(words.titles[name])),
  loaded({ name, weights: values }) {
    if (values.length) weights.set(name, values);
    messages.hide(`model-${name}`);
    if (verdict) showStatus(words.status.running(verdict.message, speed));
    if (name !== state.encoding) return;
    drawEncoding();
    askAttention();
  },
  reset: ({ encoding }) => {
    results.forget(encoding);
    drawPerplexity();
    askAttention();
  },
  attention(message) {
    if (message.request.encoding !== state.encoding) return;
    lastAttention = message;
    messages.hide("attention");
    drawAttention();
  },
  "no-attention": ({ reason }) => messages.show("attention", words.problems.run(get("h-attention").textContent, reason)),
  points(message) {
    if (message.encoding === "learned" && message.past !== state.past) return;
    results.take(message);
    if (message.tokens) {
      const now = message.tokens / (message.elapsed_ms / 1000);
      speed = speed ? 0.8 * speed + 0.2 * now : now;
      showStatus(words.status.running(verdict.message, speed));
    }
    stepsAtMost = Math.max(stepsAtMost, message.left + 1);
    get("progress").value = 1 - message.left / stepsAtMost;
    drawPerplexity();
    if (message.encoding === state.encoding && message.length === positionLength()) askPosition();
  },
  position: ({ request, losses }) => drawPosition(request, losses),
  finished() {
    get("progress").value = 1;
    if (verdict) showStatus(words.status.running(verdict.message, speed));
  },
  problem({ key, text, retry }) {
    const again = retry && (() => engine.retry(retry));
    messages.show(key, text, again);
    if (verdict) showStatus(words.status.running(verdict.message, speed));
  },
};

const engine = new EngineClient(
  (message) => listeners[message.kind]?.(message),
  (reason, isFinal) => messages.show("engine", isFinal ? words.problems.workerTwice(reason) : words.problems.worker(reason)),
);

let addressTimer;
/** The address follows, but not at every move: browsers limit how often it may change. */
function keepAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    const query = format(state);
    try {
      history.replaceState(null, "", query ? `?${query}` : location.pathname);
    } catch {
      // A sandboxed frame has no address of its own; the page works without.
    }
  }, 200);
}

/** Takes what the reader changed. */
function change(part) {
  Object.assign(state, part);
  controls.show(state);
  keepAddress();
  const changed = (...names) => names.some((name) => name in part);
  if (changed("encoding", "heads", "length", "past")) drawEncoding();
  if (changed("encoding", "length", "past")) drawAttention();
  if (changed("encoding", "length")) drawPerplexity();
  if (changed("encoding", "text", "past")) engine.want(wishes());
  if (changed("encoding", "length", "layer", "head", "past", "text")) askAttention();
  if (changed("encoding") && !positionLength()) clearPosition();
  if (changed("encoding", "length")) askPosition();
  if (changed("engine")) {
    verdict = null;
    engine.deaths = 0;
    showStatus(words.status.starting);
    engine.start(state.engine);
    askAttention();
  }
}

function colourChips() {
  const colours = JSON.parse(encoding_colours())[theme.name];
  for (const element of document.querySelectorAll(".chip")) {
    element.style.setProperty("--colour", colours[element.dataset.encoding]);
  }
  for (const [name, colour] of Object.entries(colours)) {
    document.documentElement.style.setProperty(`--colour-${name}`, colour);
  }
}

async function main() {
  chooseTheme();
  controls.build(change);
  controls.show(state);
  try {
    await init();
  } catch (error) {
    messages.show("wasm", words.problems.wasm(error.message));
    return;
  }
  colourChips();
  makeCharts();
  drawEncoding();
  drawAttention();
  drawPerplexity();
  clearPosition();
  // The worker starts when the first picture is on the screen.
  requestAnimationFrame(() => requestAnimationFrame(() => {
    document.documentElement.dataset.ready = "picture";
    engine.want(wishes());
    engine.start(state.engine);
  }));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    chooseTheme();
    colourChips();
    redrawAll();
  });
  get("logarithmic").addEventListener("change", drawAttention);
  get("numbers").addEventListener("toggle", () => results.fill(get("table")));
  get("pause").addEventListener("click", () => {
    isPaused = !isPaused;
    get("pause").textContent = isPaused ? words.status.resume : words.status.pause;
    engine.want({ paused: isPaused });
  });
}

window.longview = {
  state: () => ({ ...state }),
  results: () => results.all(),
  tokens: () => tokensOfText,
};
main();
