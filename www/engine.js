// The page's side of the engine: one worker for all views of a page, started when a view first needs a
// model. What it found is kept here, so that views come and go and nothing is measured twice.
import { addresses, bytes, models } from "./assets.js";
import { telling } from "./download.js";
import { Board } from "./board.js";
import { makeWorker } from "./make-worker.js";
import { own } from "./own-text.js";
import { patiently } from "./patience.js";
import { Run, runKey } from "./run.js";

/** A GPU that has not passed its self-check by then has stopped answering. */
const START_LIMIT_MS = 60_000;
/** And one that has not painted its first picture by then. */
const PAINT_LIMIT_MS = 20_000;

/** Biases that are kept; those of one variant and length are up to 64 kB. */
const BIASES_KEPT = 32;

/** Runs that no view wants any more are kept, for who comes back; so many in all. */
const RUNS_KEPT = 24;

let nextId = 1;

export class Engine {
  constructor() {
    /** @type {Worker | null} */
    this.worker = null;
    /** Workers that take a share of what the CPU computes, by number. @type {Map<number, Worker>} */
    this.helpers = new Map();
    this.choice = "auto";
    this.isStarting = false;
    this.turn = 0;
    /** How often it has died; twice is for good. */
    this.deaths = 0;
    /** Ends the waiting for the GPU, where it is waited for. @type {(() => void) | null} */
    this.startTimer = null;
    /** Which engine runs and why; null while it starts. */
    this.verdict = null;
    /** The model that is being fetched, if one is. */
    this.loading = null;
    /** @type {Map<string, Float32Array>} what an encoding was trained to */
    this.weights = new Map();
    /** @type {Map<string, Float32Array>} what a model's encoding adds to scores, by `variant|length` */
    this.biases = new Map();
    /** @type {Map<string, Record<string, any>>} the newest attention of each slot */
    this.attentions = new Map();
    /** @type {Map<string, Record<string, any>>} what the manifest says of each model, once the worker has read it */
    this.models = new Map();
    this.textVersion = own.version;
    /** Models that a worker has had: the next one finds them in the browser's cache. */
    this.loaded = new Set();
    /** @type {Map<string, {tokens: number, dropped: number}>} what texts became */
    this.texts = new Map();
    /** @type {Map<string, Run>} */
    this.runs = new Map();
    /** @type {Map<string, {path: string, parts: Record<string, any>, retry?: string}>} */
    this.problems = new Map();
    /** @type {Map<number, Record<string, any>>} what views want, by id; asked again of a worker that starts anew */
    this.wants = new Map();
    /** Whether heat maps can be painted on the GPU and shown without being read back: "untried", "tried" (now),
     * "works", "failed" (just now) or "off". */
    this.painting = "untried";
    /** A GPU that is a program on the CPU is not asked to: of those some browsers show nothing. */
    this.paintsOnSoftware = false;
    /** Bytes that came back from the GPU. */
    this.bytesRead = 0;
    /** Tokens a second, smoothed. */
    this.speed = 0;
    /** @type {Set<(what: string, id?: string) => void>} */
    this.followers = new Set();
    /** Those who wait to be told what the worker holds. @type {((held: object | null) => void)[]} */
    this.asking = [];
    this.board = new Board(this);
  }

