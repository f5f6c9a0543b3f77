import { numbers } from "../properties.js";
import { trained_length, within } from "./common.js";

const rows = ({ length, dimensions, layout, base }) => ({ length, trained_length, d_model: dimensions, layout, base });

/** Chosen waves that the table does not have. */
const leftOut = ({ waves, dimensions }) => numbers(waves).filter((dimension) => dimension >= dimensions);

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: ["length", "dimensions", "layout", "base", "waves", "measure"],
  charts: [
    { id: "table", wide: true, height: within(280, 0.4, 460), figure: (state) => ({ figure: "sinusoidal", ...rows(state) }) },
    {
      id: "waves",
      wide: true,
      height: within(240, 0.3, 360),
      figure: (state) => {
        const chosen = numbers(state.waves).filter((dimension) => dimension < state.dimensions);
        return { figure: "waves", ...rows(state), dimensions: chosen.length ? chosen : [0] };
      },
    },
    { id: "similarity", height: within(280, 0.95, 520), figure: (state) => ({ figure: "similarity", encoding: "sinusoidal", measure: state.measure, ...rows(state) }) },
    { id: "offsets", height: within(280, 0.95, 520), figure: (state) => ({ figure: "offsets", encoding: "sinusoidal", measure: state.measure === "dot" ? "dot" : "distance", ...rows(state) }) },
    {
      id: "counter",
      wide: true,
      height: within(320, 0.45, 460),
      figure: ({ length, layout, base }) => ({ figure: "counter", length: Math.min(length, 64), d_model: 16, layout, base }),
    },
  ],
  notes: (state) => (leftOut(state).length ? [["notes.wavesLeftOut", { dimensions: state.dimensions, left: leftOut(state).join(", ") }]] : []),
};
