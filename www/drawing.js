// The module that draws: loaded once for all views of a page, in the languages that they need.
import init, * as module from "../pkg/figures.js";
import { address, bytes } from "./assets.js";

let started = null;
/** Bytes of the module's memory, for tests that watch it. */
export const memory = async () => (await started)?.memory.buffer.byteLength ?? 0;
const known = new Set();

/** Loads the module; many views may ask. */
export function start() {
  started ??= init({ module_or_path: bytes("figures.wasm") ?? address("figures.wasm") }).catch((error) => {
    // The next view may try again.
    started = null;
    throw error;
  });
  return started;
}

/** Makes a language known to the module. */
export function speak(words) {
  if (known.has(words.locale)) return;
  module.add_locale(words.locale, words.chart);
  known.add(words.locale);
}

export const { draw, readout, summary, table, csv, svg, parameters, file_stem: fileStem, encoding_colours: colours } = module;
