// When the page's first picture is there: what comes after it waits for this.

/** The picture may be out of sight, or have failed; the rest of the page is not kept back for longer. */
const LONGEST_MS = 500;

let tell;
const drawn = new Promise((resolve) => (tell = resolve));
let isThere = false;

/** Says that a picture is drawn; the first one counts. */
export function pictureIsThere() {
  if (isThere) return;
  isThere = true;
  performance.mark("longview-first-picture");
  // It is on the screen after the next frame.
  requestAnimationFrame(() => setTimeout(tell));
}

/** Resolves after the first picture, or when it has been waited for long enough. */
export const firstPicture = () => Promise.race([drawn, new Promise((resolve) => setTimeout(resolve, LONGEST_MS))]);
