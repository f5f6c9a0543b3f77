// The controls of a view: one for each of its properties, made from the table of properties.
import { PROPERTIES, TRAINED_LENGTH, nearestStop, numbers, stops } from "./properties.js";
import { coloured, element, uniqueId } from "./dom.js";
import { hasFactor, hasParts, hasWindow, isFar, isRotary, modelsOf, seedOf } from "./methods.js";
import { engine } from "./engine.js";
import { textControl } from "./text-control.js";

/** Properties whose slider has a mark at L. */
const MARKED = new Set(["length", "query", "key", "max"]);

/** When a control is of use; the others always are. */
const OF_USE = {
  scaling: isRotary,
  factor: hasFactor,
  beta_fast: hasParts,
  beta_slow: hasParts,
  far_window: (state) => !hasWindow(state),
  far_group: (state) => !hasWindow(state) && state.scaling === "self_extend",
  log_n: isRotary,
  window: hasWindow,
  sinks: (state) => hasWindow(state) && state.window > 0,
  stride: ({ windows }) => windows === "sliding",
  encodings: ({ models }) => models === "encodings",
};

/** The models that a choice asks for: what they weigh is said before they are fetched. */
const ASKED = {
  seeds: (state) => modelsOf(state).map(seedOf),
  models: (state, models) => modelsOf({ ...state, models }),
};

/**
 * Makes the control of a property; `show` makes it show the view's state.
 * @param {string} name
 * @param {import("./view.js").View} view
 * @returns {{name: string, element: HTMLElement, show: (state: Record<string, any>) => void}}
 */
export function makeControl(name, view) {
  const property = PROPERTIES[name];
  const label = view.words.say(`properties.${name}.label`);
  const make = { whole: slider, choice: select, switch: checkbox, numbers: slopes, wholes: list, names: chips }[property.kind];
  const choice = make(name, property, label, view);
  const made = name === "text" ? textControl(choice, view) : choice;
  made.element.dataset.control = name;
  const isOfUse = OF_USE[name];
  const show = (state) => {
    made.show(state);
    if (isOfUse) made.element.hidden = !isOfUse(state);
  };
  return { name, ...made, show };
}

function slider(name, property, label, view) {
  const { words } = view;
  const all = stops(property);
  const id = uniqueId(name);
  const output = element("output", { for: id });
  const input = element("input", {
    id,
    type: "range",
    min: 0,
    max: all.length - 1,
    step: 1,
    oninput: () => view.change({ [name]: all[Number(input.value)] }),
  });
  const track = element("div", { class: "track" }, input);
  if (MARKED.has(name) && property.low <= TRAINED_LENGTH) {
    const share = nearestStop(all, TRAINED_LENGTH) / (all.length - 1);
    const mark = element("span", { class: "mark", "aria-hidden": true, text: "L" });
    mark.style.setProperty("--share", String(share));
    track.classList.add("marked");
    track.append(mark);
  }
  const box = element("div", { class: `slider ${MARKED.has(name) ? "long" : ""}` }, element("label", { for: id }, label, " ", output), track);
  return {
    element: box,
    show: (state) => {
      const value = state[name];
      input.value = String(nearestStop(all, value));
      const parts = { value: words.count(value), times: words.number(value / TRAINED_LENGTH), trained: TRAINED_LENGTH };
      const path = value === 0 && words.has(`properties.${name}.zero`) ? `properties.${name}.zero` : `properties.${name}.value`;
      output.textContent = words.has(path) ? words.say(path, parts) : parts.value;
      const spoken = `properties.${name}.spoken`;
      input.setAttribute("aria-valuetext", words.has(spoken) ? words.say(spoken, parts) : `${label}: ${output.textContent}`);
      input.classList.toggle("past", name === "length" && value > TRAINED_LENGTH);
    },
  };
}

function select(name, { choices }, label, view) {
  const { words } = view;
  const input = element("select", { onchange: () => view.change({ [name]: input.value }) });
  for (const choice of choices) {
    const path = `properties.${name}.choices.${choice}`;
    input.append(new Option(words.has(path) ? words.say(path) : words.has(`chart.encoding_${choice}`) ? words.encoding(choice) : choice, choice));
  }
  const asked = ASKED[name];
  const titles = [...input.options].map(({ text }) => text);
  const show = (state) => {
    input.value = String(state[name]);
    if (!asked) return;
    for (const [index, option] of [...input.options].entries()) {
      const text = titles[index] + toFetch(asked(state, option.value), words);
      if (option.text !== text) option.text = text;
    }
  };
  return { element: element("label", { class: "field" }, element("span", { text: label }), input), show };
}

function checkbox(name, _, label, view) {
  const input = element("input", { type: "checkbox", onchange: () => view.change({ [name]: input.checked }) });
  const text = element("span", { text: label });
  const show = (state) => {
    input.checked = state[name];
    const asked = ASKED[name];
    if (asked) text.textContent = label + toFetch(asked(state), view.words);
  };
  return { element: element("label", { class: "check" }, input, text), show };
}

