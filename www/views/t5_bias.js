import { MODEL, PROPERTIES } from "../properties.js";
import { MATRIX_MAX, trained_length, within } from "./common.js";

/** The distances of one side that have a bucket of their own; the maximum must lie above. */
const exact = ({ buckets, bidirectional }) => Math.floor(buckets / (bidirectional ? 4 : 2));
const settings = (state) => ({
  buckets: state.buckets,
  max_distance: Math.max(state.max_distance, exact(state) + 1),
  bidirectional: state.bidirectional,
});
/** Whether the settings are those that the model was trained with. */
const isTrained = (state) =>
  state.buckets === PROPERTIES.buckets.usual && state.max_distance === PROPERTIES.max_distance.usual && !state.bidirectional;

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: ["length", "buckets", "max_distance", "bidirectional"],
  needsEngine: true,
  charts: [
    {
      id: "buckets",
      openTable: true,
      wide: true,
      height: within(320, 0.45, 520),
      figure: ({ length, ...state }) => ({ figure: "t5_bias", heads: MODEL.heads, ...settings(state), length, trained_length }),
      values: (state, { weights }) => (isTrained(state) ? (weights.get("t5_bias") ?? null) : null),
    },
    {
      id: "matrix",
      height: within(280, 0.95, 520),
      figure: ({ length, ...state }) => ({ figure: "t5_matrix", ...settings(state), length: Math.min(length, MATRIX_MAX), trained_length }),
    },
  ],
  data: (state) => (isTrained(state) ? { weights: ["t5_bias"] } : {}),
  notes: (state) => [
    ...(state.max_distance <= exact(state) ? [["notes.distanceTooSmall", { buckets: state.buckets, exact: exact(state), used: exact(state) + 1 }]] : []),
    isTrained(state) ? ["notes.trainedBiases", { heads: MODEL.heads }] : ["notes.otherBuckets", { buckets: PROPERTIES.buckets.usual, distance: PROPERTIES.max_distance.usual }],
    ...(state.length > MATRIX_MAX ? [["notes.firstPositions", { count: MATRIX_MAX }]] : []),
  ],
};
