// What the reader must know: one line a problem, with a way to mend it where there is one.
import { element } from "./dom.js";

export class Messages {
  /** @param {import("./words.js").Words} words */
  constructor(words) {
    this.words = words;
    this.element = element("div", { class: "messages", role: "status", "aria-live": "polite" });
    /** @type {Map<string, HTMLElement>} */
    this.shown = new Map();
  }

  /**
   * Shows a problem; another with the same key replaces it.
   * @param {string} key
   * @param {string} path of the sentence
   * @param {Record<string, any>} parts
   * @param {{retry?: () => void, dismiss?: () => void}} [actions]
   */
  show(key, path, parts = {}, { retry, dismiss } = {}) {
    const text = this.words.say(path, this.readable(parts));
    // The same again would be spoken again.
    if (this.shown.get(key)?.dataset.text === text) return;
    this.hide(key);
    const line = element("p", { "data-text": text }, text);
    const button = (label, action) => element("button", { type: "button", text: this.words.say(label), onclick: action });
    if (retry) line.append(" ", button("problems.retry", retry));
    line.append(" ", button("problems.dismiss", () => {
      this.hide(key);
      dismiss?.();
    }));
    this.shown.set(key, line);
    this.element.append(line);
  }

  /** Names of texts are for readers; numbers as they write them. */
  readable(parts) {
    const readable = { ...parts };
    if (typeof parts.text === "string") readable.text = this.words.say(`texts.${parts.text}`);
    if (typeof parts.claim === "string") readable.claim = this.words.say(`board.claims.${parts.claim}.title`);
    for (const [name, value] of Object.entries(parts)) {
      if (typeof value === "number" && value >= 10_000) readable[name] = this.words.count(value);
    }
    return readable;
  }

  hide(key) {
    this.shown.get(key)?.remove();
    this.shown.delete(key);
  }
}
