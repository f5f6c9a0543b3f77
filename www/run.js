// One measurement of perplexity, as far as it has come.
import { encodingOf, inOrder, seedOf, title, trainedOf } from "./methods.js";
import { own } from "./own-text.js";
import { ENCODINGS, TRAINED_LENGTH } from "./properties.js";

/**
 * Runs that measure the same are one; each text of the reader's is another.
 * @param {Record<string, any>} state
 */
export const runKey = ({ text, past, max, windows, stride }) =>
  [text === "own" ? `own ${own.version}` : text, past, max, windows === "sliding" ? `sliding ${stride}` : "non_overlapping"].join("|");

export class Run {
  /** @param {string} key */
  constructor(key) {
    this.key = key;
    const [text, past] = key.split("|");
    this.text = text.split(" ")[0];
    this.past = past;
    this.lengths = [];
    /** Tokens that are scored at every length in the end. */
    this.scored = 0;
    this.tokens = 0;
    /** @type {Map<string, {length: number, perplexity: number, standard_error: number | null, tokens: number}[]>} */
    this.points = new Map();
    this.undefined = new Set();
    /** @type {Map<string, Float32Array>} losses by position, by `encoding|length` */
    this.positions = new Map();
    this.isFinished = false;
    this.progress = 0;
    this.stepsAtMost = 0;
  }

  take(message) {
    switch (message.kind) {
      case "planned":
        this.lengths = message.lengths;
        this.scored = message.scored;
        this.tokens = message.of;
        break;
      case "points": {
        this.points.set(message.encoding, better(this.points.get(message.encoding), message.points));
        if (message.isUndefined) this.undefined.add(message.encoding);
        this.isFinished = false;
        this.stepsAtMost = Math.max(this.stepsAtMost, message.left + 1);
        this.progress = 1 - message.left / this.stepsAtMost;
        break;
      }
      case "position":
        this.positions.set(`${message.encoding}|${message.length}`, message.losses);
        break;
      case "finished":
        this.isFinished = true;
        this.progress = 1;
        break;
    }
  }

  /** All points, one an encoding and length. */
  all() {
    return [...this.points].flatMap(([encoding, points]) => points.map((point) => ({ encoding, ...point })));
  }

  /**
   * As the perplexity figure takes them.
   * @param {string[]} names of variants
   * @param {import("./words.js").Words} words
   * @param {boolean} [seeds] whether the second seed of each is shown, as a band
   */
  series(names, words, seeds = false) {
    return inOrder(names).filter((name) => this.points.get(name)?.length).map((name) => ({
      encoding: name,
      ...(ENCODINGS.includes(name) ? {} : { label: title(name, words) }),
      note: encodingOf(name) === "learned" && this.past !== "undefined" ? words.say(`findings.${this.past}Row`) : null,
      ...(trainedOf(name) === TRAINED_LENGTH ? {} : { trained_length: trainedOf(name) }),
      points: seeds ? this.withSeed(name) : this.points.get(name),
    }));
  }

  /** The points of a model, each with what the second seed has there. */
  withSeed(name) {
    const others = new Map((this.points.get(seedOf(name)) ?? []).map(({ length, perplexity }) => [length, perplexity]));
    return this.points.get(name).map((point) => ({ ...point, other_seed: others.get(point.length) ?? null }));
  }

  /** What happened past L, one entry a variant: `{name, at, value, length}` or `{name, isUndefined}`. */
  findings(names) {
    const found = [];
    for (const name of inOrder(names)) {
      const points = this.points.get(name) ?? [];
      const trained = trainedOf(name);
      const at = points.find(({ length }) => length === trained);
      const last = points.at(-1);
      if (this.undefined.has(name)) found.push({ name, isUndefined: true });
      else if (at && last && last.length > trained) {
        found.push({ name, at: at.perplexity, value: last.perplexity, length: last.length });
      }
    }
    return found;
  }
}

/** Of each length the point that rests on more tokens: a worker that starts anew begins with few. */
function better(old = [], now) {
  const best = new Map(old.map((point) => [point.length, point]));
  for (const point of now) {
    if (!(best.get(point.length)?.tokens > point.tokens)) best.set(point.length, point);
  }
  return [...best.values()].sort((a, b) => a.length - b.length);
}