  follow(follower) {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  tell(what, id) {
    for (const follower of [...this.followers]) follower(what, id);
  }

  /** Takes the reader's own text; what was measured on the one before is over. */
  takeText() {
    // A file that was refused changes nothing.
    if (own.version === this.textVersion) return;
    this.textVersion = own.version;
    this.texts.delete("own");
    for (const key of this.runs.keys()) if (key.startsWith("own")) this.runs.delete(key);
    for (const problem of ["text-own", "short-own"]) this.solve(problem);
    this.send({ kind: "text", text: own.text });
  }

  /** Takes another engine: "auto", "cpu" or "gpu"; what runs starts anew with it. */
  choose(choice) {
    if (choice === this.choice && this.deaths === 0) return;
    this.choice = choice;
    this.deaths = 0;
    this.painting = "untried";
    this.solve("engine");
    if (this.wants.size > 0) this.start();
  }

  /** Starts the worker anew with the engine of choice. */
  async start() {
    // Another start may be asked for while this one loads; the last one counts.
    const turn = ++this.turn;
    this.isStarting = true;
    this.stop();
    let worker;
    try {
      worker = await makeWorker();
    } catch (error) {
      if (turn === this.turn) this.die(telling(error).parts.reason ?? String(error.message));
      return;
    }
    if (turn !== this.turn) {
      worker.terminate();
      return;
    }
    this.isStarting = false;
    this.worker = worker;
    worker.addEventListener("message", ({ data }) => {
      if (worker === this.worker) this.take(data);
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      if (worker === this.worker) this.die(event.message || "the worker could not be loaded");
    });
    worker.postMessage({ kind: "start", engine: this.choice, places: addresses(), models: models() });
    if (own.text) worker.postMessage({ kind: "text", text: own.text });
    if (this.board.options) worker.postMessage({ kind: "options", options: this.board.options });
    const { results } = this.board;
    if (results) worker.postMessage({ kind: "restore", results });
    for (const [id, want] of this.wants) worker.postMessage({ kind: "want", id, want });
    this.tell("verdict");
  }

  /** Starts workers beside the engine's; what one that dies was doing the engine does itself. A page may hold many
   * frames, each of which has an engine of its own: there one helper must do. */
  async help(worker, count) {
    const most = self.top === self ? count : Math.min(count, 1);
    for (let id = 0; id < most; id++) {
      const helper = await makeWorker().catch(() => null);
      if (worker !== this.worker) helper?.terminate();
      if (worker !== this.worker || !helper) return;
      const { port1, port2 } = new MessageChannel();
      helper.addEventListener("error", (event) => {
        event.preventDefault();
        worker.postMessage({ kind: "helper-lost", id });
        this.loseHelper(id);
      });
      helper.postMessage({ kind: "help", port: port1 }, [port1]);
      worker.postMessage({ kind: "helper", id, port: port2 }, [port2]);
      this.helpers.set(id, helper);
    }
  }

  waitForGpu() {
    this.startTimer?.();
    this.startTimer = patiently(START_LIMIT_MS, () => this.die("the GPU did not answer for a minute"));
  }

  loseHelper(id) {
    this.helpers.get(id)?.terminate();
    this.helpers.delete(id);
  }

  /** Ends the worker that runs, if one does. */
  stop() {
    this.startTimer?.();
    this.paintTimer?.();
    this.worker?.terminate();
    for (const helper of this.helpers.values()) helper.terminate();
    this.helpers.clear();
    this.tellHeld(null);
    this.worker = null;
    this.verdict = null;
    this.loading = null;
  }

  /** What the worker holds, as `src/web/engine.rs` tells it, and its memory; null where none runs. */
  held() {
    if (!this.verdict) return Promise.resolve(null);
    return new Promise((resolve) => {
      this.asking.push(resolve);
      this.send({ kind: "held" });
    });
  }

  tellHeld(held) {
    for (const resolve of this.asking.splice(0)) resolve(held);
  }

  die(reason) {
    this.stop();
    this.isStarting = false;
    if (this.painting === "tried" || this.painting === "failed") {
      // It could compute, and may again.
      this.painting = "off";
      for (const want of this.wants.values()) delete want.picture;
      this.start();
      return;
    }
    this.deaths += 1;
    const path = this.isDead ? "problems.workerTwice" : "problems.worker";
    this.problems.set("engine", { path, parts: { reason } });
    this.tell("problems");
    this.tell("verdict");
    if (this.isDead) return;
    // What was measured stays; the rest is measured by the new worker.
    this.choice = "cpu";
    this.start();
  }

  /** Whether the GPU is to paint heat maps. */
  get paints() {
    if (this.painting === "failed" || this.painting === "off" || this.verdict?.engine !== "gpu") return false;
    return "ImageBitmapRenderingContext" in self && (this.paintsOnSoftware || !this.verdict.is_software);
  }

  /** Takes what the worker says of the first picture. */
  takePainting(state) {
    this.painting = state;
    this.paintTimer?.();
    if (state === "tried") this.paintTimer = patiently(PAINT_LIMIT_MS, () => this.die("the GPU did not paint"));
  }

  /** Takes an attention; the numbers of one that was painted come later, and only when someone asks. */
  takeAttention(message) {
    const before = this.attentions.get(message.slot);
    // The view that asked may be gone.
    if (![...this.wants.values()].some(({ slot }) => slot === message.slot)) {
      for (const bitmap of message.bitmaps) bitmap.close();
      return;
    }
    if (this.painting === "failed") this.painting = "off";
    // What a chart has taken is closed already.
    for (const bitmap of before?.bitmaps ?? []) bitmap.close();
    const isSame = before?.key === message.key && before.raster && !message.raster;
    const numbers = isSame ? { raster: before.raster, thumbnails: before.thumbnails } : {};
    this.attentions.set(message.slot, { ...message, ...numbers });
    this.solve(`attention-${message.slot}`);
    this.tell("attention", message.slot);
  }

  /** Keeps few biases, the latest, and those that a view shows. */
  forgetBiases() {
    const shown = new Set([...this.wants.values()].filter(({ kind }) => kind === "biases").map(({ variant, length }) => `${variant}|${length}`));
    for (const key of this.biases.keys()) {
      if (this.biases.size <= BIASES_KEPT) return;
      if (!shown.has(key)) this.biases.delete(key);
    }
  }

  takeNumbers({ slot, key, raster, thumbnails }) {
    const have = this.attentions.get(slot);
    if (have?.key !== key) return;
    this.attentions.set(slot, { ...have, raster, thumbnails });
    this.tell("attention", slot);
  }

  /** Whether it has failed for good; the reader may still choose another engine. */
  get isDead() {
    return this.deaths > 1;
  }

  /** Takes what the worker says. */
  take(message) {
    this.bytesRead = message.bytesRead ?? this.bytesRead;
    switch (message.kind) {
      case "loaded-module":
        // From here on only the GPU can keep it waiting.
        if (this.choice !== "cpu") this.waitForGpu();
        return;
      case "starting":
        // Anew, after a GPU that failed.
        this.verdict = null;
        this.waitForGpu();
        return this.tell("verdict");
      case "verdict":
        this.startTimer?.();
        this.verdict = message.verdict;
        return this.tell("verdict");
      case "held":
        return this.tellHeld(message.held);
      case "help-wanted":
        this.help(this.worker, message.count);
        return;
      case "helper-lost":
        return this.loseHelper(message.id);
      case "need": {
        const file = bytes(message.name);
        return this.worker?.postMessage({ kind: "bytes", name: message.name, bytes: file }, file ? [file.buffer] : []);
      }
      case "claims":
      case "claim":
      case "results":
      case "stopped":
        return this.board.take(message);
      case "models":
        this.models = new Map(message.models.map((model) => [model.name, model]));
        return this.tell("models");
      case "text":
        this.texts.set(message.name, message);
        return this.tell("text", message.name);
      case "loading":
        this.loading = message.name;
        return this.tell("loading");
      case "loaded":
        this.loading = null;
        this.loaded.add(message.name);
        if (message.weights.length) this.weights.set(message.name, message.weights);
        this.solve(`model-${message.name}`);
        return this.tell("weights", message.name);
      case "biases":
        this.biases.set(`${message.variant}|${message.length}`, message.biases);
        this.forgetBiases();
        return this.tell("weights", message.variant);
      case "attention":
        return this.takeAttention(message);
      case "numbers":
        return this.takeNumbers(message);
      case "painting":
        return this.takePainting(message.state);
      case "planned":
      case "points":
      case "position":
      case "finished":
        this.run(message.run).take(message);
        if (message.tokens) {
          const now = message.tokens / (message.elapsed_ms / 1000);
          this.speed = this.speed ? 0.8 * this.speed + 0.2 * now : now;
        }
        return this.tell("run", message.run);
      case "problem":
        this.problems.set(message.key, message);
        this.loading = null;
        return this.tell("problems");
      case "solved":
        return this.solve(message.key);
      case "dead":
        return this.die(message.reason);
    }
  }

  solve(key) {
    if (this.problems.delete(key)) this.tell("problems");
  }

  dismiss(key) {
    this.solve(key);
  }

  /** Lets the worker fetch again what failed. */
  retry(key) {
    const problem = this.problems.get(key);
    this.solve(key);
    this.worker?.postMessage({ kind: "retry", name: problem?.retry });
    for (const [id, want] of this.wants) this.worker?.postMessage({ kind: "want", id, want });
    this.board.retry(problem?.retry);
  }

  /** Asks for something until it is dropped; gives its id. */
  want(want, id = nextId++) {
    this.wants.set(id, want);
    if (this.worker) this.worker.postMessage({ kind: "want", id, want });
    else if (!this.isStarting && !this.isDead) this.start();
    return id;
  }

  /** Tells the worker that runs, if one does; the next one is told at its start. */
  send(message) {
    this.worker?.postMessage(message);
  }

  drop(id) {
    if (!this.wants.delete(id)) return;
    this.worker?.postMessage({ kind: "drop", id });
  }

  /** The run of a key, made where it is new. */
  run(key) {
    const run = this.runs.get(key) ?? new Run(key);
    // The one that was asked for last stands last.
    this.runs.delete(key);
    if (this.runs.size >= RUNS_KEPT) this.forgetRuns();
    this.runs.set(key, run);
    return run;
  }

  /** Lets go of the runs that were asked for longest ago, unless a view wants them: what is on a picture is wanted. */
  forgetRuns() {
    const wanted = new Set([...this.wants.values()].map(({ run }) => run));
    for (const key of this.runs.keys()) {
      if (this.runs.size < RUNS_KEPT) return;
      if (wanted.has(key)) continue;
      this.runs.delete(key);
      // Its points are told once: who wants it again has it measured again.
      this.send({ kind: "forget-run", run: key });
    }
  }

  runOf(settings) {
    return this.run(runKey(settings));
  }
}

/** The one engine of the page. */
export const engine = new Engine();
own.follow(() => engine.takeText());
