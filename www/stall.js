import { patiently } from "./patience.js";
import { Told } from "./told.js";

/** A connection over which nothing has come for so long is given up. */
const STALLED_MS = 30_000;

/** Gives a file's connection up when nothing comes over it: what is fetched with its signal fails with its error. */
export class Stall {
  /** @param {string} file */
  constructor(file) {
    const seconds = STALLED_MS / 1000;
    this.stopper = new AbortController();
    this.signal = this.stopper.signal;
    /** Why it was given up; null as long as it was not. @type {Told | null} */
    this.error = null;
    this.hasEnded = false;
    this.giveUp = () => {
      this.error = new Told("problems.stalled", { file, seconds }, `nothing came for ${seconds} seconds`);
      this.stopper.abort(this.error);
    };
    this.came();
  }

  /** Something has come: the waiting begins anew. */
  came() {
    this.stop?.();
    if (!this.hasEnded) this.stop = patiently(STALLED_MS, this.giveUp);
  }

  /** Nothing more is waited for. */
  end() {
    this.hasEnded = true;
    this.stop();
  }
}
