// Models and what is changed of them at inference, as the strings that the engine knows: `rotary?scaling=yarn`.
import { ENCODINGS, MODEL, PROPERTIES, TRAINED_LENGTH } from "./properties.js";

/** Ways to score keys far before the query; they take the place of a window. */
const FAR = ["rerope", "self_extend"];
const BY_PARTS = ["by_parts", "yarn"];
export const isFar = ({ scaling }) => FAR.includes(scaling);
export const isRotary = ({ encoding }) => encoding === "rotary";
export const hasFactor = (state) => isRotary(state) && state.scaling !== "none" && !isFar(state);
export const hasParts = (state) => isRotary(state) && BY_PARTS.includes(state.scaling);
/** Whether a far method that works on the chosen encoding leaves no room for a window. */
export const hasWindow = (state) => !(isRotary(state) && isFar(state));

/** The properties that change a model at inference, in the order of their controls. */
export const METHOD_CONTROLS = ["scaling", "factor", "beta_fast", "beta_slow", "far_window", "far_group", "log_n", "window", "sinks"];

/** What the state changes of the chosen encoding, as a query; empty where nothing. */
function changes(state) {
  const parts = [];
  if (hasFactor(state)) {
    parts.push(["scaling", state.scaling]);
    if (state.factor > 0) parts.push(["factor", state.factor]);
    if (hasParts(state) && state.beta_fast !== PROPERTIES.beta_fast.usual) parts.push(["beta_fast", state.beta_fast]);
    if (hasParts(state) && state.beta_slow !== PROPERTIES.beta_slow.usual) parts.push(["beta_slow", state.beta_slow]);
  }
  if (isRotary(state) && state.log_n) parts.push(["log_n", 1]);
  if (hasWindow(state) && state.window > 0) {
    parts.push(["window", state.window]);
    if (state.sinks > 0) parts.push(["sinks", state.sinks]);
  }
  if (!hasWindow(state)) {
    parts.push([state.scaling, state.scaling === "rerope" ? state.far_window : `${state.far_window},${Math.min(state.far_group, state.far_window)}`]);
  }
  return parts.map(([key, value]) => `${key}=${value}`).join("&");
}

/** The chosen encoding's model as the state changes it; its plain name where nothing is changed. */
export function changed(state) {
  const query = changes(state);
  return query ? `${state.encoding}?${query}` : state.encoding;
}

/** The checkpoint of a variant, and the encoding of that. */
export const modelOf = (variant) => variant.split("?")[0];
export const encodingOf = (variant) => modelOf(variant).split("-")[0];
/** The length that a model was trained on, as its name tells. */
export const trainedOf = (variant) => Number(/-l(\d+)/.exec(modelOf(variant))?.[1] ?? TRAINED_LENGTH);
export const seedOf = (model) => `${model}-s2`;

/** The models of a set: all encodings, or the chosen one with other numbers of heads, or trained on other lengths. */
export function modelsOf({ models, encoding, encodings }) {
  if (models === "heads") return [1, 2, MODEL.heads, 8].map((heads) => (heads === MODEL.heads ? encoding : `${encoding}-h${heads}`));
  if (models === "lengths") return [64, TRAINED_LENGTH, 256].map((length) => (length === TRAINED_LENGTH ? encoding : `${encoding}-l${length}`));
  return encodings.split(",");
}

/** A variant as readers see it: `Rotary, 8 heads`, `Rotary, YaRN, window 64`. */
export function title(variant, words) {
  const [model, query = ""] = variant.split("?");
  const [encoding, ...marks] = model.split("-");
  const parts = [words.encoding(encoding)];
  for (const mark of marks) {
    const [, kind, count] = /^([a-z]+?)(\d*)$/.exec(mark) ?? [null, mark, ""];
    const path = `methods.models.${kind}`;
    parts.push(words.has(path) ? words.say(path, { count }) : mark);
  }
  for (const [key, value] of new URLSearchParams(query)) {
    const path = `methods.${key}`;
    const choice = `properties.scaling.choices.${value}`;
    if (key === "scaling" && words.has(choice)) parts.push(words.say(choice));
    else parts.push(words.has(path) ? words.say(path, { value }) : `${key}=${value}`);
  }
  return parts.join(words.say("methods.between"));
}

/** Usual models first, in the encodings' order; then the rest as they come. */
export const inOrder = (names) => [...ENCODINGS.filter((name) => names.includes(name)), ...names.filter((name) => !ENCODINGS.includes(name))];
