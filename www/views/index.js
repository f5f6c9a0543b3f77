// All views. Each file says which controls a view has, which pictures they make, and what it needs of the engine.
import alibi from "./alibi.js";
import learned from "./learned.js";
import methods from "./methods.js";
import none from "./none.js";
import rotary from "./rotary.js";
import sinusoidal from "./sinusoidal.js";
import t5_bias from "./t5_bias.js";

/**
 * @typedef {object} ViewDefinition
 * @property {(string | {name: string, chips?: boolean})[]} controls names of properties, in order
 * @property {ChartDefinition[]} charts
 * @property {(state: any) => Record<string, any>} [data] what the engine is to give: `{weights: [encoding], attention: {slot: request},
 *   run: {text, past, max, order}, positionsOf: (state, run) => {encoding, length}}`
 * @property {(state: any, data: any) => any[][]} [notes] sentences under the controls, each a path and its parts
 * @property {boolean} [needsEngine] without an engine it shows nothing
 * @property {(view: any) => void} [seen] it has come into sight
 * @property {(view: any) => void} [changed] its state has changed
 * @property {(view: any) => {element: HTMLElement, show: (state: any, data: any) => void}} [extra] what is no picture
 *
 * @typedef {object} ChartDefinition
 * @property {string} id
 * @property {(state: any, words: any) => Record<string, any>} [titleParts] what its title names
 * @property {string[]} [controls] names of the properties that belong to this picture alone
 * @property {boolean} [openTable] its table is open from the start
 * @property {boolean} [wide] takes the whole width
 * @property {(width: number, state: any) => number} height in CSS px for a width
 * @property {(state: any, data: any) => Record<string, any> | null} figure as the library's `Figure`; null hides the picture
 * @property {(state: any, data: any) => Float32Array | null} [values]
 * @property {(plot: number, state: any) => Record<string, any>} [pick] the change that a click on a plot makes
 * @property {Function} [drag] begins a drag; gives what a move changes
 * @property {{picture: (state: any, data: any) => any} & Record<string, any>} [heat] a picture that comes from the engine as one
 * @property {(chart: any, x: number, y: number) => string} [more] words after the readout
 */

/** @type {Record<string, ViewDefinition>} those that a page begins with */
const FIRST = { none, learned, sinusoidal, rotary, t5_bias, alibi, methods };
/** Those of the live models, which are a file of their own. */
const LATER = ["attention", "perplexity", "compare", "claims"];

/** The names of all views. */
export const VIEWS = [...Object.keys(FIRST), ...LATER];

/**
 * @param {string} name
 * @returns {Promise<ViewDefinition>}
 */
export const definitionOf = async (name) => FIRST[name] ?? (await import("./later.js"))[name];
