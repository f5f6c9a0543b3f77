// The choice of a text, and where the reader gives one of their own.
import { element, uniqueId } from "./dom.js";
import { engine } from "./engine.js";
import { CHARACTERS_MAX, own } from "./own-text.js";

/** A longer text is not shown again where it was pasted: browsers lay out every line of it. */
const SHOWN_MAX = 20_000;
/** Who types is not measured at every letter. */
const REST_MS = 500;
const LENGTHS_FROM = 16;

/**
 * What is said of the text: its size, what the vocabulary lacks, and the lengths it is long enough for.
 * @returns {[string, Record<string, any>?][]}
 */
function sentences(words) {
  const { text } = own;
  if (!text) return [["own.none"]];
  /** @type {[string, Record<string, any>?][]} */
  const said = [["own.characters", { count: words.count([...text.source].length), name: text.name || words.say("own.pasted") }]];
  if (text.isCut) said.push(["own.cut", { limit: words.count(CHARACTERS_MAX) }]);
  const known = engine.texts.get("own");
  if (!known) return said;
  const longest = 2 ** Math.floor(Math.log2(Math.max(1, known.tokens - 1)));
  said.push(["own.tokens", { tokens: words.count(known.tokens), dropped: words.count(known.dropped) }]);
  said.push(longest < LENGTHS_FROM ? ["own.short", { shortest: LENGTHS_FROM }] : ["own.lengths", { shortest: LENGTHS_FROM, longest: words.count(longest) }]);
  return said;
}

/**
 * Makes the control of the property `text`.
 * @param {{element: HTMLElement, show: (state: Record<string, any>) => void}} choice the choice itself
 * @param {import("./view.js").View} view
 */
export function textControl({ element: select, show: showChoice }, view) {
  const { words } = view;
  const id = uniqueId("own");
  const problem = element("p", { class: "problem", role: "status" });
  const about = element("p", { class: "notes", id: `${id}-about`, role: "status" });
  let timer;
  const area = element("textarea", { id, rows: 4, spellcheck: "false", autocomplete: "off", "aria-describedby": about.id, placeholder: words.say("own.hint"), oninput: () => {
    clearTimeout(timer);
    timer = setTimeout(() => own.take(area.value), REST_MS);
  } });
  const input = element("input", { type: "file", accept: "text/*,.txt,.md", hidden: true, onchange: () => {
    if (input.files[0]) own.open(input.files[0]);
    input.value = "";
  } });
  const open = element("button", { type: "button", text: words.say("own.open"), onclick: () => input.click() });
  const forget = element("button", { type: "button", text: words.say("own.forget"), onclick: () => {
    own.take("");
    area.focus();
  } });
  const cleaned = element("input", { type: "checkbox", onchange: () => own.clean(cleaned.checked) });
  const box = element("div", { class: "own" },
    element("label", { for: id, text: words.say("own.label") }), area,
    element("div", { class: "own-tools" }, open, input, forget, element("label", { class: "check" }, cleaned, words.say("own.clean"))),
    problem, about);
  box.addEventListener("dragover", (event) => {
    event.preventDefault();
    box.classList.add("over");
  });
  box.addEventListener("dragleave", () => box.classList.remove("over"));
  box.addEventListener("drop", (event) => {
    event.preventDefault();
    box.classList.remove("over");
    const [file] = event.dataTransfer.files;
    if (file) own.open(file);
    else if (event.dataTransfer.getData("text")) own.take(event.dataTransfer.getData("text"));
  });

  let shown = -1;
  const say = (paragraph, text) => paragraph.textContent === text || (paragraph.textContent = text);
  const showText = () => {
    if (box.hidden) return;
    const { text, version } = own;
    const source = text && text.source.length <= SHOWN_MAX ? text.source : "";
    // Who writes in it has it as it should be.
    if (shown !== version && !area.matches(":focus")) area.value = source;
    if (shown !== version && !text) area.value = "";
    shown = version;
    cleaned.checked = text?.isCleaned ?? true;
    cleaned.disabled = forget.disabled = !text;
    say(problem, own.problem ? words.say(own.problem.path, { ...own.problem.parts, name: own.problem.parts.name || words.say("own.pasted") }) : "");
    say(about, [...sentences(words), /** @type {[string, Record<string, any>?]} */ (["own.private"])].map(([path, parts]) => words.say(path, parts)).join(" "));
  };
  const ends = [own.follow(showText), engine.follow((what, name) => what === "text" && name === "own" && showText())];
  return {
    element: element("div", { class: "text-choice" }, select, box),
    show: (state) => {
      showChoice(state);
      box.hidden = state.text !== "own";
      showText();
    },
    end: () => {
      clearTimeout(timer);
      for (const end of ends) end();
    },
  };
}
