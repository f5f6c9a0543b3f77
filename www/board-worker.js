// The worker's side of the board of claims: one small step of one claim at a time.

/** What was found is told so often, and kept so often. */
const TOLD_MS = 400;
const KEPT_MS = 1000;
/** Its speed gives the estimates before anything is measured. */
const CALIBRATED = "alibi";
/** The name of the reader's own text. */
const OWN = "own";

const lines = (all) => all.join("\n");

export class BoardWorker {
  /**
   * @param {Record<string, any>} worker `{post, load, takeText, models, texts, failed, hashes}`: how a model or text is had,
   *   which there are, which could not be had, and what the models' hashes are
   */
  constructor(worker) {
    this.worker = worker;
    this.laboratory = null;
    this.isCalibrated = false;
    /** When each claim was told of last. @type {Map<string, number>} */
    this.toldAt = new Map();
    this.keptAt = 0;
    this.options = null;
    /** Whether the laboratory was told what the models are. */
    this.knowsModels = false;
    /** What the page has asked for while the laboratory may have been in the middle of a step. */
    this.hasOptions = false;
    /** Ids of claims; null is all of them. */
    this.forgotten = [];
    this.retried = [];
    this.isToKeep = false;
    /** What a page kept of earlier measurements; and what other pages measured and forgot. */
    this.restored = [];
    this.heard = [];
    this.gone = [];
  }

  /** Does what was asked for meanwhile: the laboratory takes no call while one of its steps waits for the GPU. */
  async settle() {
    const { laboratory } = this;
    if (this.hasOptions) laboratory.board_options(JSON.stringify(this.options));
    this.hasOptions = false;
    for (const name of this.retried.splice(0)) laboratory.board_ask_again(name);
    if (this.restored.length || this.heard.length) await this.knowModels();
    for (const results of this.restored.splice(0)) this.takeKept(results);
    for (const results of this.heard.splice(0)) laboratory.restore_results(results);
    const gone = this.gone.splice(0);
    if (gone.length) laboratory.forget_keys(lines(gone));
    for (const id of this.forgotten.splice(0)) {
      if (id === null) laboratory.forget_all();
      else laboratory.forget(id);
      this.isToKeep = true;
    }
    if (this.isToKeep) this.keep();
    this.isToKeep = false;
  }

  /** Tells the laboratory what the models are, so that results of others are never shown. */
  async knowModels() {
    if (this.knowsModels) return;
    this.knowsModels = true;
    const hashes = await this.worker.hashes();
    if (hashes) this.laboratory.expect_models(lines(Object.entries(hashes).map((entry) => entry.join(" "))));
  }

  /** Takes what this page kept; what is of other models or texts is let go. */
  takeKept(results) {
    try {
      const dropped = this.laboratory.restore_results(results).split("\n").filter(Boolean);
      if (dropped.length) this.worker.post({ kind: "results", changes: JSON.stringify({ records: {}, dropped }) });
    } catch {
      // Of another version: it is measured anew.
    }
  }

  /** Keeps what is measured at the next occasion. */
  keepSoon() {
    this.isToKeep = true;
  }

  /** Takes what a page kept of earlier measurements. */
  restore(results) {
    this.restored.push(results);
  }

  /** Takes what other pages measured and forgot. */
  hear({ results, gone }) {
    this.heard.push(results);
    this.gone.push(...gone);
  }

  /** A model or text that could not be had is asked for again. */
  retry(name) {
    this.retried.push(name);
  }

  begin(laboratory) {
    this.laboratory = laboratory;
  }

  choose(options) {
    this.options = options;
    this.hasOptions = true;
  }

  /** Whether the reader's own text is to be taken first: what was measured on the one before is dropped then. */
  lacksOwn() {
    const { texts, failed } = this.worker;
    return this.options?.text === OWN && !texts.has(OWN) && !failed.has(OWN);
  }

  /** Tells all claims with what is found of each; the speed is measured first. Says whether it had to load a model for that. */
  list() {
    const { models, failed, load, takeText, post } = this.worker;
    if (this.lacksOwn()) return takeText(OWN);
    if (!this.isCalibrated && !models.has(CALIBRATED) && !failed.has(CALIBRATED)) return load(CALIBRATED);
    return this.calibrate().then(() => {
      post({ kind: "claims", ...JSON.parse(this.laboratory.claims()) });
      return "told";
    });
  }

  async calibrate() {
    if (this.isCalibrated || !this.worker.models.has(CALIBRATED)) return;
    this.isCalibrated = true;
    await this.laboratory.board_calibrate(CALIBRATED);
  }

  /** One step of a claim; says whether it is done. */
  async step(id) {
    const { laboratory, worker } = this;
    if (this.lacksOwn()) {
      await worker.takeText(OWN);
      return false;
    }
    const next = JSON.parse(laboratory.board_next(id));
    const name = next.model ?? next.text;
    if (next.kind === "done") {
      this.tell(id, { isDone: true });
      this.keep();
      return true;
    }
    if (next.kind !== "step") {
      if (worker.failed.has(name)) laboratory.board_skip(name);
      else if (next.kind === "load") await worker.load(name);
      else await worker.takeText(name);
      return false;
    }
    const { progress, seconds } = JSON.parse(await laboratory.board_step(id));
    const now = performance.now();
    if (now - (this.toldAt.get(id) ?? -Infinity) > TOLD_MS) {
      this.toldAt.set(id, now);
      this.tell(id, { progress, seconds });
    }
    if (now - this.keptAt > KEPT_MS) this.keep(now);
    return false;
  }

  tell(id, more) {
    this.worker.post({ kind: "claim", id, finding: JSON.parse(this.laboratory.finding(id)), ...more });
  }

  keep(now = performance.now()) {
    this.keptAt = now;
    const changes = this.laboratory.take_changes();
    if (changes) this.worker.post({ kind: "results", changes });
  }

  forget(ids) {
    this.forgotten.push(...(ids ?? [null]));
  }
}
