// A GPU that fails while it runs the models. All that was measured stays: it goes on with a new device, and where
// that one fails too, with the CPU.
import { reason } from "./told.js";

/** How the library's errors of a GPU begin. */
const GPU_FAILED = "the GPU failed: ";
/** A new device is tried so often. */
const RENEWALS_MAX = 1;
/** A browser whose GPU process has ended needs a moment to start another. */
const PAUSE_MS = 500;

/** Whether an error is a GPU's. */
export const isGpuFailure = (error) => reason(error).startsWith(GPU_FAILED);

export class GpuLoss {
  /** @param {() => void} wake is called when one is noticed while nothing runs */
  constructor(wake) {
    this.wake = wake;
    /** Why the GPU failed, until that was taken up. @type {string | null} */
    this.cause = null;
    this.count = 0;
  }

  note(error) {
    this.cause = reason(error).replace(GPU_FAILED, "");
    this.wake();
  }

  /** Hears of a failure also while nothing runs. */
  watch(laboratory) {
    // A device that was let go tells no cause.
    laboratory.failure()?.then((error) => error && this.note(error));
  }

  /** Has the laboratory go on; gives what to tell of it: whether there is a new device, and the cause. */
  async renew(laboratory, choice, helpers) {
    this.count += 1;
    const isLast = this.count > RENEWALS_MAX;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    // A step fails first; why the device was lost is told after it.
    const { cause } = this;
    await laboratory.renew(choice, isLast ? cause : undefined, helpers);
    // Without a GPU that can be had, the verdict would say that there is none: what the reader asks is why it is gone.
    const isBack = JSON.parse(laboratory.verdict()).engine === "gpu";
    if (!isBack && !isLast) await laboratory.renew(choice, cause, helpers);
    this.cause = null;
    this.watch(laboratory);
    return { isBack, cause };
  }
}
