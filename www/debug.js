// What the page and its engine hold, for those who look for what grows: `?debug=1` shows it. Fetched only then.
import { element } from "./dom.js";
import { memory } from "./drawing.js";
import { engine } from "./engine.js";
import { charts } from "./frames.js";

const REFRESH_MS = 1000;

/** Elements and text of a document, those in shadow trees too. */
function nodesOf(root) {
  let count = 0;
  const walker = document.createTreeWalker(root);
  while (walker.nextNode()) {
    count += 1;
    const { shadowRoot } = /** @type {Element} */ (walker.currentNode);
    if (shadowRoot) count += nodesOf(shadowRoot);
  }
  return count;
}

/** All numbers that are shown, by the names of their words; without an engine those of the page alone. */
export async function numbers() {
  const { helpers, ...held } = (await engine.held()) ?? {};
  return {
    figures_memory: await memory(),
    ...held,
    ...(helpers && { helpers: helpers.length, helpers_memory: helpers.reduce((sum, bytes) => sum + bytes, 0) }),
    wants: engine.wants.size,
    followers: engine.followers.size,
    runs: engine.runs.size,
    answers: engine.attentions.size + engine.biases.size + engine.weights.size,
    charts: charts.size,
    nodes: nodesOf(document),
  };
}

/** The panel, which renews itself. */
export function debugPanel(words) {
  const list = element("dl");
  const panel = element("aside", { id: "debug", "aria-label": words.say("debug.title") }, element("h2", { text: words.say("debug.title") }), list);
  const isBytes = (name) => /memory|bytes/.test(name);
  const show = async () => {
    const rows = Object.entries(await numbers()).map(([name, value]) => [words.say(`debug.${name}`), isBytes(name) ? `${words.number(value / 1e6)} MB` : words.count(value)]);
    rows.unshift([words.say("debug.engine"), engine.verdict?.message ?? "–"]);
    list.replaceChildren(...rows.flatMap(([name, value]) => [element("dt", { text: name }), element("dd", { text: value })]));
    setTimeout(show, REFRESH_MS);
  };
  show();
  return panel;
}
