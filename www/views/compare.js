import { TRAINED_LENGTH } from "../properties.js";
import { attentionFigure, distanceFigure, fitting, isUndefined, trained_length, within } from "./common.js";

const SIDES = ["left", "right"];
/** The same powers of ten on both sides. */
const DECADES = 5;

const wish = (state, side) => {
  const { text, past, length, layer, head } = state;
  return { encoding: state[side], variant: state[side], text, past, length, layer, head };
};
const answer = (state, { attentions }, side) => fitting(attentions[side], state[side], state);
const both = ({ left, right }) => [...new Set([left, right])];

const attention = (side) => ({
  id: `attention_${side}`,
  titleParts: (state, words) => ({ encoding: words.encoding(state[side]) }),
  height: within(280, 0.98, 520),
  figure: (state, data) => isUndefined({ ...state, encoding: state[side] }) ? null : attentionFigure(answer(state, data, side), wish(state, side)),
  values: (state, data) => answer(state, data, side)?.raster ?? null,
  heat: { slot: side, index: 0, across: 1, picture: (state, data) => answer(state, data, side)?.bitmaps[0] },
});
const distance = (side) => ({
  id: `distance_${side}`,
  titleParts: (state, words) => ({ encoding: words.encoding(state[side]) }),
  height: within(260, 0.7, 400),
  figure: (state, data) => isUndefined({ ...state, encoding: state[side] }) ? null : distanceFigure(answer(state, data, side), wish(state, side), { logarithmic: state.logarithmic, decades: DECADES }),
  values: (state, data) => answer(state, data, side)?.profile ?? null,
});

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: [{ name: "left", chips: true }, { name: "right", chips: true }, "length", "layer", "head", "logarithmic", "text", "past", "max"],
  needsEngine: true,
  charts: [
    ...SIDES.map(attention),
    ...SIDES.map(distance),
    {
      id: "perplexity",
      wide: true,
      height: within(300, 0.4, 440),
      figure: (state, { run, words }) => ({
        figure: "perplexity",
        trained_length,
        length: state.length,
        selected: state.right,
        series: run?.series(both(state), words) ?? [],
        undefined: [...(run?.undefined ?? [])].filter((name) => both(state).includes(name)),
      }),
    },
  ],
  data: (state) => ({
    attention: { left: wish(state, "left"), right: wish(state, "right") },
    run: { text: state.text, past: state.past, max: state.max, order: both(state) },
  }),
  notes: (state, { words }) => [
    ["notes.compare", { left: words.encoding(state.left), right: words.encoding(state.right), length: words.count(state.length) }],
    ...(SIDES.some((side) => isUndefined({ ...state, encoding: state[side] })) ? [["notes.attentionUndefined", { trained: TRAINED_LENGTH }]] : []),
  ],
};
