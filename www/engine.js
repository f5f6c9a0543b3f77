// The page's side of the engine: one worker for all views of a page, started when a view first needs a
// model. What it found is kept here, so that views come and go and nothing is measured twice.
import { address, addresses, bytes, has, isOffline } from "./assets.js";
import { download, telling } from "./download.js";
import { Run, runKey } from "./run.js";

/** A GPU that has not passed its self-check by then has stopped answering. */
const START_LIMIT_MS = 60_000;

let nextId = 1;

class Engine {
  constructor() {
    /** @type {Worker | null} */
    this.worker = null;
    this.choice = "auto";
    this.deaths = 0;
    /** Which engine runs and why; null while it starts. */
    this.verdict = null;
    /** The model that is being fetched, if one is. */
    this.loading = null;
    /** @type {Map<string, Float32Array>} what an encoding was trained to */
    this.weights = new Map();
    /** @type {Map<string, object>} the newest attention of each slot */
    this.attentions = new Map();
    /** @type {Map<string, Run>} */
    this.runs = new Map();
    /** @type {Map<string, {path: string, parts: object, retry?: string}>} */
    this.problems = new Map();
    /** @type {Map<number, object>} what views want, by id; asked again of a worker that starts anew */
    this.wants = new Map();
    /** Tokens a second, smoothed. */
    this.speed = 0;
    /** @type {Set<(what: string, id?: string) => void>} */
    this.followers = new Set();
  }

  follow(follower) {
    this.followers.add(follower);
    return () => this.followers.delete(follower);
  }

  tell(what, id) {
    for (const follower of [...this.followers]) follower(what, id);
  }

  /** Starts anew with an engine of choice: "auto", "cpu" or "gpu". */
  choose(choice) {
    if (choice === this.choice) return;
    this.choice = choice;
    this.deaths = 0;
    if (this.worker) this.start(choice);
  }

  async start(choice) {
    this.worker?.terminate();
    this.verdict = null;
    this.loading = null;
    let worker;
    try {
      worker = await makeWorker();
    } catch (error) {
      return this.die(telling(error).parts.reason);
    }
    this.worker?.terminate();
    this.worker = worker;
    worker.addEventListener("message", ({ data }) => {
      if (worker === this.worker) this.take(data);
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      if (worker === this.worker) this.die(event.message || "the worker could not be loaded");
    });
    clearTimeout(this.startTimer);
    if (choice !== "cpu") {
      this.startTimer = setTimeout(() => this.die("the GPU did not answer for a minute"), START_LIMIT_MS);
    }
    worker.postMessage({ kind: "start", engine: choice, places: addresses() });
    for (const [id, want] of this.wants) worker.postMessage({ kind: "want", id, want });
    this.tell("verdict");
  }

  die(reason) {
    clearTimeout(this.startTimer);
    this.deaths += 1;
    this.worker?.terminate();
    this.worker = null;
    const isFinal = this.deaths > 1;
    this.problems.set("engine", { path: isFinal ? "problems.workerTwice" : "problems.worker", parts: { reason } });
    this.tell("problems");
    // What was measured stays; the rest is measured anew by the new worker.
    if (!isFinal) this.start("cpu");
  }

  /** Takes what the worker says. */
  take(message) {
    switch (message.kind) {
      case "verdict":
        clearTimeout(this.startTimer);
        this.verdict = message.verdict;
        return this.tell("verdict");
      case "need": {
        const file = has(message.name) ? bytes(message.name) : null;
        return this.worker?.postMessage({ kind: "bytes", name: message.name, bytes: file }, file ? [file.buffer] : []);
      }
      case "loading":
        this.loading = message.name;
        return this.tell("loading");
      case "loaded":
        this.loading = null;
        if (message.weights.length) this.weights.set(message.name, message.weights);
        this.solve(`model-${message.name}`);
        return this.tell("weights", message.name);
      case "attention":
        this.attentions.set(message.slot, message);
        this.solve(`attention-${message.slot}`);
        return this.tell("attention", message.slot);
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
  }

  /** Asks for something until it is dropped; gives its id. */
  want(want, id = nextId++) {
    this.wants.set(id, want);
    if (this.worker) this.worker.postMessage({ kind: "want", id, want });
    else if (!this.isStarting) {
      this.isStarting = true;
      this.start(this.choice).finally(() => (this.isStarting = false));
    }
    return id;
  }

  drop(id) {
    if (!this.wants.delete(id)) return;
    this.worker?.postMessage({ kind: "drop", id });
  }

  /** The run of a key, made where it is new. */
  run(key) {
    let run = this.runs.get(key);
    if (!run) this.runs.set(key, (run = new Run(key)));
    return run;
  }

  runOf(settings) {
    return this.run(runKey(settings));
  }
}

/** Starts the worker; the only place that knows how. Its script is of one piece and no module. */
async function makeWorker() {
  const place = has("worker.js") && !isOffline() ? address("worker.js") : null;
  if (place?.origin === location.origin && self.origin !== "null") return new Worker(place);
  // From another origin, in a sandboxed frame and in the offline file only a script of our own may start as a
  // worker, and it may import nothing: a copy of the whole.
  const script = bytes("worker.js") ?? (await download(place));
  return new Worker(URL.createObjectURL(new Blob([script], { type: "text/javascript" })));
}

/** The one engine of the page. */
export const engine = new Engine();
