// One table of properties drives the controls, the address, the elements' attributes and the shared code.

/** The encodings that every page carries a model of. */
const USUAL = ["none", "learned", "sinusoidal", "rotary", "t5_bias", "alibi"];
/** Later ones, each with a model too. */
export const NEWCOMERS = ["kerple", "sandwich", "xpos", "randomized"];
export const ENCODINGS = [...USUAL, ...NEWCOMERS];
/** The length that the shipped models were trained on, L. */
export const TRAINED_LENGTH = 128;
/** The sizes of the shipped models. */
export const MODEL = { d_model: 96, heads: 4, layers: 3, d_head: 24 };

const whole = (low, high, usual, more = {}) => ({ kind: "whole", low, high, usual, ...more });
const choice = (choices, usual) => ({ kind: "choice", choices, usual });
const yes = (usual) => ({ kind: "switch", usual });

export const PROPERTIES = {
  encoding: choice(ENCODINGS, "alibi"),
  /** The length T. Its slider goes by powers of two. */
  length: whole(16, 4096, 128, { scale: "log" }),
  heads: whole(1, 64, 8),
  layer: whole(0, MODEL.layers - 1, 0),
  head: whole(0, MODEL.heads - 1, 0),

  /** ALiBi slopes in place of the paper's, one a head. */
  slopes: { kind: "numbers", usual: "" },

  dimensions: whole(2, 256, MODEL.d_model, { step: 2 }),
  layout: choice(["interleaved", "halves", "fairseq"], "interleaved"),
  base: whole(2, 1_000_000, 10_000, { scale: "log" }),
  waves: { kind: "wholes", usual: "0,8,16,32,64", low: 0, high: 255, most: 8 },
  measure: choice(["cosine", "dot", "distance"], "cosine"),

  query: whole(0, 4096, 96),
  key: whole(0, 4096, 32),
  rotated: whole(2, 128, MODEL.d_head, { step: 2 }),
  pairing: choice(["halves", "interleaved"], "halves"),

  buckets: whole(4, 128, 32, { step: 2 }),
  max_distance: whole(8, 1024, 128, { scale: "log" }),
  bidirectional: yes(false),

  logarithmic: yes(false),
  /** `own` is the reader's, which stands in no address. */
  text: choice(["persuasion", "hamlet", "own"], "persuasion"),
  past: choice(["undefined", "last", "random"], "undefined"),
  encodings: { kind: "names", choices: ENCODINGS, usual: USUAL.join(",") },
  /** How the text is cut into windows, and by how many tokens a sliding one moves on. */
  windows: choice(["non_overlapping", "sliding"], "non_overlapping"),
  stride: whole(1, 1024, 64, { stops: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024] }),
  /** Which models are shown beside each other. */
  models: choice(["encodings", "heads", "lengths"], "encodings"),
  /** Whether the models of a second seed are shown. */
  seeds: yes(false),

  /** Changes at inference of the chosen encoding's model. */
  scaling: choice(["none", "pi", "ntk", "dynamic_ntk", "by_parts", "yarn", "llama3", "rerope", "self_extend"], "none"),
  /** 0 is T/L. */
  factor: whole(0, 32, 0),
  /** YaRN's are 32 and 1, where L is in the thousands; within 128 tokens no pair turns so often. */
  beta_fast: whole(5, 64, 8),
  beta_slow: choice(["0.25", "0.5", "1", "2", "4"], "0.5"),
  far_window: whole(8, 128, 64, { step: 8 }),
  far_group: whole(2, 32, 8),
  log_n: yes(false),
  /** Keys that a query sees, itself included; 0 is all. */
  window: whole(0, 1024, 0, { stops: [0, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024] }),
  sinks: whole(0, 16, 0),

  ratio: yes(false),
  /** The longest length that is measured. */
  max: whole(16, 4096, 4096, { scale: "log" }),
  paper: choice(["512", "1024"], "512"),
  protocol: choice(["non_overlapping", "sliding"], "non_overlapping"),
  /** Whether the board measures on fewer tokens. */
  quick: yes(false),
  left: choice(ENCODINGS, "sinusoidal"),
  right: choice(ENCODINGS, "alibi"),
};

/** Properties that say how a view is shown, not what. */
export const SETTINGS = {
  view: choice(["all", "none", "learned", "sinusoidal", "rotary", "t5_bias", "alibi", "methods", "attention", "perplexity", "compare", "claims"], "all"),
  embed: yes(false),
  /** Whether the page shows what it holds. */
  debug: yes(false),
  /** "all", "none", or the names of the controls to show. */
  controls: { kind: "text", usual: "all" },
  theme: choice(["auto", "light", "dark"], "auto"),
  engine: choice(["auto", "cpu", "gpu"], "auto"),
  lang: { kind: "text", usual: "" },
};

