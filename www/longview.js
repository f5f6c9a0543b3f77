// The elements: <longview-alibi heads="8" length="64"> and its kin, for any page.
import { modelsFrom } from "./assets.js";
import { whyNot } from "./compile.js";
import { element } from "./dom.js";
import { start } from "./drawing.js";
import { engine } from "./engine.js";
import { PROPERTIES, SETTINGS, read, unusual, usual } from "./properties.js";
import { tagOf } from "./share.js";
import { Store } from "./store.js";
import { View } from "./view.js";
import { STYLE } from "./view-style.js";
import { VIEWS, definitionOf } from "./views/index.js";
import { load, pick } from "./words.js";

/** Properties that are attributes. */
const NAMES = [...Object.keys(PROPERTIES), "controls", "theme", "engine", "lang"];
const attributeOf = (name) => name.replaceAll("_", "-");

/** A view that is there sooner says nothing of its coming. */
const SLOW_MS = 1000;

/** What rem means in our style, in px. */
const REM = 17;

let sheet;
/** One style sheet for all elements of a page. */
function style() {
  if (!sheet) {
    sheet = new CSSStyleSheet();
    // The root of a host page may have any font size, and rem is measured by it.
    sheet.replaceSync(STYLE.replace(/([\d.]+)rem\b/g, (_, count) => `${count * REM}px`));
  }
  return sheet;
}

/** Keys that a control inside takes are not for the host page: slides would turn while a slider moves. */
function keep(event) {
  const isTaken = event.defaultPrevented || event.target.matches("input, select, textarea, button, summary");
  const isForAll = event.key === "Escape" || event.key === "Tab" || event.ctrlKey || event.metaKey || event.altKey;
  if (isTaken && !isForAll) event.stopPropagation();
}

/** The base of all elements; each view has its own. */
export class LongviewElement extends HTMLElement {
  static viewName = "";
  static observedAttributes = NAMES.map(attributeOf);

  constructor() {
    super();
    this.attachShadow({ mode: "open" });
    this.shadowRoot.adoptedStyleSheets = [style()];
    this.shadowRoot.addEventListener("keydown", keep);
    /** Set before the element is connected where several views share one state. */
    this.store = null;
    this.omit = [];
    /** Whether the engine is asked before the view is in sight. */
    this.eager = false;
    /** Whether the page says itself what is wrong with the program. */
    this.isTold = false;
    this.view = null;
    /** @type {Map<string, {path: string, parts: Record<string, any>}>} what is wrong with attributes */
    this.problems = new Map();
    this.isRead = false;
    this.generation = 0;
  }

  /** The present values of the view's properties. */
  get state() {
    return { ...this.store?.state };
  }

  connectedCallback() {
    // Moved within its page, an element keeps what its reader chose.
    if (!this.isRead) {
      this.isRead = true;
      this.store ??= new Store(usual());
      for (const name of NAMES) {
        const text = this.getAttribute(attributeOf(name));
        if (text !== null) this.take(name, text);
      }
    }
    this.build();
  }

  disconnectedCallback() {
    this.generation += 1;
    this.unbuild();
  }

  unbuild() {
    this.view?.end();
    this.view = null;
    this.unfollow?.();
    this.unfollow = null;
  }

  attributeChangedCallback(attribute, old, text) {
    const name = attribute.replaceAll("-", "_");
    if (!this.isRead || old === text) return;
    if (text === null) this.store.set({ [name]: usual()[name] });
    else this.take(name, text);
    if (["lang", "controls"].includes(name)) {
      this.unbuild();
      if (this.isConnected) this.build();
    } else this.tellProblems();
  }

  take(name, text) {
    const { value, problem } = read(name, text);
    this.store.set({ [name]: value });
    const key = `attribute-${name}`;
    if (problem) this.problems.set(key, problem);
    else {
      this.problems.delete(key);
      this.view?.messages.hide(key);
    }
  }

  tellProblems() {
    for (const [key, { path, parts }] of this.problems) this.view?.messages.show(key, path, parts);
  }

  async build() {
    const generation = ++this.generation;
    const { state } = this.store;
    const { viewName } = this.constructor;
    // All come side by side; what goes wrong is told below.
    const parts = Promise.all([definitionOf(viewName), start()]);
    parts.catch(() => {});
    const lang = state.lang || this.closest("[lang]")?.getAttribute("lang") || this.ownerDocument.documentElement.lang;
    const words = await load(pick([lang, ...navigator.languages]));
    let definition;
    const coming = setTimeout(() => {
      if (generation === this.generation) this.shadowRoot.replaceChildren(element("p", { class: "status", text: words.say("status.fetching") }));
    }, SLOW_MS);
    try {
      [definition] = await parts;
    } catch (error) {
      await this.standStill(generation, words, whyNot(error));
      return;
    } finally {
      clearTimeout(coming);
    }
    // Taken out of the page meanwhile, or built anew.
    if (generation !== this.generation || !this.isConnected) return;
    this.shadowRoot.replaceChildren();
    // Who says nothing leaves the choice to others.
    if (state.engine !== "auto") engine.choose(state.engine);
    this.view = new View(this.shadowRoot, viewName, definition, this.store, words, { omit: this.omit, eager: this.eager });
    this.unfollow = this.store.follow((changed) => {
      if (changed.has("engine")) engine.choose(this.store.state.engine);
      this.dispatchEvent(new CustomEvent("longview-change", { bubbles: true, composed: true, detail: Object.fromEntries([...changed].map((name) => [name, this.store.state[name]])) }));
    });
    this.tellProblems();
    this.dispatchEvent(new CustomEvent("longview-ready", { bubbles: true, composed: true }));
  }

  /** Shows a picture that was made before, and why there is no other. */
  async standStill(generation, words, problem) {
    const { viewName } = this.constructor;
    const { path, parts } = problem;
    const still = await import("./still.js").then((module) => module.still(viewName, words, this.isTold ? null : problem)).catch(() => null);
    if (generation !== this.generation) return;
    this.shadowRoot.replaceChildren(still ?? element("p", { class: "messages", role: "alert", text: words.say(path, parts) }));
  }
}

/** The element class of each view, by the view's name. */
export const elements = Object.fromEntries(
  VIEWS.map((name) => [
    name,
    class extends LongviewElement {
      static viewName = name;
    },
  ]),
);

for (const [name, constructor] of Object.entries(elements)) {
  // A page may load two copies; the first one stays.
  if (!customElements.get(tagOf(name))) customElements.define(tagOf(name), constructor);
}

export { PROPERTIES, SETTINGS, modelsFrom, tagOf, unusual };
