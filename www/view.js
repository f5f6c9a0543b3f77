// A view: a heading, controls, pictures, formula, and what is needed from the engine. The page's sections, the
// elements in other pages and the embedded page are all made of this.
import { Chart } from "./chart.js";
import { encodingChips, makeControl } from "./controls.js";
import { element } from "./dom.js";
import { colours, heatScale, isComplete, speak } from "./drawing.js";
import { engine } from "./engine.js";
import { formula } from "./formulas.js";
import { Messages } from "./messages.js";
import { modelOf } from "./methods.js";
import { ofOwn, own } from "./own-text.js";
import { Player, playButton } from "./play.js";
import { SETTINGS, TRAINED_LENGTH } from "./properties.js";
import { nameOf, shareDialog } from "./share.js";
import { statusLine } from "./status.js";

let nextId = 1;
/** Scales of attention's weights by theme and contrast, as the GPU takes them. @type {Map<string, number[]>} */
const scales = new Map();

/** All views of the document, in the order in which they were made. @type {Set<View>} */
const views = new Set();

/** What concerns the engine is told once: by the view that is measured in, or else by the first that needs the engine. */
const teller = () => {
  const able = [...views].filter((view) => view.isSeen);
  return able.find((view) => view.wants.has("run")) ?? able.find((view) => view.concerns("engine"));
};

/** The view that tells it now. @type {View | undefined} */
let telling;