const ALL = { ...PROPERTIES, ...SETTINGS };
const problem = (key, parts) => ({ path: `problems.${key}`, parts });

/** A list of numbers as readers paste it: separated by commas, spaces or lines; 1/4 and 2^-3 are numbers. */
export function numbers(text) {
  const items = text.split(/[\s,;[\]]+/).filter(Boolean);
  return items.map((item) => {
    const fraction = /^([-+]?[\d.]+)\/([\d.]+)$/.exec(item);
    if (fraction) return Number(fraction[1]) / Number(fraction[2]);
    const power = /^2\^\(?([-+]?[\d.]+)\)?$/.exec(item);
    return power ? 2 ** Number(power[1]) : Number(item);
  });
}

/**
 * Reads one property's text; gives its value and, where the text is not one, the problem to tell.
 * @param {string} name
 * @param {string} text
 */
export function read(name, text) {
  const property = ALL[name];
  const { usual, kind } = property;
  if (kind === "switch") {
    // An attribute without a value is on, as in HTML.
    if (["", "1", "true", name].includes(text)) return { value: true };
    if (["0", "false"].includes(text)) return { value: false };
    return { value: usual, problem: problem("notAChoice", { name, value: text, choices: "0, 1", used: usual ? 1 : 0 }) };
  }
  if (kind === "text" || kind === "numbers") return { value: text };
  if (text === "") return { value: usual, problem: problem("emptyParameter", { name, used: usual }) };
  if (kind === "choice") {
    if (property.choices.includes(text)) return { value: text };
    return { value: usual, problem: problem("notAChoice", { name, value: text, choices: property.choices.join(", "), used: usual }) };
  }
  if (kind === "names") {
    const names = text.split(",");
    const odd = names.find((one) => !property.choices.includes(one));
    if (odd === undefined) return { value: property.choices.filter((one) => names.includes(one)).join(",") };
    return { value: usual, problem: problem("notAChoice", { name, value: odd, choices: property.choices.join(", "), used: usual }) };
  }
  if (kind === "wholes") {
    const found = numbers(text);
    const fine = found.every((one) => Number.isInteger(one) && one >= property.low && one <= property.high);
    if (fine && found.length > 0 && found.length <= property.most) return { value: found.join(",") };
    return { value: usual, problem: problem("notWholes", { name, value: text, most: property.most, low: property.low, high: property.high, used: usual }) };
  }
  const { low, high, step = 1 } = property;
  // −0 would be another value than 0, and be written as it.
  const value = Number(text) + 0;
  if (!Number.isInteger(value)) return { value: usual, problem: problem("notANumber", { name, value: text, low, high, used: usual }) };
  const clamped = Math.min(high, Math.max(low, Math.round(value / step) * step));
  if (clamped === value) return { value };
  return { value: clamped, problem: problem("outOfRange", { name, value: text, low, high, used: clamped }) };
}

/** The usual state. */
export const usual = () => Object.fromEntries(Object.entries(ALL).map(([name, { usual: value }]) => [name, value]));

/** Reads an address's query; gives a whole state, and the problems to tell. */
export function parse(query) {
  const state = usual();
  const problems = [];
  for (const [name, text] of new URLSearchParams(query)) {
    if (!Object.hasOwn(ALL, name)) {
      problems.push(problem("unknownParameter", { name }));
      continue;
    }
    const { value, problem: found } = read(name, text);
    state[name] = value;
    if (found) problems.push(found);
  }
  return { state, problems };
}

const write = (value) => (typeof value === "boolean" ? (value ? "1" : "0") : String(value));

/** Names and texts of what is not as usual, of the properties named (all where none are). */
export function unusual(state, names = Object.keys(ALL)) {
  return names.filter((name) => state[name] !== undefined && state[name] !== ALL[name].usual).map((name) => [name, write(state[name])]);
}

/** The query of a state; what is as usual is left out. */
export const format = (state, names) => new URLSearchParams(unusual(state, names)).toString();

/** Steps of a logarithmic slider between two powers of two. */
const STEPS_PER_OCTAVE = 8;

/**
 * The stops of a property's slider.
 * @param {Record<string, any>} property
 * @returns {number[]}
 */
export function stops({ low, high, step = 1, scale, stops: given }) {
  if (given) return given;
  if (scale !== "log") return Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => low + index * step);
  const count = Math.round(Math.log2(high / low) * STEPS_PER_OCTAVE);
  const all = Array.from({ length: count + 1 }, (_, index) => Math.round(low * 2 ** (index / STEPS_PER_OCTAVE)));
  all[count] = high;
  return [...new Set(all)];
}

/** The index of the stop nearest to a value. */
export function nearestStop(all, value) {
  let best = 0;
  for (let index = 1; index < all.length; index++) {
    if (Math.abs(all[index] - value) < Math.abs(all[best] - value)) best = index;
  }
  return best;
}
