// One line about the engine: which one runs and why, how fast, how far; with a button to pause.
import { element } from "./dom.js";
import { engine } from "./engine.js";
import { title } from "./methods.js";

/** @param {import("./view.js").View} view */
export function statusLine(view) {
  const { words } = view;
  const hasRun = Boolean(view.definition.data(view.state).run);
  const text = element("p", { class: "status" });
  const progress = element("progress", { max: 1, value: 0, "aria-label": words.say("status.progress") });
  const pause = element("button", { type: "button", onclick: () => view.setPaused(!view.isPaused) });
  const choice = element("select", { onchange: () => {
      view.change({ engine: choice.value });
      engine.choose(choice.value);
    } });
  for (const name of ["auto", "gpu", "cpu"]) choice.append(new Option(words.say(`status.engines.${name}`), name));
  const hasControls = view.state.controls !== "none";
  const line = element("div", { class: "engine" }, text, ...(hasRun ? [progress] : []));
  if (hasControls && hasRun) line.append(pause);
  if (hasControls) line.append(element("label", { class: "field" }, element("span", { text: words.say("status.engine") }), choice));

  const show = () => {
    const { verdict } = engine;
    if (verdict) line.dataset.engine = verdict.engine;
    choice.value = engine.choice;
    const run = view.data.run;
    let sentence;
    if (!view.isSeen) sentence = words.say("status.waiting");
    else if (engine.isDead) sentence = words.say("status.stopped");
    else if (!engine.worker && !engine.isStarting) sentence = words.say("status.idle");
    else if (!verdict) sentence = words.say("status.starting");
    else if (engine.loading) sentence = words.say("status.loading", { encoding: title(engine.loading, words) });
    else {
      // What went wrong stands in the message only.
      const isFault = ["absent", "failed", "lost"].includes(verdict.reason);
      sentence = words.locale === "en" || isFault ? words.because(verdict.message) : words.say(`status.verdicts.${verdict.engine}_${verdict.reason}`, verdict);
      if (verdict.reason === "absent" && !isSecureContext) sentence += ` ${words.say("status.insecure")}`;
      if (hasRun && engine.speed) sentence += ` ${words.say("status.speed", { speed: words.count(engine.speed) })}`;
    }
    if (text.textContent !== sentence) text.textContent = sentence;
    progress.value = run?.progress ?? 0;
    pause.textContent = words.say(view.isPaused ? "status.resume" : "status.pause");
    pause.disabled = !verdict;
  };
  return { element: line, show };
}
