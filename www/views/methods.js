// The encodings that came after ALiBi, and what is done to rotary frequencies at inference.
import { MODEL, NEWCOMERS } from "../properties.js";
import { trained_length, within } from "./common.js";

/** Those that add a bias to the scores. */
const BIASED = ["kerple", "sandwich"];
const shown = ({ encoding }) => (NEWCOMERS.includes(encoding) ? encoding : "kerple");
const biasWanted = (state) => ({ variant: shown(state), length: state.length });

export default {
  controls: [{ name: "encoding", chips: true }, "length", "logarithmic"],
  needsEngine: true,
  charts: [
    {
      id: "bias",
      wide: true,
      height: within(300, 0.45, 480),
      figure: (state) => (BIASED.includes(shown(state)) ? { figure: "bias_curves", encoding: shown(state), heads: MODEL.heads, length: state.length, trained_length, logarithmic: state.logarithmic } : null),
      values: (state, { biases }) => biases.get(`${shown(state)}|${state.length}`) ?? null,
    },
  ],
  data: (state) => (BIASED.includes(shown(state)) ? { biases: [biasWanted(state)] } : {}),
  notes: (state) => [[`notes.newcomers.${shown(state)}`]],
};
