import { MATRIX_MAX, trained_length, within } from "./common.js";

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: ["length"],
  charts: [
    { id: "mask", height: within(260, 0.9, 520), figure: ({ length }) => ({ figure: "none", length: Math.min(length, MATRIX_MAX), trained_length }) },
  ],
  notes: ({ length }) => (length > MATRIX_MAX ? [["notes.firstPositions", { count: MATRIX_MAX }]] : []),
};
