// The page's state, which is its address. One table of properties drives controls, address and checks.
import { problems } from "./locales/en.js";

export const ENCODINGS = ["none", "learned", "sinusoidal", "rotary", "t5_bias", "alibi"];
/** The length the shipped models were trained on, L. */
export const TRAINED_LENGTH = 128;

const whole = (low, high, usual) => ({ kind: "whole", low, high, usual });
const choice = (choices, usual) => ({ kind: "choice", choices, usual });

export const PROPERTIES = {
  encoding: choice(ENCODINGS, "alibi"),
  heads: whole(1, 16, 8),
  length: whole(16, 4096, 128),
  layer: whole(0, 2, 0),
  head: whole(0, 3, 0),
  engine: choice(["auto", "cpu", "gpu"], "auto"),
  past: choice(["undefined", "last"], "undefined"),
  text: choice(["persuasion", "hamlet"], "persuasion"),
  theme: choice(["auto", "light", "dark"], "auto"),
  /** The longest length that is measured. */
  max: whole(16, 4096, 4096),
};

/** Reads one property; gives its value and, where the text is not one, what to tell the reader. */
function read(name, text) {
  const property = PROPERTIES[name];
  const { usual } = property;
  if (text === "") return { value: usual, problem: problems.emptyParameter(name, usual) };
  if (property.kind === "choice") {
    if (property.choices.includes(text)) return { value: text };
    return { value: usual, problem: problems.notAChoice(name, text, property.choices, usual) };
  }
  const { low, high } = property;
  const value = Number(text);
  if (!Number.isInteger(value)) return { value: usual, problem: problems.notANumber(name, text, low, high, usual) };
  const clamped = Math.min(high, Math.max(low, value));
  if (clamped === value) return { value };
  return { value: clamped, problem: problems.outOfRange(name, text, low, high, clamped) };
}

/** Reads an address's query; gives a whole state, and the problems to tell. */
export function parse(query) {
  const state = Object.fromEntries(Object.entries(PROPERTIES).map(([name, { usual }]) => [name, usual]));
  const found = [];
  for (const [name, text] of new URLSearchParams(query)) {
    if (!Object.hasOwn(PROPERTIES, name)) {
      found.push(problems.unknownParameter(name));
      continue;
    }
    const { value, problem } = read(name, text);
    state[name] = value;
    if (problem) found.push(problem);
  }
  return { state, problems: found };
}

/** The query of a state; what is as usual is left out. */
export function format(state) {
  const query = new URLSearchParams();
  for (const [name, { usual }] of Object.entries(PROPERTIES)) {
    if (state[name] !== usual) query.set(name, String(state[name]));
  }
  return query.toString();
}

/** Steps of the length slider between two powers of two. */
const STEPS_PER_OCTAVE = 8;

/** The lengths of the slider: eight steps an octave, every power of two among them. */
export const LENGTHS = (() => {
  const { low, high } = PROPERTIES.length;
  const octaves = Math.log2(high / low);
  return Array.from({ length: octaves * STEPS_PER_OCTAVE + 1 }, (_, step) => Math.round(low * 2 ** (step / STEPS_PER_OCTAVE)));
})();

/** The slider's step that is nearest to a length. */
export function stepOf(length) {
  return Math.round(Math.log2(length / PROPERTIES.length.low) * STEPS_PER_OCTAVE);
}
