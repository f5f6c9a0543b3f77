// The encodings that came after ALiBi, and what is done to rotary frequencies at inference.
import { MODEL, NEWCOMERS } from "../properties.js";
import { methodsFigure, trained_length, within } from "./common.js";

/** Those that add a bias to the scores; the earlier ones stand for comparison. */
const BIASED = ["kerple", "sandwich", "alibi", "t5_bias"];
const SPOKEN_OF = [...NEWCOMERS, "rotary", "alibi", "t5_bias"];
/** The encoding that is spoken of. */
const shown = ({ encoding }) => (SPOKEN_OF.includes(encoding) ? encoding : NEWCOMERS[0]);
const isBiased = (state) => BIASED.includes(shown(state));
const biasWanted = (state) => ({ variant: shown(state), length: state.length });

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: [{ name: "encoding", chips: true }, "length", "logarithmic"],
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
      id: "decay",
      wide: true,
      height: within(280, 0.4, 440),
      figure: (state) => (shown(state) === "xpos" ? { figure: "xpos_decay", d_head: MODEL.d_head, length: state.length, trained_length } : null),
    },
    {
      id: "methods",
      wide: true,
      height: within(300, 0.42, 480),
      // Where the reader chose a later bias, there is nothing to turn.
      figure: (state) => (["kerple", "sandwich"].includes(state.encoding) ? null : methodsFigure({ ...state, d_head: MODEL.d_head })),
    },
  ],
  data: (state) => (isBiased(state) ? { biases: [biasWanted(state)] } : {}),
  notes: (state) => [[`notes.newcomers.${shown(state)}`]],
};
