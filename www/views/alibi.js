import { MODEL } from "../properties.js";
import { MATRIX_MAX, slopesOf, trained_length, within } from "./common.js";

export default {
  controls: ["heads", "length", "slopes"],
  charts: [
    {
      id: "matrices",
      wide: true,
      height: (width, { heads }) => Math.max(280, Math.min(680, width * (heads > 8 ? (width < 600 ? 1.3 : 0.62) : width < 600 ? 0.8 : 0.5))),
      figure: (state) => ({ figure: "alibi", heads: state.heads, length: Math.min(state.length, MATRIX_MAX), slopes: slopesOf(state), trained_length }),
    },
    {
      id: "slopes",
      height: within(280, 0.8, 440),
      figure: (state) => ({ figure: "alibi_slopes", heads: state.heads, slopes: slopesOf(state), length: state.length, trained_length }),
    },
    {
      id: "softmax",
      height: within(280, 0.8, 440),
      figure: (state) => ({ figure: "alibi_softmax", heads: state.heads, slopes: slopesOf(state), length: state.length, trained_length }),
    },
  ],
  notes: ({ heads, length }) => [
    heads === MODEL.heads ? ["notes.headsOfModel", { heads }] : ["notes.headsOther", { heads, model: MODEL.heads }],
    ...(heads & (heads - 1) ? [["notes.slopesBetween", { heads, below: 2 ** Math.floor(Math.log2(heads)), rest: heads - 2 ** Math.floor(Math.log2(heads)) }]] : []),
    ...(length > MATRIX_MAX ? [["notes.firstPositions", { count: MATRIX_MAX }]] : []),
  ],
};
