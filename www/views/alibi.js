import { MODEL } from "../properties.js";
import { MATRIX_MAX, slopesOf, trained_length, within } from "./common.js";

/** So high that the matrices fill the width. */
function matricesHeight(width, { heads }) {
  const most = width < 600 ? (heads > 9 ? 4 : 3) : heads > 12 ? 8 : heads > 8 ? 6 : 4;
  const columns = Math.min(most, heads);
  const side = Math.min(300, (width - 40) / columns - 14);
  return Math.min(1600, Math.round(Math.ceil(heads / columns) * (side + 24) + 96));
}

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: ["heads", "length", "slopes"],
  charts: [
    {
      id: "matrices",
      wide: true,
      height: matricesHeight,
      figure: (state) => ({ figure: "alibi", heads: state.heads, length: Math.min(state.length, MATRIX_MAX), slopes: slopesOf(state), trained_length }),
    },
    {
      id: "slopes",
      height: within(280, 0.8, 440),
      figure: (state, { weights }) => {
        // A checkpoint with trained slopes is compared with the paper's.
        const trained = weights.get("alibi");
        return { figure: "alibi_slopes", heads: state.heads, slopes: slopesOf(state), trained: trained?.length === state.heads ? [...trained] : null, length: state.length, trained_length };
      },
    },
    {
      id: "softmax",
      height: within(280, 0.8, 440),
      figure: (state) => ({ figure: "alibi_softmax", heads: state.heads, slopes: slopesOf(state), length: state.length, trained_length }),
    },
  ],
  notes: ({ heads, length, slopes }) => [
    heads === MODEL.heads ? ["notes.headsOfModel", { heads }] : ["notes.headsOther", { heads, model: MODEL.heads }],
    ...(heads & (heads - 1) && !slopesOf({ slopes, heads }) ? [["notes.slopesBetween", { heads, below: 2 ** Math.floor(Math.log2(heads)), rest: heads - 2 ** Math.floor(Math.log2(heads)) }]] : []),
    ...(length > MATRIX_MAX ? [["notes.firstPositions", { count: MATRIX_MAX }]] : []),
  ],
};
