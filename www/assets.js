// Where the files stand that are fetched. Everything else asks by name, so that the offline file, which
// carries its files inside, differs only here.

/** Each address is written out, since bundlers look for exactly this form. */
const PLACES = {
  "figures.wasm": () => new URL("./figures_bg.wasm", import.meta.url),
  "figures-rest.wasm": () => new URL("./figures_rest.wasm", import.meta.url),
  "engine.wasm": () => new URL("./engine_bg.wasm", import.meta.url),
  "engine-relaxed.wasm": () => new URL("./engine_relaxed_bg.wasm", import.meta.url),
  "worker.js": () => new URL("./worker.js", import.meta.url),
  "tokenizer.json": () => new URL("./assets/tokenizer.json", import.meta.url),
  "manifest.json": () => new URL("./assets/manifest.json", import.meta.url),
  "none.safetensors": () => new URL("./assets/none.safetensors", import.meta.url),
  "learned.safetensors": () => new URL("./assets/learned.safetensors", import.meta.url),
  "sinusoidal.safetensors": () => new URL("./assets/sinusoidal.safetensors", import.meta.url),
  "rotary.safetensors": () => new URL("./assets/rotary.safetensors", import.meta.url),
  "t5_bias.safetensors": () => new URL("./assets/t5_bias.safetensors", import.meta.url),
  "alibi.safetensors": () => new URL("./assets/alibi.safetensors", import.meta.url),
  "kerple.safetensors": () => new URL("./assets/kerple.safetensors", import.meta.url),
  "sandwich.safetensors": () => new URL("./assets/sandwich.safetensors", import.meta.url),
  "xpos.safetensors": () => new URL("./assets/xpos.safetensors", import.meta.url),
  "randomized.safetensors": () => new URL("./assets/randomized.safetensors", import.meta.url),
  "persuasion.txt": () => new URL("./assets/persuasion.txt", import.meta.url),
  "hamlet.txt": () => new URL("./assets/hamlet.txt", import.meta.url),
};

/** The text of an element that the offline file carries, or null. A script element only: what others may put
 * into a page has no scripts. */
function carried(name) {
  const found = document.getElementById(`longview:${name}`);
  return found instanceof HTMLScriptElement && found.type === "application/octet-stream" ? found.textContent : null;
}

/** Whether this page is the offline file. */
export const isOffline = () => carried("figures.wasm") !== null;

/**
 * A file that the page carries, decoded; null where it is to be fetched.
 * @param {string} name
 * @returns {Uint8Array | null}
 */
export function bytes(name) {
  const text = carried(name);
  if (text === null) return null;
  return Uint8Array.from(atob(text.trim()), (letter) => letter.charCodeAt(0));
}

/** @param {string} name */
export const address = (name) => PLACES[name]();

/** The addresses of all files, for the worker. */
export const addresses = () =>
  isOffline() ? {} : Object.fromEntries(Object.entries(PLACES).map(([name, place]) => [name, place().href]));

/**
 * The folder that this package is served from; null in the offline file, and where a bundler has taken the
 * package apart: then there is neither its page nor its script at an address.
 */
export function folder() {
  if (isOffline()) return null;
  const worker = address("worker.js").href;
  return worker.endsWith("/worker.js") ? new URL(".", worker).href : null;
}

let chosenModels = null;
/**
 * Says in which folder the models lie that no address above names: of some fifty only the usual ones are
 * written out, since a bundler would carry them all. A page whose bundler has taken the package apart gives
 * the address of its copy of the package's `assets`, or of another site's.
 * @param {string | URL | null} address
 */
export function modelsFrom(address) {
  chosenModels = address === null ? null : new URL(`${address}/`.replace(/\/+$/, "/"), document.baseURI).href;
}

/** The folder of the models without an address of their own; null where there is none. */
export function models() {
  const here = folder();
  return chosenModels ?? (here && new URL("assets/", here).href);
}
