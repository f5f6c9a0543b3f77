// What the reader must know: one line a problem, with a way to mend it where there is one.
import { problems } from "./locales/en.js";

const list = document.getElementById("messages");
/** @type {Map<string, HTMLElement>} */
const shown = new Map();

/**
 * Shows a problem; another with the same key replaces it.
 * @param {string} key
 * @param {string} text
 * @param {() => void} [retry]
 */
export function show(key, text, retry) {
  hide(key);
  const line = document.createElement("p");
  line.append(text);
  if (retry) {
    line.append(" ", button(problems.retry, () => {
      hide(key);
      retry();
    }));
  }
  line.append(" ", button(problems.dismiss, () => hide(key)));
  shown.set(key, line);
  list.append(line);
}

/** @param {string} key */
export function hide(key) {
  shown.get(key)?.remove();
  shown.delete(key);
}

function button(label, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.textContent = label;
  element.addEventListener("click", action);
  return element;
}
