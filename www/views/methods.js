// The encodings that came after ALiBi, and what is done to rotary frequencies at inference.
import { MODEL, NEWCOMERS } from "../properties.js";
import { methodsFigure, trained_length, within } from "./common.js";

/** Those that add a bias to the scores. */
const BIASED = ["kerple", "sandwich"];
/** The encoding that is spoken of: the first of them where an earlier one is chosen. */
const shown = ({ encoding }) => (NEWCOMERS.includes(encoding) || encoding === "rotary" ? encoding : BIASED[0]);
const isBiased = (state) => BIASED.includes(shown(state));
const biasWanted = (state) => ({ variant: shown(state), length: state.length });

export default {
  controls: [{ name: "encoding", chips: true }, "length", "logarithmic", "factor", "beta_fast", "beta_slow"],
  needsEngine: true,
  charts: [
    {
      id: "bias",
      wide: true,
      height: within(300, 0.45, 480),
      titleParts: (state, words) => ({ encoding: words.encoding(shown(state)) }),
      figure: (state) => (isBiased(state) ? { figure: "bias_curves", encoding: shown(state), heads: MODEL.heads, length: state.length, trained_length, logarithmic: state.logarithmic } : null),
      values: (state, { biases }) => biases.get(`${shown(state)}|${state.length}`) ?? null,
    },
    {
      id: "methods",
      wide: true,
      height: within(300, 0.42, 480),
      // Where a bias is what the reader chose, there is nothing to turn.
      figure: (state) => (BIASED.includes(state.encoding) ? null : methodsFigure({ ...state, d_head: MODEL.d_head })),
    },
  ],
  data: (state) => (isBiased(state) ? { biases: [biasWanted(state)] } : {}),
  notes: (state) => [[`notes.newcomers.${shown(state)}`]],
};