export class View {
  /**
   * @param {HTMLElement} host takes the view's content
   * @param {string} name
   * @param {import("./views/index.js").ViewDefinition} definition
   * @param {import("./store.js").Store} store
   * @param {import("./words.js").Words} words
   * @param {{omit?: string[], eager?: boolean}} [options] controls that stand elsewhere;
   *   whether the engine is asked before the view is in sight
   */
  constructor(host, name, definition, store, words, { omit = [], eager = false } = {}) {
    this.host = host;
    this.name = name;
    this.id = nextId++;
    this.store = store;
    this.words = words;
    this.definition = definition;
    this.messages = new Messages(words);
    /** Ids of what is wanted of the engine, by what. */
    this.wants = new Map();
    this.isPaused = false;
    this.isSeen = false;
    /** What the engine has told since the last frame. @type {Set<string>} */
    this.news = new Set();
    this.frame = 0;
    speak(words);
    views.add(this);
    this.build(omit);
    this.chooseTheme();
    this.ends = [
      () => views.delete(this),
      store.follow((changed) => this.take(changed)),
      engine.follow((what, id) => this.hear(what, id)),
      own.follow(() => this.takeText()),
      follow(matchMedia("(prefers-color-scheme: dark)"), () => this.chooseTheme()),
      follow(matchMedia("(prefers-contrast: more)"), () => this.chooseTheme()),
      follow(matchMedia("(forced-colors: active)"), () => this.chooseTheme()),
    ];
    // A view that nobody has come to yet asks nothing of the engine.
    const see = () => {
      sights.disconnect();
      if (this.isSeen || !this.root.isConnected) return;
      this.isSeen = true;
      this.definition.seen?.(this);
      this.showFound();
      // Also of pictures that are not in sight: who reads the page without seeing it does not scroll.
      for (const chart of this.charts) chart.restSoon();
      this.ask();
    };
    const sights = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && see(), { rootMargin: "300px" });
    sights.observe(this.root);
    this.ends.push(() => sights.disconnect());
    this.update();
    // After the first picture.
    if (eager) requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(see)));
  }

  get state() {
    return this.store.state;
  }

  /** What the engine has found for this view. */
  get data() {
    const wanted = this.definition.data?.(this.state) ?? {};
    const attentions = {};
    for (const slot of Object.keys(wanted.attention ?? {})) attentions[slot] = engine.attentions.get(this.slot(slot)) ?? null;
    return { weights: engine.weights, biases: engine.biases, attentions, run: wanted.run ? engine.runOf(wanted.run) : null, words: this.words };
  }

  slot(name) {
    return `${this.id}:${name}`;
  }

  build(omit) {
    const { words, name, definition } = this;
    const say = (path) => words.say(`views.${name}.${path}`);
    const { controls } = this.state;
    // As attributes are written, too: "max-distance, length".
    const shown = controls.split(",").map((name) => name.trim().replaceAll("-", "_"));
    this.isShown = (control) => !omit.includes(control) && (controls === "all" || shown.includes(control));
    /** @type {{name: string, element: HTMLElement, show: (state: any) => void, end?: () => void}[]} */
    this.controls = definition.controls.filter((control) => this.isShown(nameOf(control))).map((control) =>
      typeof control !== "string" && control.chips ? encodingChips(control.name, this) : makeControl(nameOf(control), this),
    );
    const own = [...this.controls];
    this.charts = definition.charts.map((chart) => new Chart(chart, this));
    this.player = new Player((length) => this.store.set({ length }));
    const hasPlay = definition.controls.includes("length") && this.isShown("length");
    const tools = element("div", { class: "tools" });
    if (hasPlay) tools.append(playButton(this.player, words));
    if (controls !== "none" || !this.state.embed) {
      tools.append(element("button", { type: "button", class: "share", text: words.say("tools.share"), onclick: () => shareDialog(this) }));
    }
    this.notes = element("p", { class: "notes" });
    this.status = definition.data?.(this.state).run || definition.needsEngine ? statusLine(this) : null;
    this.extra = definition.extra?.(this) ?? null;
    this.title = element("h2", { text: say("title"), id: `longview-title-${this.id}` });
    const math = formula(name, words);
    this.root = element("section", { class: "view", "data-view": name, "aria-labelledby": this.title.id, lang: words.locale },
      element("header", { class: "view-head" }, this.title, tools),
      element("div", { class: "intro" }, element("p", { class: "explain", text: say("explain") }), ...(math ? [math] : [])),
      ...(own.length ? [element("form", { class: "controls", "aria-label": words.say("tools.controls"), onsubmit: (event) => event.preventDefault() }, ...own.map((control) => control.element))] : []),
      this.messages.element,
      ...(this.status ? [this.status.element] : []),
      this.notes,
      element("div", { class: "charts" }, ...this.content()),
    );
    this.host.append(this.root);
  }

  /** The pictures; what a view says in words stands under the first. */
  content() {
    const [first, ...rest] = this.charts.map((chart) => chart.element);
    return [...(first ? [first] : []), ...(this.extra ? [this.extra.element] : []), ...rest];
  }

  chooseTheme() {
    const { theme } = this.state;
    const isDark = theme === "dark" || (theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    this.theme = isDark ? "dark" : "light";
    this.highContrast = matchMedia("(prefers-contrast: more)").matches || matchMedia("(forced-colors: active)").matches;
    this.root.dataset.theme = this.theme;
    this.root.classList.toggle("contrast", this.highContrast);
    for (const [name, colour] of Object.entries(JSON.parse(colours())[this.theme])) {
      this.root.style.setProperty(`--colour-${name}`, colour);
    }
    for (const chart of this.charts) chart.update();
  }

  /** Takes what the reader changed. */
  change(part) {
    // Who takes the slider in hand wants it to stay.
    if (this.player.isPlaying && "length" in part) this.player.stop();
    this.store.set(part);
  }

  take(changed) {
    if (changed.has("theme")) this.chooseTheme();
    if ([...changed].every((name) => Object.hasOwn(SETTINGS, name))) return;
    this.definition.changed?.(this);
    this.update();
    this.ask();
  }

  /** Takes another text of the reader's. */
  takeText() {
    if (this.state.text !== "own" || own.version === this.textVersion) return;
    this.textVersion = own.version;
    this.definition.changed?.(this);
    for (const slot of engine.attentions.keys()) if (slot.startsWith(`${this.id}:`)) engine.attentions.delete(slot);
    this.update();
    this.ask();
  }

  hear(what, id) {
    if (what === "board" && !this.definition.seen) return;
    if (what === "attention" && !id.startsWith(`${this.id}:`)) return;
    if (what === "run" && this.wants.get("run")?.key !== id) return;
    if (what === "problems") this.showProblems();
    this.news.add(what);
    // Once a frame: points may come by the hundred a second, and a page may have many views.
    this.frame ||= requestAnimationFrame(() => this.showNews());
  }

  showNews() {
    this.frame = 0;
    const { news } = this;
    this.news = new Set();
    this.status?.show();
    if (!this.isSeen) return;
    if (["attention", "weights", "run", "board"].some((what) => news.has(what))) this.showFound();
    if (news.has("run")) this.askPositions();
    if (news.has("models") || news.has("weights")) for (const control of this.controls) control.show(this.state);
  }

  showProblems() {
    const next = teller();
    if (next !== telling) {
      // One line at a time: it is gone here before it stands there.
      telling?.messages.hide("engine");
      telling = next;
      if (next !== this) next?.showProblems();
    }
    const mine = (key) => (key === "engine" ? teller() === this : this.isSeen && this.concerns(key));
    for (const [key, problem] of engine.problems) {
      if (!mine(key)) continue;
      const retry = problem.retry ? () => engine.retry(key) : undefined;
      this.messages.show(key, problem.path, problem.parts, { retry, dismiss: () => engine.dismiss(key) });
      if (key.startsWith("attention-")) this.loseNumbers(problem);
    }
    for (const key of this.messages.shown.keys()) {
      const isEngines = /^(model|variant|claim|text|short|attention)-|^engine$/.test(key);
      if (isEngines && !(engine.problems.has(key) && mine(key))) this.messages.hide(key);
    }
  }

  concerns(key) {
    const wanted = this.definition.data?.(this.state) ?? {};
    const variants = [...(wanted.biases ?? []).map(({ variant }) => variant), ...Object.values(wanted.attention ?? {}).map(({ variant }) => variant), ...(wanted.run?.order ?? [])];
    if (key.startsWith("claim-")) return Boolean(this.definition.seen);
    if (key.startsWith("variant-")) return variants.includes(key.slice("variant-".length));
    const encodings = [
      ...(wanted.weights ?? []),
      ...(wanted.models ?? []),
      ...variants.map(modelOf),
    ];
    if (key.startsWith("model-")) return encodings.includes(key.slice("model-".length));
    if (key.startsWith("attention-")) return key.startsWith(`attention-${this.id}:`);
    const text = key.replace(/^\w+-/, "");
    if (key.startsWith("short-")) return wanted.run?.text === text;
    const texts = [...(wanted.texts ?? []).map((text) => ({ text })), wanted.run, ...Object.values(wanted.attention ?? {})].map((request) => request?.text);
    if (key === "engine") return Boolean(this.definition.seen) || texts.length > 1 || encodings.length > 0;
    return texts.includes(text);
  }

  /** Makes everything show the state and what was found. */
  update() {
    for (const control of this.controls) control.show(this.state);
    this.showFound();
  }

  /** Shows what the engine has found for the state. */
  showFound() {
    const { state, data } = this;
    for (const chart of this.charts) {
      const { figure, values, heat } = chart.definition;
      chart.show(figure(state, data), values?.(state, data), heat?.picture(state, data));
    }
    this.notes.textContent = (this.definition.notes?.(state, data) ?? []).map(([path, parts]) => this.words.say(path, parts)).join(" ");
    this.extra?.show(state, data);
    this.status?.show();
  }

  /** Asks the engine for what the state needs; what is no longer needed is dropped. */
  ask() {
    if (!this.isSeen) return;
    const wanted = this.definition.data?.(this.state) ?? {};
    const named = new Set();
    for (const encoding of wanted.weights ?? []) {
      named.add(`weights ${encoding}`);
      if (!engine.weights.has(encoding)) this.want(`weights ${encoding}`, { kind: "weights", encoding });
    }
    for (const bias of wanted.biases ?? []) {
      const name = `biases ${bias.variant}|${bias.length}`;
      named.add(name);
      if (!engine.biases.has(`${bias.variant}|${bias.length}`)) this.want(name, { kind: "biases", ...bias });
    }
    for (const [slot, request] of Object.entries(wanted.attention ?? {})) {
      const ready = ofOwn(request);
      if (!ready) continue;
      const isUndefined = request.encoding === "learned" && request.past === "undefined" && request.length > TRAINED_LENGTH;
      if (isUndefined) {
        engine.attentions.delete(this.slot(slot));
        continue;
      }
      named.add(`attention ${slot}`);
      const key = JSON.stringify(ready);
      this.want(`attention ${slot}`, { kind: "attention", slot: this.slot(slot), key, ...ready, picture: this.pictureOf(slot) });
      if (engine.attentions.get(this.slot(slot))?.key === key) named.add(`numbers ${slot}`);
    }
    if (wanted.run && ofOwn(wanted.run)) {
      named.add("run").add("position");
      const run = engine.runOf(wanted.run);
      this.want("run", { kind: "run", run: run.key, ...wanted.run, paused: this.isPaused });
      this.askPositions();
    }
    for (const [name, { id }] of this.wants) {
      if (named.has(name)) continue;
      engine.drop(id);
      this.wants.delete(name);
    }
    this.showProblems();
  }

  /** How the GPU is to paint the heat maps of a slot, where it can: as they will be drawn, to the pixel. */
  pictureOf(slot) {
    const charts = this.charts.filter(({ definition }) => definition.heat?.slot === slot);
    if (!engine.paints || !isComplete() || !charts.length) return undefined;
    // Of the head, and of each head in the picture of all; what no chart shows is painted small.
    const px = [1, 1];
    for (const chart of charts) px[chart.definition.heat.index] = chart.heatPx();
    const kind = `${this.theme} ${this.highContrast}`;
    if (!scales.has(kind)) scales.set(kind, [...heatScale(charts[0].styleText())]);
    return px.includes(0) ? undefined : { px, scale: scales.get(kind) };
  }

  /** Asks for the numbers of heat maps that were painted on the GPU. */
  askNumbers() {
    for (const [slot, request] of Object.entries(this.definition.data?.(this.state).attention ?? {})) {
      const have = engine.attentions.get(this.slot(slot));
      const ready = ofOwn(request);
      if (!ready || !have || have.raster || have.key !== JSON.stringify(ready)) continue;
      this.want(`numbers ${slot}`, { kind: "numbers", slot: this.slot(slot), key: have.key, ...ready });
    }
  }

  /** What was painted has no numbers: who waits for them is told, and they may be asked for again. */
  loseNumbers({ path, parts }) {
    for (const [name, { id }] of this.wants) {
      if (!name.startsWith("numbers ")) continue;
      engine.drop(id);
      this.wants.delete(name);
    }
    for (const chart of this.charts) chart.lose(this.words.say(path, parts));
  }

  /** Wants something of the engine, unless exactly that is wanted already. */
  want(name, want) {
    const text = JSON.stringify(want);
    const have = this.wants.get(name);
    if (have?.text === text) return;
    this.wants.set(name, { id: engine.want(want, have?.id), text, key: want.run });
  }

  askPositions() {
    const positionsOf = this.definition.data?.(this.state).positionsOf;
    const key = this.wants.get("run")?.key;
    if (!positionsOf || !key) return;
    const run = engine.run(key);
    const positions = positionsOf(this.state, run);
    const points = run.points.get(positions.encoding) ?? [];
    const tokens = points.find(({ length }) => length === positions.length)?.tokens;
    if (tokens) this.want("position", { kind: "position", run: key, ...positions, tokens });
  }

  setPaused(isPaused) {
    this.isPaused = isPaused;
    this.ask();
    this.status?.show();
  }

  /** Ends all that outlives the element. */
  end() {
    if (this.player.isPlaying) this.player.stop();
    cancelAnimationFrame(this.frame);
    for (const end of this.ends) end();
    for (const chart of this.charts) chart.end();
    for (const control of this.controls) control.end?.();
    for (const { id } of this.wants.values()) engine.drop(id);
    for (const slot of engine.attentions.keys()) if (slot.startsWith(`${this.id}:`)) engine.attentions.delete(slot);
    this.root.remove();
    // Another view tells now what concerns the engine.
    engine.tell("problems");
  }
}

/** Follows a media query; gives what ends it. */
function follow(query, action) {
  query.addEventListener("change", action);
  return () => query.removeEventListener("change", action);
}
