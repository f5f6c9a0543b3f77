// One moment before each frame for all charts of a page, and the times when a chart may wait.
import { followRatio } from "./pixels.js";

/** @type {Set<{drawIfNeeded(): void}>} */
const waiting = new Set();
let isScheduled = false;

/** Draws a chart before the next frame. */
export function schedule(chart) {
  waiting.add(chart);
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(flush);
}

function flush() {
  isScheduled = false;
  const now = [...waiting];
  waiting.clear();
  for (const chart of now) chart.drawIfNeeded();
}

/** @type {Set<{drawForPrint(isPrinting: boolean): void, update(): void}>} all charts of the page */
export const charts = new Set();

// A window that comes to another screen keeps its size in CSS px, so nothing else tells.
followRatio(() => {
  for (const chart of charts) chart.update();
});

// On paper every picture is wanted, also those that were never in sight.
addEventListener("beforeprint", () => {
  for (const chart of charts) chart.drawForPrint(true);
});
addEventListener("afterprint", () => {
  for (const chart of charts) chart.drawForPrint(false);
});
