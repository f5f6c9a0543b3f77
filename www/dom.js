// Making elements, shortly.

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, any>} [attributes] `class`, `text`, `on…` listeners; anything else is an attribute,
 *   left out where it is false or null
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "text") made.textContent = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}

/**
 * Gives something the colour of an encoding, as `--colour`.
 * @template {HTMLElement} Made
 * @param {string} encoding
 * @param {Made} made
 * @returns {Made}
 */
export function coloured(encoding, made) {
  made.style.setProperty("--colour", `var(--colour-${encoding})`);
  return made;
}

let nextId = 1;
/** An id that no other element has. */
export const uniqueId = (name) => `longview-${name}-${nextId++}`;
