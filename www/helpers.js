// Workers beside the engine's own, which take a share of what the CPU computes: the engine's side of them, and
// theirs. They share no memory; what they say goes through a port of each.
import { Share, initSync } from "../pkg/engine.js";
import { patiently } from "./patience.js";

/** Workers that the CPU engine has with its own: all cores where there are two, else all but one, which is the
 * page's. */
export const coresUsed = (cores = 1) => (cores <= 2 ? cores : Math.min(cores - 1, 8));

/** A share takes a second or so; one that is not done by then never will be. */
const LIMIT_MS = 60_000;

/** What the engine knows of its helpers; the library calls `count`, `load`, `forget` and `run`. */
export class Helpers {
  /** @param {(id: number) => void} onLost is told of a helper that is of no use any more */
  constructor(onLost = () => {}) {
    this.onLost = onLost;
    /** Those that have said that they are ready. @type {Helper[]} */
    this.ready = [];
    /** What a helper has to be told that comes late. @type {Map<number, Record<string, any>>} */
    this.models = new Map();
  }

  /** Takes the port of a new helper, and gives it the module. */
  add(id, port, module) {
    const helper = new Helper(id, port);
    helper.onReady = () => {
      for (const message of this.models.values()) port.postMessage(message);
      this.ready.push(helper);
    };
    helper.onFailure = () => {
      this.lose(id);
      this.onLost(id);
    };
    port.postMessage({ kind: "module", module });
  }

  /** A helper has died: what it had is done elsewhere. */
  lose(id) {
    const lost = this.ready.find((helper) => helper.id === id);
    this.ready = this.ready.filter((helper) => helper !== lost);
    lost?.fail("it died");
  }

  /** Bytes of each helper's memory, as it last told. */
  memory() {
    return this.ready.map((helper) => helper.memory);
  }

  get count() {
    return this.ready.length;
  }

  load(model, config, shapes, weights) {
    const message = { kind: "load", model, config, shapes, weights };
    this.models.set(model, message);
    for (const { port } of this.ready) port.postMessage(message);
  }

  forget(model) {
    this.models.delete(model);
    for (const { port } of this.ready) port.postMessage({ kind: "forget", model });
  }

  run(helper, model, config, tokens, windows, counted) {
    return this.ready[helper].run({ kind: "run", model, config, tokens, windows, counted });
  }
}

/** One helper, seen from the engine. */
class Helper {
  constructor(id, port) {
    this.id = id;
    this.port = port;
    this.next = 0;
    this.memory = 0;
    this.onReady = () => {};
    this.onFailure = () => {};
    /** Promises that it has not kept yet, by number. @type {Map<number, {resolve?: Function, reject?: Function, end?: Function}>} */
    this.pending = new Map();
    port.onmessage = ({ data }) => {
      this.memory = data.memory ?? this.memory;
      if (data.kind === "ready") return this.onReady();
      const { resolve, reject, end } = this.pending.get(data.number) ?? {};
      this.pending.delete(data.number);
      end?.();
      if (data.losses) return resolve?.(data);
      reject?.(data.error);
      // What is refused would be refused here too; after a trap the module's memory is not to be trusted.
      if (data.isTrap) this.onFailure();
    };
  }

  run(message) {
    const number = this.next++;
    // The library hands over a view of its memory.
    const tokens = message.tokens.slice();
    this.port.postMessage({ ...message, tokens, number }, [tokens.buffer]);
    return new Promise((resolve, reject) => {
      // A worker that ends without a word.
      const end = patiently(LIMIT_MS, () => this.onFailure());
      this.pending.set(number, { resolve, reject, end });
    });
  }

  fail(reason) {
    for (const { reject, end } of this.pending.values()) {
      end();
      reject(reason);
    }
    this.pending.clear();
  }
}

/** Makes this worker a helper: from here on it does what comes through the port. */
export function help(port) {
  // It has started: what it started from may go.
  self.postMessage({ kind: "helping" });
  /** @type {Share} */
  let share;
  /** @type {WebAssembly.Memory} */
  let memory;
  port.onmessage = ({ data }) => {
    const { kind, number, model, config, shapes, weights, tokens, windows, counted } = data;
    if (kind === "module") {
      ({ memory } = initSync({ module: data.module }));
      share = new Share();
      port.postMessage({ kind: "ready", memory: memory.buffer.byteLength });
      return;
    }
    try {
      if (kind === "load") share.load(model, config, shapes, weights);
      else if (kind === "forget") share.forget(model);
      else {
        const began = performance.now();
        const losses = share.run(model, config, tokens, windows, counted);
        port.postMessage({ number, losses, elapsed: performance.now() - began, memory: memory.buffer.byteLength }, [losses.buffer]);
      }
    } catch (error) {
      const isTrap = error instanceof WebAssembly.RuntimeError;
      port.postMessage({ number, isTrap, error: String(error?.message ?? error) });
    }
  };
}
