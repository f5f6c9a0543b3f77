// Every sentence that the page makes, in English. One file a language; functions take numbers, so that
// each language can order its words.

/** A number for readers: three significant digits, no exponent where it can be helped. */
export function number(value, digits = 3) {
  if (!Number.isFinite(value)) return "–";
  return new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(value);
}

/** A number in a column: two decimals, so that the points stand under each other. */
export const inColumn = (value) => new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 }).format(value);

const count = (value) => new Intl.NumberFormat("en").format(value);

const percent = (share) => (share < 1e-4 ? "less than 0.01 %" : `${number(100 * share, 2)} %`);

export const titles = {
  none: "No position (NoPE)",
  learned: "Learned",
  sinusoidal: "Sinusoidal",
  rotary: "Rotary",
  t5_bias: "T5 bias",
  alibi: "ALiBi",
};

/** Short enough for a button. */
export const names = { ...titles, none: "NoPE" };

export const explanations = {
  none: "The model is told nothing. Only the causal mask, which hides later tokens, implies an order: the first token sees one key, the hundredth a hundred.",
  learned: "Each position has its own trained row, added to the token. Past L there is no row: nothing was ever trained there, so the picture ends.",
  sinusoidal: "Each position gets a row of sines and cosines, from fast (top) to slow (bottom), added to the token. The formula goes on past L; the model has never seen those rows.",
  rotary: "Pairs of dimensions of each query and key turn by an angle that grows with the position, so a score depends on the distance only. The dials show a query at the chosen length and a key at half of it: pairs that have not completed a turn within L meet angles past L that they were never trained on.",
  t5_bias: "Distances fall into buckets: near ones have their own, far ones share. Each bucket has one trained number a head, added to the score. Everything from the last bucket on looks equally far.",
  alibi: "Each head’s score falls by its slope for every token of distance. Steep heads look at the last few tokens, flat ones far back; no table ends at L.",
};

export const headsNote = (heads, modelHeads) =>
  heads === modelHeads
    ? `The live models have ${modelHeads} heads, as in this picture.`
    : `This picture has ${heads} head${heads === 1 ? "" : "s"}; the live models have ${modelHeads}.`;
/** For head counts that are no power of two. */
export const slopesBetween = "The formula is for powers of two; other counts take every second slope of twice as many heads for the rest.";
export const firstPositions = (count) => `The picture shows the first ${count} positions.`;

export const noHeads = "This encoding is the same for every head, so the heads slider does not change it.";
export const repeatsLast = (trained) => `With “repeat the last row”, every later position gets the row of position ${trained - 1} again.`;
export const trainedHeads = (heads) => `The biases are trained: one curve for each of the model’s ${heads} heads, wherever the heads slider stands.`;

export const lengthInWords = (length, trained) =>
  length === trained ? `${length} tokens, the trained length` : `${length} tokens, ${number(length / trained)} times the trained length`;
export const lengthShort = (length, trained) => `${length} = ${number(length / trained)} L`;
export const headsInWords = (heads) => `${heads} head${heads === 1 ? "" : "s"}`;

export const attention = {
  waiting: "The attention appears once the model is loaded.",
  undefined: (trained) => `Undefined: no row past ${trained} was trained, so this model cannot read position ${trained}. Choose “repeat the last row” below to see what a guess does.`,
  within: (length) => `A window of ${length} tokens, all at positions the model was trained on. Drag the length past the line to see what changes.`,
  past: (length, trained, share) => `A window of ${length} tokens; past the line at L = ${trained} the positions are new to the model. Here this head’s average query puts ${percent(share)} of its weight on keys more than L tokens back.`,
};

export const finding = (title, best, at, ratio) =>
  ratio > 1.05
    ? `${title}: ${number(best)} at L, ${number(ratio * best)} at ${count(at)}: ${number(ratio)} times its value at L.`
    : `${title}: ${number(best)} at L and ${number(ratio * best)} at ${count(at)}: it holds.`;
export const findingUndefined = (title, trained) => `${title}: undefined past ${trained}, where its table ends.`;
export const lastRowNote = "last row repeated";

export const perplexity = (tokens, text) =>
  `How many tokens the model hesitates between, on average: lower is better. Every length scores the same tokens of ${text}${tokens ? `, ${count(tokens)} in the end` : ""}, in windows that do not overlap; bars are one standard error and shrink as the measurement goes on.`;
export const texts = { persuasion: "Persuasion", hamlet: "Hamlet" };
export const position = (title, length) =>
  `Mean loss of ${title} at each position of a window of ${length} tokens. The first tokens of a window have little context and are always hard (the early token curse); what matters is whether the curve stays down past L.`;
export const positionWaiting = "The curve appears once this model is measured.";

export const status = {
  starting: "Starting the engine …",
  running: (message, speed) => `${message}${speed ? ` ${count(Math.round(speed))} tokens a second.` : ""}`,
  loading: (title) => `Loading the model ${title} …`,
  insecure: "Browsers offer WebGPU only to pages served by https or from this machine.",
  pause: "Pause",
  resume: "Go on",
  done: "Measured",
};

export const table = { length: "Length", none: "–", undefined: "undefined", caption: (tokens) => `Perplexity ± standard error, ${count(tokens)} tokens scored` };

export const summaries = {
  encoding: (title, length) => `Picture of the encoding ${title} for ${length} positions.`,
  attention: (title, layer, head, length) => `Attention of layer ${layer}, head ${head} of the model ${title} over ${length} tokens: query by key.`,
  distance: (title, length) => `Mean attention of each head of ${title} by distance, over ${length} tokens.`,
  perplexity: (findings) => `Perplexity of the models against length. ${findings}`,
  position: (title, length) => `Mean loss of ${title} by position in windows of ${length} tokens.`,
};

export const problems = {
  unknownParameter: (name) => `The address has a parameter “${name}” that does not exist; it is ignored.`,
  emptyParameter: (name, used) => `The address’s “${name}” is empty; ${used} is used.`,
  notANumber: (name, value, low, high, used) => `The address’s “${name}=${value}” is not a whole number from ${low} to ${high}; ${used} is used.`,
  outOfRange: (name, value, low, high, used) => `The address’s “${name}=${value}” is outside ${low} to ${high}; ${used} is used.`,
  notAChoice: (name, value, choices, used) => `The address’s “${name}=${value}” is not one of ${choices.join(", ")}; ${used} is used.`,
  download: (file, reason) => `${file} could not be fetched: ${reason}. Check the connection and try again; everything else goes on without it.`,
  emptyFile: "it is empty",
  tooLarge: (size, limit) => `it is larger than the limit of ${number(limit / 1e6)} MB (${number(size / 1e6)} MB)`,
  checkpoint: (file, reason) => `${file} cannot be used: ${reason}.`,
  tooShort: (text, tokens, longest) => `${text} is too short for lengths past ${longest}: it has ${count(tokens)} tokens. Longer lengths need a longer text.`,
  noText: (text, reason) => `Nothing can be measured on ${text}: ${reason}.`,
  run: (what, reason) => `${what} stopped: ${reason}.`,
  worker: (reason) => `The engine stopped (${reason}) and was started again on the CPU; what was measured is measured anew.`,
  workerTwice: (reason) => `The engine stopped again (${reason}). The pictures still work; reload the page to try once more.`,
  wasm: (reason) => `The program could not be loaded (${reason}). It needs WebAssembly with SIMD, which every browser since 2023 has.`,
  figure: (name, reason) => `The picture “${name}” cannot be drawn: ${reason}.`,
  retry: "Try again",
  dismiss: "Dismiss",
};
