// The board of claims: a table, one row a claim.
import { element } from "../dom.js";
import { engine } from "../engine.js";
import { own } from "../own-text.js";
import { cost } from "./claim-cost.js";
import { Row } from "./claim-row.js";

/** Which claims are unfinished, so that nothing is measured twice; of some nothing can be measured. */
const unfinished = (board) => (board.claims ?? []).filter(({ id, operations }) => operations > 0 && (board.progress.get(id) ?? 0) < 1);

function table(view) {
  const { words } = view;
  const { board } = engine;
  const all = element("button", { type: "button", text: words.say("laboratory.measureAll"), onclick: () => {
    if (board.running.size) for (const id of [...board.running.keys()]) board.cancel(id);
    else for (const { id } of unfinished(board)) board.measure(id);
  } });
  const forget = element("button", { type: "button", text: words.say("laboratory.forgetAll"), onclick: () => board.forget() });
  const total = element("span", { class: "cost", role: "status" });
  const kept = element("p", { class: "notes" });
  const heads = ["claim", "here", "follows"].map((name) => element("th", { scope: "col", role: "columnheader", text: words.say(`laboratory.columns.${name}`) }));
  const made = element("table", { class: "board", role: "table" },
    element("caption", { text: words.say("laboratory.caption") }),
    element("thead", { role: "rowgroup" }, element("tr", { role: "row" }, ...heads)));
  /** @type {Map<string, Row>} */
  const rows = new Map();
  const say = (target, text) => target.textContent === text || (target.textContent = text);
  const show = () => {
    const { claims, options: chosen } = board;
    // Boards of one document are one: what is chosen in another holds here, too.
    if (view.isSeen && chosen && JSON.stringify(chosen) !== JSON.stringify(options(view.state))) view.store.set({ text: chosen.text, quick: chosen.quick });
    for (const claim of claims ?? []) {
      if (rows.has(claim.id)) continue;
      const row = new Row(claim, view);
      rows.set(claim.id, row);
      made.append(row.element);
    }
    for (const claim of claims ?? []) rows.get(claim.id).show(claim);
    const left = unfinished(board);
    say(all, words.say(board.running.size ? "laboratory.cancelAll" : "laboratory.measureAll"));
    all.disabled = !claims || (left.length === 0 && board.running.size === 0);
    forget.disabled = !claims || board.progress.size === 0 || [...board.progress.values()].every((one) => !one);
    say(total, claims ? (left.length ? cost(left, words) : words.say("laboratory.done")) : words.say("laboratory.waiting"));
    say(kept, words.say(board.isKept ? "laboratory.kept" : "laboratory.notKept"));
  };
  return { element: element("div", { class: "laboratory" }, element("div", { class: "board-tools" }, all, forget, total), kept, made), show };
}

/** What the board measures on: the text is the state's, where there is one. */
const options = ({ text, quick }) => ({ text: text === "own" && !own.text ? "persuasion" : text, quick });

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: ["text", "quick"],
  needsEngine: true,
  charts: [],
  extra: table,
  seen: (view) => {
    engine.board.choose(options(view.state));
    engine.board.ask();
  },
  /** Problems with these are told here. */
  data: () => {
    const claims = engine.board.claims ?? [];
    const asked = claims.filter(({ id }) => engine.board.running.has(id) || engine.board.progress.get(id) > 0);
    return { models: asked.flatMap(({ models }) => models), texts: asked.flatMap(({ texts }) => texts) };
  },
  /** The state has changed. */
  changed: (view) => engine.board.choose(options(view.state)),
};