/** What of some models is still to be fetched, in brackets; nothing where all are here. */
function toFetch(names, words) {
  const missing = names.map((name) => engine.models.get(name)).filter((model) => model && !engine.loaded.has(model.name));
  const bytes = missing.reduce((sum, { size_bytes }) => sum + size_bytes, 0);
  return bytes ? words.say("methods.toFetch", { count: missing.length, size: words.number(bytes / 1e6, 2) }) : "";
}

/** What is wrong with a list of slopes, as a sentence's path and parts; null where nothing is. */
export function slopesProblem(text, heads) {
  const found = numbers(text);
  const odd = found.findIndex((slope) => !Number.isFinite(slope));
  if (odd >= 0) return ["problems.slopeNumber", { which: odd + 1, item: text.split(/[\s,;[\]]+/).filter(Boolean)[odd] }];
  if (found.length !== heads) return ["problems.slopeCount", { found: found.length, heads }];
  return null;
}

function slopes(name, _, label, view) {
  const { words } = view;
  const problem = element("p", { class: "problem", id: uniqueId("problem"), role: "status" });
  const input = element("textarea", {
    rows: 1,
    spellcheck: "false",
    autocomplete: "off",
    placeholder: words.say(`properties.${name}.hint`),
    "aria-describedby": problem.id,
    oninput: () => {
      const count = numbers(input.value).length;
      // A list for another number of heads is taken as what it is.
      const { low, high } = PROPERTIES.heads;
      const fits = count >= low && count <= high && !slopesProblem(input.value, count);
      view.change({ [name]: input.value, ...(fits ? { heads: count } : {}) });
    },
  });
  return {
    element: element("div", { class: "field broad" }, element("label", {}, element("span", { text: label }), input), problem),
    show: (state) => {
      if (input.value !== state[name]) input.value = state[name];
      const found = state[name].trim() ? slopesProblem(state[name], state.heads) : null;
      problem.textContent = found ? words.say(...found) : "";
      input.setAttribute("aria-invalid", String(Boolean(found)));
    },
  };
}

function list(name, { low, high, most }, label, view) {
  const { words } = view;
  const problem = element("p", { class: "problem", id: uniqueId("problem"), role: "status" });
  const input = element("input", {
    type: "text",
    inputmode: "numeric",
    autocomplete: "off",
    "aria-describedby": problem.id,
    onchange: () => check(),
  });
  const check = () => {
      const found = numbers(input.value);
      const top = Math.min(high, view.state.dimensions - 1);
      const fine = found.length > 0 && found.length <= most && found.every((one) => Number.isInteger(one) && one >= low && one <= top);
      problem.textContent = fine ? "" : words.say("problems.notDimensions", { most, low, high: top });
      input.setAttribute("aria-invalid", String(!fine));
      if (fine) view.change({ [name]: found.join(",") });
  };
  return {
    element: element("div", { class: "field" }, element("label", {}, element("span", { text: label }), input), problem),
    show: (state) => {
      if (input.getAttribute("aria-invalid") === "true") check();
      else input.value = state[name];
    },
  };
}

/** A switch for each of several names. */
function chips(name, { choices }, label, view) {
  const boxes = new Map();
  const group = element("fieldset", { class: "chips" }, element("legend", { text: label }));
  for (const choice of choices) {
    const input = element("input", {
      type: "checkbox",
      value: choice,
      onchange: () => {
        const chosen = choices.filter((one) => boxes.get(one).checked);
        if (chosen.length === 0) input.checked = true;
        else view.change({ [name]: chosen.join(",") });
      },
    });
    boxes.set(choice, input);
    group.append(coloured(choice, element("label", { class: "chip" }, input, element("span", { class: "dot" }), view.words.encoding(choice))));
  }
  return {
    element: group,
    show: (state) => {
      const chosen = state[name].split(",");
      for (const [choice, input] of boxes) input.checked = chosen.includes(choice);
    },
  };
}

/** One of several encodings, as buttons with their colours. */
export function encodingChips(name, view) {
  const inputs = new Map();
  const group = element("fieldset", { class: "chips", "data-control": name }, element("legend", { text: view.words.say(`properties.${name}.label`) }));
  const radio = uniqueId(name);
  for (const choice of PROPERTIES[name].choices) {
    const input = element("input", { type: "radio", name: radio, value: choice, onchange: () => view.change({ [name]: choice }) });
    inputs.set(choice, input);
    group.append(coloured(choice, element("label", { class: "chip" }, input, element("span", { class: "dot" }), view.words.encoding(choice))));
  }
  const show = (state) => {
    const input = inputs.get(state[name]);
    input.checked = true;
    // Where the row is longer than the screen, the chosen one is in it.
    if (group.scrollWidth > group.clientWidth) group.scrollLeft = input.parentElement.offsetLeft - group.offsetLeft - 48;
  };
  return { name, element: group, show };
}
