// The page's side of the board of claims: what is measured, what was found, and what is kept over a reload.

import { own } from "./own-text.js";

const KEY = "longview-board";

export class Board {
  /** @param {import("./engine.js").Engine} engine */
  constructor(engine) {
    this.engine = engine;
    /** As the laboratory tells them; null until it has. */
    this.claims = null;
    /** @type {Map<string, object>} by claim */
    this.findings = new Map();
    /** Ids of the wants of claims that are being measured. @type {Map<string, number>} */
    this.running = new Map();
    /** Seconds that are left, by claim. */
    this.seconds = new Map();
    this.progress = new Map();
    /** Whether this browser keeps what is measured; false once it did not. */
    this.isKept = true;
    this.results = read();
  }

  tell() {
    this.engine.tell("board");
  }

  take(message) {
    switch (message.kind) {
      case "claims":
        this.claims = message.claims;
        /** What is left of all claims; measurements that some share count once. */
        this.secondsOfAll = message.seconds;
        for (const { id, progress, seconds } of message.claims) {
          this.progress.set(id, progress);
          this.seconds.set(id, seconds);
        }
        this.findings = new Map(Object.entries(message.findings));
        break;
      case "claim":
        this.findings.set(message.id, message.finding);
        this.progress.set(message.id, message.isDone ? 1 : message.progress);
        this.seconds.set(message.id, message.isDone ? 0 : message.seconds);
        if (message.isDone) {
          this.drop(message.id);
          // Claims share measurements: others may be further, too.
          this.ask();
        }
        break;
      case "stopped":
        this.drop(message.id);
        break;
      case "results":
        this.results = message.results;
        this.isKept = keep(message.results);
        break;
    }
    this.tell();
  }

  /** Asks what there is and what it costs. */
  ask() {
    this.asked = this.engine.want({ kind: "claims" }, this.asked);
  }

  choose(options) {
    // Another text of the reader's own is another choice.
    const chosen = JSON.stringify([options, options.text === "own" ? own.version : 0]);
    if (chosen === this.chosen) return;
    this.chosen = chosen;
    this.options = options;
    this.engine.send({ kind: "options", options });
    if (this.claims) this.ask();
  }

  measure(id) {
    if (this.running.has(id)) return;
    this.engine.solve(`claim-${id}`);
    this.running.set(id, this.engine.want({ kind: "board", claim: id }));
    this.tell();
  }

  /** Stops measuring; what is measured stays. */
  cancel(id) {
    this.drop(id);
    this.tell();
  }

  drop(id) {
    this.engine.drop(this.running.get(id));
    this.running.delete(id);
  }

  forget(ids) {
    for (const id of ids) this.drop(id);
    this.engine.send({ kind: "forget", ids });
    this.ask();
  }
}

function read() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

/** Says whether the results are kept: a frame may have no storage, or it may be full. */
function keep(results) {
  try {
    localStorage.setItem(KEY, results);
    return true;
  } catch {
    return false;
  }
}
