import { MODEL, TRAINED_LENGTH } from "../properties.js";
import { trained_length, within } from "./common.js";

const rows = ({ length }) => ({ encoding: "learned", length, trained_length, d_model: MODEL.d_model });
const values = (_, { weights }) => weights.get("learned") ?? null;

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: ["length", "measure"],
  needsEngine: true,
  charts: [
    { id: "table", wide: true, height: within(280, 0.4, 460), figure: ({ length }) => ({ figure: "learned", length, trained_length, d_model: MODEL.d_model }), values },
    { id: "similarity", height: within(280, 0.95, 520), figure: (state) => ({ figure: "similarity", measure: state.measure, ...rows(state) }), values },
    { id: "offsets", height: within(280, 0.95, 520), figure: (state) => ({ figure: "offsets", measure: state.measure === "dot" ? "dot" : "distance", ...rows(state) }), values },
  ],
  data: () => ({ weights: ["learned"] }),
  notes: ({ length }) => (length > TRAINED_LENGTH ? [["notes.noRows", { missing: length - TRAINED_LENGTH, trained: TRAINED_LENGTH }]] : []),
};
