import { PROPERTIES } from "../properties.js";
import { methodsFigure, trained_length, within } from "./common.js";

/** @param {Record<string, any>} state */
const turns = ({ rotated, base, pairing }) => ({ d_head: rotated, base, pairing });

/** The position nearest to `now` at which a pair's hand points at `angle`, clockwise from the top. */
export function positionAt(angle, frequency, now) {
  const turn = (2 * Math.PI) / frequency;
  const first = angle / frequency;
  const position = Math.round(first + Math.round((now - first) / turn) * turn);
  const { low, high } = PROPERTIES.query;
  return Math.min(high, Math.max(low, position));
}

/** How far two angles lie apart, without whole turns. */
const apart = (a, b) => Math.abs(Math.atan2(Math.sin(a - b), Math.cos(a - b)));

/** A finger must take a hand by its outer part, within this many radians: anywhere else it scrolls the page. */
const TOUCH_RADIANS = 0.5;
const TOUCH_RADIUS = 0.25;

/** The hand nearest to the pointer follows it. */
function drag({ plots }, x, y, state, isTouch) {
  const plot = plots.find((one) => x >= one.x && x <= one.x + one.width && y >= one.y && y <= one.y + one.height);
  if (!plot) return null;
  const frequency = state.base ** ((-2 * plot.index) / state.rotated);
  const angle = (px, py) => Math.atan2(px - plot.x - plot.width / 2, plot.y + plot.height / 2 - py);
  const start = angle(x, y);
  const hand = apart(start, state.query * frequency) <= apart(start, state.key * frequency) ? "query" : "key";
  const away = Math.hypot(x - plot.x - plot.width / 2, y - plot.y - plot.height / 2) / plot.width;
  if (isTouch && (apart(start, state[hand] * frequency) > TOUCH_RADIANS || away < TOUCH_RADIUS)) return null;
  let now = state[hand];
  return (px, py) => {
    now = positionAt(angle(px, py), frequency, now);
    return { [hand]: now };
  };
}

/** So high that the dials fill the width, three beside each other on a phone. */
function dialsHeight(width, { rotated }) {
  const pairs = rotated / 2;
  const most = width < 520 ? (pairs > 16 ? 5 : 3) : pairs > 24 ? 12 : pairs > 12 ? 8 : 6;
  const columns = Math.min(most, pairs);
  const gap = width < 480 ? 10 : 24;
  const side = Math.min(170, (width + gap - 4) / columns - gap);
  return Math.round(Math.ceil(pairs / columns) * (side + 34) + (width < 520 ? 84 : width < 900 ? 60 : 34));
}

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: ["query", "key", "rotated", "base", "pairing", "length"],
  charts: [
    {
      id: "dials",
      wide: true,
      height: dialsHeight,
      figure: ({ query, key, ...state }) => ({ figure: "rotary", ...turns(state), query, key, trained_length }),
      drag,
    },
    {
      id: "scores",
      height: within(300, 0.98, 540),
      figure: ({ query, key, length, ...state }) => ({ figure: "rotary_scores", ...turns(state), length, query, key, trained_length }),
    },
    { id: "decay", height: within(300, 0.98, 540), figure: ({ length, rotated, base }) => ({ figure: "rotary_decay", d_head: rotated, base, length, trained_length }) },
    { id: "wavelengths", height: within(280, 0.9, 460), figure: ({ length, rotated, base }) => ({ figure: "wavelengths", d_head: rotated, base, length, trained_length }) },
    { id: "table", height: within(280, 0.9, 460), figure: ({ length, ...state }) => ({ figure: "rotary_table", ...turns(state), length, trained_length }) },
    { id: "methods", wide: true, height: within(300, 0.42, 480), figure: (state) => methodsFigure({ ...state, d_head: state.rotated }) },
  ],
};
