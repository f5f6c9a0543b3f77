// The controls: they show the state and change it.
import { ENCODINGS, LENGTHS, PROPERTIES, TRAINED_LENGTH, stepOf } from "./state.js";
import * as words from "./locales/en.js";

const get = (id) => document.getElementById(id);

/**
 * Builds the controls; `change` takes what the reader changed, as a part of the state.
 * @param {(part: object) => void} change
 */
export function build(change) {
  for (const name of ENCODINGS) {
    const label = document.createElement("label");
    label.className = "chip";
    label.dataset.encoding = name;
    const radio = Object.assign(document.createElement("input"), { type: "radio", name: "encoding", value: name });
    radio.addEventListener("change", () => change({ encoding: name }));
    label.append(radio, Object.assign(document.createElement("span"), { className: "dot" }), words.names[name]);
    get("encoding").append(label);
  }
  Object.assign(get("heads"), { min: PROPERTIES.heads.low, max: PROPERTIES.heads.high });
  get("heads").addEventListener("input", (event) => change({ heads: Number(event.target.value) }));
  Object.assign(get("length"), { min: 0, max: LENGTHS.length - 1 });
  get("length").addEventListener("input", (event) => change({ length: LENGTHS[Number(event.target.value)] }));
  const share = stepOf(TRAINED_LENGTH) / (LENGTHS.length - 1);
  get("length-mark").style.setProperty("--share", String(share));
  get("length-mark").textContent = `L = ${TRAINED_LENGTH}`;
  for (const [id, property] of [["layer", "layer"], ["head", "head"]]) {
    const { low, high } = PROPERTIES[property];
    for (let value = low; value <= high; value++) get(id).append(new Option(String(value), String(value)));
    get(id).addEventListener("change", (event) => change({ [property]: Number(event.target.value) }));
  }
  for (const id of ["text", "past", "engine"]) {
    get(id).addEventListener("change", (event) => change({ [id]: event.target.value }));
  }
  get("controls").addEventListener("submit", (event) => event.preventDefault());
}

/** Makes the controls show the state. */
export function show(state) {
  document.querySelector(`input[name="encoding"][value="${state.encoding}"]`).checked = true;
  setRange(get("heads"), state.heads, words.headsInWords(state.heads));
  // Only ALiBi's picture is made for any number of heads.
  get("heads").parentElement.classList.toggle("idle", state.encoding !== "alibi");
  get("heads-value").textContent = String(state.heads);
  setRange(get("length"), stepOf(state.length), words.lengthInWords(state.length, TRAINED_LENGTH));
  get("length-value").textContent = words.lengthShort(state.length, TRAINED_LENGTH);
  get("length").classList.toggle("past", state.length > TRAINED_LENGTH);
  for (const id of ["layer", "head", "text", "past", "engine"]) get(id).value = String(state[id]);
}

function setRange(input, value, inWords) {
  input.value = String(value);
  input.setAttribute("aria-valuetext", inWords);
}
