// The worker's side of the board of claims: one small step of one claim at a time.

/** What was found is told so often, and kept so often. */
const TOLD_MS = 400;
const KEPT_MS = 5000;
/** Its speed gives the estimates before anything is measured. */
const CALIBRATED = "alibi";
/** The name of the reader's own text. */
const OWN = "own";

export class BoardWorker {
  /**
   * @param {object} worker `{post, load, takeText, models, texts, failed}`: how a model or text is had, which there
   *   are, and which could not be had
   */
  constructor(worker) {
    this.worker = worker;
    this.laboratory = null;
    this.isCalibrated = false;
    /** When each claim was told of last. @type {Map<string, number>} */
    this.toldAt = new Map();
    this.keptAt = 0;
    /** What a page kept, until the laboratory is there. */
    this.restored = null;
    this.options = null;
    /** What the page has asked for while the laboratory may have been in the middle of a step. */
    this.hasOptions = false;
    this.forgotten = [];
    this.isToKeep = false;
  }

  /** Does what was asked for meanwhile: the laboratory takes no call while one of its steps waits for the GPU. */
  settle() {
    if (this.hasOptions) this.laboratory.board_options(JSON.stringify(this.options));
    this.hasOptions = false;
    for (const id of this.forgotten) this.laboratory.forget(id);
    if (this.forgotten.length || this.isToKeep) this.keep();
    this.forgotten = [];
    this.isToKeep = false;
  }

  /** Keeps what is measured at the next occasion. */
  keepSoon() {
    this.isToKeep = true;
  }

  /** Takes what a page kept of earlier measurements; what is of another version is let go. */
  restore(results) {
    this.restored = results;
  }

  begin(laboratory) {
    this.laboratory = laboratory;
    if (!this.restored) return;
    try {
      laboratory.restore_results(this.restored);
    } catch {
      // Of another version: it is measured anew.
    }
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
      const claims = JSON.parse(this.laboratory.claims());
      const findings = Object.fromEntries(claims.map(({ id }) => [id, JSON.parse(this.laboratory.finding(id))]));
      const { seconds } = JSON.parse(this.laboratory.board_progress());
      post({ kind: "claims", claims, findings, seconds });
      return "told";
    });
  }

  async calibrate() {
    const { models } = this.worker;
    if (this.isCalibrated) return;
    this.isCalibrated = true;
    if (models.has(CALIBRATED)) await this.laboratory.board_calibrate(CALIBRATED);
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
    this.worker.post({ kind: "results", results: this.laboratory.export_results() });
  }

  forget(ids) {
    this.forgotten.push(...ids);
  }
}
