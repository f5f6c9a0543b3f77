// The worker's side of attention: one model's on one window, as pictures that the GPU painted where those can be
// shown, else as numbers.
import { isGpuFailure } from "./gpu-loss.js";
import { withPast } from "./run-settings.js";
import { reason } from "./told.js";

/** Whether a picture that was painted has the pixels that it should have, to a rounding. */
function isAsExpected(bitmap, expected) {
  const { width, height } = bitmap;
  const context = new OffscreenCanvas(width, height).getContext("2d");
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  return context.getImageData(0, 0, width, height).data.every((value, at) => Math.abs(value - expected[at]) <= 1);
}

export class AttentionWorker {
  /** @param {{post: (message: any, transfer?: any[]) => void, texts: Map<string, number>}} worker how the page is told, and the
   *   number of tokens of each text */
  constructor({ post, texts }) {
    this.post = post;
    this.texts = texts;
    this.isOnCpu = false;
    /** Whether the GPU's pictures can be shown; null where that was not tried yet. @type {boolean | null} */
    this.paints = null;
    /** The tokens that a picture's readers are told, the last asked for. */
    this.written = { of: "", words: [] };
  }

  begin(laboratory) {
    this.laboratory = laboratory;
  }

  /** After a GPU that failed: one that painted is looked at again; one whose first picture ended it is not asked for
   * another. */
  beginAgain() {
    if (this.paints) this.paints = null;
  }

  /** Paints a picture that is known, and looks at it: some browsers show a black one, and say nothing. */
  async canPaint() {
    if (this.isOnCpu || this.paints !== null) return this.paints;
    this.post({ kind: "painting", state: "tried" });
    try {
      const sample = await this.laboratory.sample();
      const [bitmap, expected] = [sample.bitmap, sample.expected()];
      sample.free();
      this.paints = isAsExpected(bitmap, expected);
    } catch {
      this.paints = false;
    }
    this.post({ kind: "painting", state: this.paints ? "works" : "failed" });
    return this.paints;
  }

  /** Attention as pictures where they can be had, else as numbers. */
  async capture({ kind, variant, text, past, length, layer, head, thumbnails, picture }) {
    const take = ({ px, scale }) =>
      this.laboratory.attention(withPast(variant, past), text, length, layer, head, thumbnails ?? 0, kind === "attention", Uint32Array.from(px), Uint32Array.from(scale));
    if (picture && (await this.canPaint())) {
      try {
        return await take(picture);
      } catch {
        // More pixels than this GPU has room for, perhaps. What else is wrong shows without them, too.
      }
    }
    return take({ px: [], scale: [] });
  }

  /** The first tokens of a text, as words. */
  wordsOf(text, length) {
    const of = `${this.texts.get(text)} ${length} ${text}`;
    if (this.written.of !== of) this.written = { of, words: JSON.parse(this.laboratory.words(text, length)) };
    return this.written.words;
  }

  /** Answers a want for an attention, or for the numbers of one that was painted; a GPU that failed is the caller's
   * matter, who asks again of what comes after it. */
  async answer(want) {
    // The side that was asked for has the name of what is answered.
    const { kind, slot, text, length, picture, thumbnails: _, ...rest } = want;
    try {
      const captured = await this.capture(want);
      const bitmaps = captured.bitmaps();
      const rasters = bitmaps.length ? {} : { raster: captured.raster(), thumbnails: captured.thumbnails() };
      const answer = { ...rest, kind, slot, text, length, bitmaps, ...rasters, bytesRead: this.laboratory.bytes_read() };
      if (kind === "attention") {
        Object.assign(answer, {
          side: captured.side,
          smallSide: captured.thumbnail_side,
          profile: captured.profile(),
          entropy: captured.entropy(),
          words: this.wordsOf(text, length),
        });
      }
      captured.free();
      const arrays = [answer.raster, answer.thumbnails, answer.profile, answer.entropy].filter(Boolean);
      this.post(answer, [...bitmaps, ...arrays.map(({ buffer }) => buffer)]);
    } catch (error) {
      if (isGpuFailure(error)) throw error;
      this.post({ kind: "problem", key: `attention-${slot}`, path: "problems.attention", parts: { reason: reason(error) } });
    }
  }
}
