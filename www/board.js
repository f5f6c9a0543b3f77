// The page's side of the board of claims: what is measured, what was found, and what is kept over a reload.

import { BoardStore, file } from "./board-store.js";
import { own } from "./own-text.js";

/** What other pages measure is taken up so often. */
const HEARD_MS = 200;

export class Board {
  /** @param {import("./engine.js").Engine} engine */
  constructor(engine) {
    this.engine = engine;
    /** As the laboratory tells them; null until it has. */
    this.claims = null;
    /** @type {Map<string, Record<string, any>>} by claim */
    this.findings = new Map();
    /** Ids of the wants of claims that are being measured. @type {Map<string, number>} */
    this.running = new Map();
    /** Seconds that are left, by claim. */
    this.seconds = new Map();
    this.progress = new Map();
    /** Claims that the reader had measured and did not cancel. @type {Set<string>} */
    this.asked = new Set();
    this.store = new BoardStore((records, gone) => this.hear(records, gone));
    /** What other pages measured and forgot since the worker was told. */
    this.heard = { records: {}, gone: [] };
  }

  get isKept() {
    return this.store.isKept;
  }

  /** What a worker that starts is to know. */
  get results() {
    return this.store.file();
  }

  /** Takes what other pages measured and forgot. */
  hear(records, gone) {
    Object.assign(this.heard.records, records);
    for (const key of gone) delete this.heard.records[key];
    this.heard.gone.push(...gone);
    this.hearing ??= setTimeout(() => {
      this.hearing = null;
      const { records, gone } = this.heard;
      this.heard = { records: {}, gone: [] };
      this.engine.send({ kind: "heard", results: file(records), gone });
      if (this.claims) this.ask();
    }, HEARD_MS);
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
        this.findings = new Map(message.claims.map((claim) => [claim.id, claim]));
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
      case "results": {
        const { records, dropped = [] } = JSON.parse(message.changes);
        this.store.take(records, dropped);
        break;
      }
    }
    this.tell();
  }

  /** Asks what there is and what it costs. */
  ask() {
    this.listing = this.engine.want({ kind: "claims" }, this.listing);
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
    this.asked.add(id);
    this.running.set(id, this.engine.want({ kind: "board", claim: id }));
    this.tell();
  }

  /** Stops measuring; what is measured stays. */
  cancel(id) {
    this.asked.delete(id);
    this.drop(id);
    this.tell();
  }

  drop(id) {
    this.engine.drop(this.running.get(id));
    this.running.delete(id);
  }

  /** Forgets what some claims measured, or all that was. */
  forget(ids = null) {
    for (const id of ids ?? [...this.running.keys()]) this.cancel(id);
    if (!ids) this.store.clear();
    this.engine.send({ kind: "forget", ids });
    this.ask();
  }

  /** A model or text is asked for again: claims that were measured without it go on. */
  retry(name) {
    for (const { id, models, texts } of this.claims ?? []) {
      if (this.asked.has(id) && (models.includes(name) || texts.includes(name))) this.measure(id);
    }
    if (this.claims) this.ask();
  }
}
