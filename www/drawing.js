// The module that draws: loaded once for all views of a page, in the languages that they need. It comes in two
// parts: the first draws the pictures that a page begins with, the rest comes after them.
import init, * as module from "../pkg/figures.js";
import { address, bytes } from "./assets.js";
import { compile } from "./compile.js";

let started = null;
let completed = null;
let isWhole = false;
/** Bytes of the module's memory, for tests that watch it. */
export const memory = async () => (await started)?.memory.buffer.byteLength ?? 0;
const known = new Set();

/** Loads the module's first part; many views may ask. */
export function start() {
  started ??= compile(bytes("figures.wasm") ?? address("figures.wasm"))
    .then((module_or_path) => init({ module_or_path }))
    .catch((error) => {
    // The next view may try again.
    started = null;
    throw error;
  });
  return started;
}

/** Loads the rest, which other figures, sentences, tables and files need; many charts may ask. */
export function complete() {
  completed ??= start()
    .then(async (first) => {
      const rest = await compile(bytes("figures-rest.wasm") ?? address("figures-rest.wasm"));
      return WebAssembly.instantiate(rest, { first });
    })
    .then(() => (isWhole = true))
    .catch((error) => {
      completed = null;
      throw error;
    });
  return completed;
}

/** Whether all is there: everything but `draw`, `speak` and `colours` needs it. */
export const isComplete = () => isWhole;

/** Whether a figure can be drawn now. */
export const canDraw = ({ figure }) => isWhole || module.is_first(figure);

/** Makes a language known to the module. */
export function speak(words) {
  if (known.has(words.locale)) return;
  module.add_locale(words.locale, words.chart);
  known.add(words.locale);
}

export const { draw, draw_around: drawAround, heat_px: heatPx, heat_scale: heatScale, readout, summary, table, csv, svg, parameters, file_stem: fileStem, encoding_colours: colours } = module;
