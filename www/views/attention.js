import { METHOD_CONTROLS, changed } from "../methods.js";
import { MODEL, TRAINED_LENGTH } from "../properties.js";
import { attentionFigure, distanceFigure, fitting, isUndefined, trained_length, within } from "./common.js";
import { words as tokenWords } from "./tokens.js";

/** Cells along a side of the small pictures. */
const SMALL_SIDE = 96;

const wish = (state) => {
  const { encoding, text, past, length, layer, head } = state;
  return { encoding, variant: changed(state), text, past, length, layer, head, thumbnails: SMALL_SIDE };
};
const answer = (state, { attentions }) => fitting(attentions.main, state.encoding, state);
/** A figure where there is attention to show; where there is none, the note says why. */
const where = (figure) => (state, data) => (isUndefined(state) ? null : figure(state, data));

/** The share of its weight that a head's average query puts on keys more than L tokens back. */
function sharePast({ profile, layer, head, length }) {
  const start = (layer * MODEL.heads + head) * length;
  let far = 0;
  // A distance n exists for length − n of the queries only.
  for (let n = TRAINED_LENGTH + 1; n < length; n++) far += (profile[start + n] * (length - n)) / length;
  return far;
}

/** Profile and entropies as the figure of effective context takes them; made once an answer. */
const joined = new WeakMap();
function context(have) {
  if (!have) return null;
  if (!joined.has(have)) {
    const all = new Float32Array(have.profile.length + have.entropy.length);
    all.set(have.profile);
    all.set(have.entropy, have.profile.length);
    joined.set(have, all);
  }
  return joined.get(have);
}

const pick = (plot) => ({ layer: Math.floor(plot / MODEL.heads), head: plot % MODEL.heads });

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: [{ name: "encoding", chips: true }, "length", "layer", "head", "logarithmic", ...METHOD_CONTROLS, "text", "past"],
  needsEngine: true,
  charts: [
    {
      id: "heads",
      height: (width) => Math.max(300, Math.min(640, width * 0.95)),
      figure: where((state, data) => {
        const have = answer(state, data);
        const { length } = have ?? state;
        const side = have?.smallSide ?? Math.min(length, SMALL_SIDE);
        return { figure: "attention_heads", length, trained_length, layers: MODEL.layers, heads: MODEL.heads, side, layer: state.layer, head: state.head, encoding: state.encoding };
      }),
      values: (state, data) => answer(state, data)?.thumbnails ?? null,
      heat: { slot: "main", index: 1, across: MODEL.heads, picture: (state, data) => answer(state, data)?.bitmaps[1] },
      pick,
    },
    {
      id: "head",
      height: (width) => Math.max(300, Math.min(640, width * 0.95)),
      figure: where((state, data) => attentionFigure(answer(state, data), state)),
      values: (state, data) => answer(state, data)?.raster ?? null,
      heat: { slot: "main", index: 0, across: 1, picture: (state, data) => answer(state, data)?.bitmaps[0] },
      more: tokenWords,
    },
    {
      id: "distance",
      height: within(260, 0.7, 420),
      figure: where((state, data) => distanceFigure(answer(state, data), state, { logarithmic: state.logarithmic })),
      values: (state, data) => answer(state, data)?.profile ?? null,
    },
    {
      id: "context",
      height: within(260, 0.7, 420),
      figure: where((state, data) => {
        const { length } = answer(state, data) ?? state;
        return { figure: "context", length, trained_length, layers: MODEL.layers, heads: MODEL.heads, layer: state.layer, head: state.head, encoding: state.encoding };
      }),
      values: (state, data) => context(answer(state, data)),
    },
  ],
  data: (state) => ({ attention: { main: wish(state) } }),
  notes: (state, data) => {
    if (isUndefined(state)) return [["notes.attentionUndefined", { trained: TRAINED_LENGTH }]];
    const have = answer(state, data);
    if (!have) return [["notes.attentionWaiting"]];
    if (have.length <= TRAINED_LENGTH) return [["notes.attentionWithin", { length: have.length }]];
    return [["notes.attentionPast", { length: have.length, trained: TRAINED_LENGTH, share: data.words.percent(sharePast(have)) }]];
  },
};
