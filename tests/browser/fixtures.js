// What every browser test shares: the page opened on a short text, and a watch over its console.
import { expect, test as base } from "@playwright/test";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));

export const test = base.extend({
  /** Which engine the project's Chromium can run: "gpu" or "cpu". */
  engine: ["cpu", { option: true }],

  /** Addresses (regular expressions) whose failed loading a test brings about itself. */
  expectedFailures: [[], { option: true }],

  /** Other errors in the console (regular expressions) that a test brings about itself. */
  expectedErrors: [[], { option: true }],

  /** Characters of the evaluation texts that the page gets, so that a run is short; 0 leaves them whole. */
  textCharacters: [12_000, { option: true }],

  page: async ({ page, expectedFailures, expectedErrors, textCharacters }, use) => {
    const errors = [];
    page.on("pageerror", (error) => errors.push(`page error: ${error.stack ?? error}`));
    page.on("console", (message) => {
      if (message.type() !== "error") return;
      const address = message.location().url;
      const isFailure = message.text().startsWith("Failed to load resource") && expectedFailures.flat().some((failure) => failure.test(address));
      const isExpected = isFailure || expectedErrors.flat().some((error) => error.test(message.text()));
      if (!isExpected) errors.push(`console: ${message.text()} (${address})`);
    });
    if (textCharacters > 0) {
      await page.route("**/pkg/assets/*.txt", (route) =>
        route.fulfill({ contentType: "text/plain; charset=utf-8", body: shortText(route.request().url(), textCharacters) }),
      );
    }
    await page.addInitScript(watch);
    await use(page);
    expect(errors, "errors in the console").toEqual([]);
  },
});

/** The beginning of a text that the page asks for. */
export function shortText(address, characters) {
  const file = new URL(address).pathname.slice(1);
  return [...readFileSync(new URL(file, `file://${root}`), "utf8")].slice(0, characters).join("");
}

/** Runs in the page before its own scripts: notes when the first picture is there, and the long tasks. */
function watch() {
  window.watched = { pictureAt: undefined, longTasks: [] };
  new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      window.watched.longTasks.push({ start: entry.startTime, duration: entry.duration });
    }
  }).observe({ type: "longtask", buffered: true });
  new MutationObserver(() => {
    if (document.documentElement?.dataset.ready && window.watched.pictureAt === undefined) {
      window.watched.pictureAt = performance.timeOrigin + performance.now();
    }
  }).observe(document, { attributes: true, attributeFilter: ["data-ready"], subtree: true });
}

/** Has every worker that the page starts run a function first, before its own script. */
export async function inWorkers(page, first, ...parts) {
  const script = `(${first})(${parts.map((part) => JSON.stringify(part)).join(", ")});\n`;
  await page.route("**/pkg/worker.js", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: script + (await response.text()) });
  });
}

/** Opens the page with a state and waits until it has come so far: "picture" or "engine". */
export async function open(page, state, ready = "engine") {
  await page.goto(`?${new URLSearchParams(state)}`);
  const reached = ready === "picture" ? /^(picture|engine)$/ : /^engine$/;
  await expect(page.locator("html")).toHaveAttribute("data-ready", reached);
}

export const state = (page) => page.evaluate(() => window.longview.state());
export const results = (page) => page.evaluate(() => window.longview.results());
/** All that the page and its views tell the reader. */
export const told = async (page) => (await page.locator(".messages p").allTextContents()).join("\n");

/** The canvas of a view's chart, wherever its view stands. */
export const canvas = (view, chart) => `longview-${view} [data-chart="${chart}"] canvas`;
/** A control of the bar on top. */
export const control = (name) => `#bar [data-control="${name}"] input`;

/** The number of colours in a canvas and a number that changes with its content. */
export function picture(page, id) {
  return page.locator(id).evaluate((canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    let hash = 0x811c9dc5;
    for (const pixel of pixels) hash = Math.imul(hash ^ pixel, 0x01000193) >>> 0;
    return { colours: new Set(pixels).size, hash, width: canvas.width, height: canvas.height };
  });
}

export { expect };
