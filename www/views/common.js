// What views share.
import { MODEL, TRAINED_LENGTH, numbers } from "../properties.js";
import { slopesProblem } from "../controls.js";

export const trained_length = TRAINED_LENGTH;

/** Longer pictures of one cell a token would show nothing more. */
export const MATRIX_MAX = 512;

/** A height that follows the width within limits. */
export const within = (low, share, high) => (width) => Math.max(low, Math.min(high, width * share));

/** The custom slopes where there are valid ones. */
export function slopesOf({ slopes, heads }) {
  if (!slopes.trim() || slopesProblem(slopes, heads)) return null;
  return numbers(slopes);
}

/** The attention figure's settings from an answer of the engine; those of the wish where there is none yet. */
export function attentionFigure(answer, wish) {
  const { encoding, length, layer, head } = answer ?? wish;
  return { figure: "attention", length, trained_length, layer, head, encoding, side: answer?.side ?? Math.min(length, 512) };
}

export function distanceFigure(answer, wish, more) {
  const { encoding, length, layer, head } = answer ?? wish;
  return { figure: "distance", length, trained_length, layers: MODEL.layers, heads: MODEL.heads, layer, head, encoding, ...more };
}

/** Whether a model of learned positions has none for a length. */
export const isUndefined = ({ encoding, past, length }) => encoding === "learned" && past === "undefined" && length > TRAINED_LENGTH;

/** An answer that belongs to the encoding that is looked at. */
export const fitting = (answer, encoding, state) =>
  answer && answer.encoding === encoding && !isUndefined({ ...state, encoding }) ? answer : null;

/** What each method of stretching makes of rotary frequencies, with the factor and the limits that are chosen. */
export const methodsFigure = ({ d_head, base, length, factor, beta_fast, beta_slow }) =>
  ({ figure: "rotary_methods", d_head, base, length, trained_length, beta_fast, beta_slow: Number(beta_slow), ...(factor > 0 ? { factor } : {}) });
