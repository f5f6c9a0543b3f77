// The page: it shows the views side by side with one shared state, which is its address; or, embedded, one of them.
import { whyNot } from "./compile.js";
import { encodingChips, makeControl } from "./controls.js";
import { element } from "./dom.js";
import { colours, complete, memory, start as startDrawing } from "./drawing.js";
import { engine } from "./engine.js";
import { firstPicture } from "./first.js";
import { tagOf } from "./longview.js";
import { Messages } from "./messages.js";
import { Player, playButton } from "./play.js";
import { ENCODINGS, NEWCOMERS, TRAINED_LENGTH, format, parse } from "./properties.js";
import { runKey } from "./run.js";
import { Store } from "./store.js";
import { LANGUAGES, load, pick } from "./words.js";

const root = document.documentElement;
root.dataset.longview = "page";
const { state, problems } = parse(location.search);
const store = new Store(state);
const main = document.getElementById("main");

/** The controls that the bar on top holds for all views of the page. */
const SHARED = ["encoding", "length", "heads"];

function chooseTheme() {
  const isDark = state.theme === "dark" || (state.theme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  root.dataset.theme = isDark ? "dark" : "light";
}

let addressTimer;
/** The address follows, but not at every move: browsers limit how often it may change. */
function keepAddress() {
  clearTimeout(addressTimer);
  addressTimer = setTimeout(() => {
    const query = format(state);
    try {
      history.replaceState(null, "", query ? `?${query}` : location.pathname);
    } catch {
      // A sandboxed frame and a file have no address to change; the page works without.
    }
  }, 200);
}

/** Makes a view's element that shares the page's state. */
function makeView(name, { omit = [], eager = false, isTold = false } = {}) {
  const made = document.createElement(tagOf(name));
  Object.assign(made, { store, omit, eager, isTold });
  return made;
}

/** The view that an encoding stands in: the later ones share one. */
const viewOf = (encoding) => (NEWCOMERS.includes(encoding) ? "methods" : encoding);

/** The whole page: the bar, the chosen encoding's view, and what the live models show. */
function buildAll(words) {
  const holder = element("div", { class: "stage", id: "stage" });
  const views = {};
  const show = (encoding) => {
    const name = viewOf(encoding);
    const before = holder.firstElementChild;
    if (before === views[name] && before) return;
    views[name] ??= makeView(name, { omit: SHARED });
    holder.replaceChildren(views[name]);
  };
  show(state.encoding);
  store.follow((changed) => changed.has("encoding") && show(state.encoding));
  main.append(bar(words), holder);
  firstPicture().then(buildModels);
}

/** The views of the live models, which come after the first picture. */
function buildModels() {
  // Last, as the sum of what was seen; the introduction leads there.
  const claims = makeView("claims");
  claims.id = "claims";
  main.append(
    makeView("attention", { omit: SHARED, eager: true }),
    makeView("perplexity", { omit: SHARED, eager: true }),
    makeView("compare", { omit: SHARED }),
    claims,
  );
  // The address may lead there, and was read before.
  if (location.hash === `#${claims.id}`) claims.scrollIntoView();
}

/** Encoding, heads, length and play: what stays on top while the reader scrolls. */
function bar(words) {
  /** What the controls use of a view. @type {any} */
  const view = { words, state, change: (part) => {
    if (player.isPlaying && "length" in part) player.stop();
    store.set(part);
  } };
  const controls = [encodingChips("encoding", view), makeControl("heads", view), makeControl("length", view)];
  const player = new Player((length) => store.set({ length }));
  const show = () => {
    for (const control of controls) control.show(state);
    // Only ALiBi's pictures are made for any number of heads.
    controls[1].element.hidden = state.encoding !== "alibi";
  };
  store.follow(show);
  show();
  return element("form", { class: "bar", id: "bar", "aria-label": words.say("tools.controls"), onsubmit: (event) => event.preventDefault() },
    ...controls.map((control) => control.element), playButton(player, words));
}

/** Tells the host page how high this one is, so that it can fit the frame. */
function postHeight() {
  const tell = () => {
    const height = Math.ceil(root.getBoundingClientRect().height);
    parent.postMessage({ type: "longview:height", height, view: state.view }, "*");
  };
  new ResizeObserver(tell).observe(root);
  tell();
}

/** The words of the document itself, in the reader's language. */
function translate(words) {
  root.lang = words.locale;
  document.title = words.say("page.pageTitle");
  for (const item of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-words]"))) item.textContent = words.say(item.dataset.words, { trained: TRAINED_LENGTH });
}

function languageMenu(words) {
  const select = element("select", { "aria-label": words.say("page.language") });
  for (const [name, title] of Object.entries(LANGUAGES)) {
    const option = new Option(title, name);
    option.lang = name;
    select.append(option);
  }
  select.value = words.locale;
  // The whole page changes its words: opened anew, with the same state.
  select.addEventListener("change", () => (location.search = `?${format({ ...state, lang: select.value })}`));
  return select;
}

function themeMenu(words) {
  const select = element("select", { "aria-label": words.say("page.theme"), onchange: () => store.set({ theme: select.value }) });
  for (const name of ["auto", "light", "dark"]) select.append(new Option(words.say(`page.themes.${name}`), name));
  select.value = state.theme;
  return select;
}

async function build() {
  // Words and module come side by side.
  startDrawing().catch(() => {});
  chooseTheme();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", chooseTheme);
  const words = await load(pick([state.lang, ...navigator.languages]));
  translate(words);
  const messages = new Messages(words);
  messages.element.id = "messages";
  main.before(messages.element);
  problems.forEach(({ path, parts }, index) => messages.show(`address-${index}`, path, parts));
  try {
    await startDrawing();
  } catch (error) {
    const { path, parts } = whyNot(error);
    messages.show("wasm", path, parts);
    // Pictures that were made before stand in the place of views.
    const names = state.view === "all" ? [viewOf(state.encoding), "perplexity"] : [state.view];
    main.replaceChildren(...names.map((name) => makeView(name, { isTold: true })));
    root.dataset.ready = "failed";
    return;
  }
  main.replaceChildren();
  const takeColours = () => {
    for (const [name, colour] of Object.entries(JSON.parse(colours())[root.dataset.theme])) root.style.setProperty(`--colour-${name}`, colour);
  };
  takeColours();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", takeColours);
  engine.choose(state.engine);
  store.follow((changed) => {
    keepAddress();
    if (changed.has("theme")) {
      chooseTheme();
      takeColours();
    }
    if (changed.has("engine")) engine.choose(state.engine);
  });
  const isEmbedded = state.embed;
  root.classList.toggle("embedded", isEmbedded);
  // A document without an address of its own cannot be opened anew in another language.
  const canReopen = !/^(about|data|blob):/.test(location.href);
  if (!isEmbedded) document.getElementById("menus").append(themeMenu(words), ...(canReopen ? [languageMenu(words)] : []));
  if (state.view === "all") buildAll(words);
  else {
    root.classList.add("single");
    main.append(makeView(state.view));
    if (!isEmbedded) main.append(element("p", {}, element("a", { href: location.pathname, text: words.say("page.allViews") })));
  }
  if (state.debug) import("./debug.js").then(({ debugPanel }) => document.body.append(debugPanel(words)));
  if (isEmbedded && parent !== window) postHeight();
  requestAnimationFrame(() => requestAnimationFrame(() => (root.dataset.ready = "picture")));
  // Who needs the rest of the module and cannot have it will say so.
  firstPicture().then(complete).catch(() => {});
  engine.follow((what) => {
    if (what === "verdict" && engine.verdict) root.dataset.ready = "engine";
  });
}

/** For the console and the tests. */
/** @type {any} */ (window).longview = {
  state: () => ({ ...state }),
  results: () => engine.run(runKey(state)).all(),
  engine,
  memory,
  held: () => import("./debug.js").then(({ numbers }) => numbers()),
  ENCODINGS,
};
build();
