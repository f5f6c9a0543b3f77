// The page's side of the engine: starts the worker, says what it should do, and starts it again on the
// CPU if it dies.

/** Starts the worker; the only place that knows how. */
function startWorker() {
  return new Worker(new URL("worker.js", import.meta.url), { type: "module" });
}

/** A GPU that has not passed its self-check by then has stopped answering. */
const START_LIMIT_MS = 60_000;

export class EngineClient {
  /**
   * @param {(message: object) => void} onMessage what the worker says
   * @param {(reason: string, isFinal: boolean) => void} onDeath
   */
  constructor(onMessage, onDeath) {
    this.onMessage = onMessage;
    this.onDeath = onDeath;
    this.wish = {};
    this.deaths = 0;
  }

  /** Starts (again) with an engine of choice. */
  start(engine) {
    this.worker?.terminate();
    const worker = startWorker();
    this.worker = worker;
    worker.addEventListener("message", ({ data }) => {
      if (worker !== this.worker) return;
      if (data.kind === "verdict") clearTimeout(this.startTimer);
      if (data.kind === "dead") this.die(data.reason);
      else this.onMessage(data);
    });
    worker.addEventListener("error", (event) => {
      event.preventDefault();
      if (worker === this.worker) this.die(event.message || "the worker could not be loaded");
    });
    clearTimeout(this.startTimer);
    if (engine !== "cpu") {
      this.startTimer = setTimeout(() => this.die("the GPU did not answer for a minute"), START_LIMIT_MS);
    }
    worker.postMessage({ kind: "start", engine });
    worker.postMessage({ kind: "wish", wish: this.wish });
  }

  die(reason) {
    clearTimeout(this.startTimer);
    this.deaths += 1;
    const isFinal = this.deaths > 1;
    this.worker?.terminate();
    this.worker = null;
    this.onDeath(reason, isFinal);
    if (!isFinal) this.start("cpu");
  }

  /** Changes what the worker should do. */
  want(part) {
    Object.assign(this.wish, part);
    this.worker?.postMessage({ kind: "wish", wish: part });
    // These are asked once; a worker that starts anew is asked again by the page.
    delete this.wish.attention;
    delete this.wish.position;
  }

  /** Lets the worker fetch a model again that failed. */
  retry(name) {
    this.worker?.postMessage({ kind: "retry", name });
  }
}
