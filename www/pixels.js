// How many device pixels a picture gets for a CSS px.

/** Sharper than this is not seen, and costs. */
const RATIO_MAX = 4;
/** On paper. */
const PRINT_RATIO = 3;
/** A canvas that every browser makes: Chromium's and Firefox' longest side, and the area that phones allow. Beyond it
 * a canvas stays empty without a word. */
const SIDE_MAX = 16_384;
const AREA_MAX = 16_777_216;

/** The ratio for a picture of so many CSS px: the screen's, as far as a canvas can be made of it. */
export function ratioFor(width, height, isPrinting = false) {
  const wanted = isPrinting ? PRINT_RATIO : window.devicePixelRatio || 1;
  return Math.min(RATIO_MAX, wanted, SIDE_MAX / width, SIDE_MAX / height, Math.sqrt(AREA_MAX / (width * height)));
}

/** Calls back when the screen's ratio changes: zoom, or a window that is dragged to another screen. */
export function followRatio(changed) {
  let last = window.devicePixelRatio;
  const look = () => {
    if (window.devicePixelRatio === last) return;
    last = window.devicePixelRatio;
    changed();
  };
  const sizes = new ResizeObserver(look);
  try {
    sizes.observe(document.documentElement, { box: "device-pixel-content-box" });
  } catch {
    // WebKit has no such box; there a query tells when the ratio is no longer this one.
    const ask = () => matchMedia(`(resolution: ${window.devicePixelRatio}dppx)`).addEventListener("change", () => (look(), ask()), { once: true });
    ask();
  }
}
