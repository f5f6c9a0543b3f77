// The reader's own text: one for all views of a document. It goes to the worker and nowhere else; this tab
// remembers it over a reload where it may.

/** Characters that are taken; a measurement scores at most 65,536 tokens. */
export const CHARACTERS_MAX = 2_000_000;
/** Tabs keep little. */
const KEPT_CHARACTERS_MAX = 1_000_000;
const KEY = "longview-own-text";

/** Why something is no text: the path of a sentence and its parts. */
const refused = (path, parts = {}) => ({ problem: { path, parts } });

/**
 * Reads a file's bytes; gives `{source}` or `{problem}`.
 * @param {Uint8Array} bytes
 * @param {string} name
 */
export function decode(bytes, name) {
  if (bytes.length === 0) return refused("problems.ownEmpty", { name });
  // What UTF-16 and programs have, and no text in UTF-8.
  if (bytes.includes(0)) return refused("problems.ownBinary", { name });
  try {
    return { source: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return refused("problems.ownEncoding", { name });
  }
}

class OwnText {
  constructor() {
    /** @type {{source: string, isCleaned: boolean, name: string, isCut: boolean} | null} */
    this.text = null;
    /** Goes up with every change: measurements on another version are others. */
    this.version = 0;
    /** What was refused last. */
    this.problem = null;
    this.followers = new Set();
    this.restore();
  }

  follow(follower) {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  tell() {
    for (const follower of [...this.followers]) follower();
  }

  /** Takes a text that was pasted or read; an empty one is none. */
  take(source, name = "") {
    this.problem = source.includes("\0") ? { path: "problems.ownBinary", parts: { name } } : null;
    if (this.problem) return this.tell();
    const isCut = source.length > CHARACTERS_MAX;
    this.change(source === "" ? null : { source: source.slice(0, CHARACTERS_MAX), name, isCut, isCleaned: this.text?.isCleaned ?? true });
  }

  /** Takes a file; what is no text is refused, and the text before it stays. */
  async open(file) {
    // A character has at most four bytes; of a longer file only the beginning is read.
    const limit = 4 * CHARACTERS_MAX;
    let bytes;
    try {
      bytes = new Uint8Array(await file.slice(0, limit).arrayBuffer());
    } catch (error) {
      return this.refuse({ path: "problems.ownUnread", parts: { name: file.name, reason: error.message } });
    }
    // A cut may go through a character.
    const whole = file.size > limit ? bytes.subarray(0, bytes.findLastIndex((byte) => byte < 0x80) + 1) : bytes;
    const { source, problem } = decode(whole, file.name);
    if (problem) this.refuse(problem);
    else this.take(source, file.name);
  }

  refuse(problem) {
    this.problem = problem;
    this.tell();
  }

  /** Whether it is cleaned as the trained texts were. */
  clean(isCleaned) {
    if (this.text) this.change({ ...this.text, isCleaned });
  }

  change(text) {
    this.problem = null;
    this.text = text;
    this.version += 1;
    this.keep();
    this.tell();
  }

  keep() {
    try {
      if (this.text && this.text.source.length <= KEPT_CHARACTERS_MAX) sessionStorage.setItem(KEY, JSON.stringify(this.text));
      else sessionStorage.removeItem(KEY);
    } catch {
      // A frame may have no storage; the text is then gone with the page.
    }
  }

  restore() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(KEY) ?? "null");
      if (typeof kept?.source === "string") this.text = { source: kept.source, name: String(kept.name), isCut: kept.isCut === true, isCleaned: kept.isCleaned !== false };
    } catch {
      // As above.
    }
  }
}

export const own = new OwnText();

/** The request for a measurement, by which another text of the reader's is another request; null where there is none yet. */
export const ofOwn = (request) => (request.text !== "own" ? request : own.text && { ...request, version: own.version });
