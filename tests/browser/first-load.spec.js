// A cold load: what the first picture waits for, in which order, and how many bytes that are.
import { expect, open, picture, test } from "./fixtures.js";

// Without routes the browser loads as for a reader.
test.use({ textCharacters: 0 });

/** What may be sent until the first picture is there, compressed, everything counted; 2 % above what it is. */
const BUDGET_BYTES = { en: 175_500, "zh-Hant": 192_000 };

/** The view in which each encoding stands, and its first picture. */
const FIRST = {
  none: ["none", "mask"],
  learned: ["learned", "table"],
  sinusoidal: ["sinusoidal", "table"],
  rotary: ["rotary", "dials"],
  t5_bias: ["t5-bias", "buckets"],
  alibi: ["alibi", "matrices"],
  kerple: ["methods", "bias"],
  sandwich: ["methods", "bias"],
  xpos: ["methods", "decay"],
  randomized: ["methods", "methods"],
};
const REST = /figures_rest\.wasm$/;
const LATER = /figures_rest\.wasm$|worker\.js$|engine_(relaxed_)?bg\.wasm$|\/assets\//;

/** When the first picture was there, and all that was loaded: name, start and end in ms, bytes as sent. */
async function loads(page) {
  await expect.poll(() => page.evaluate(() => performance.getEntriesByName("longview-first-picture").length)).toBe(1);
  return page.evaluate(() => {
    const { startTime: pictureAt } = performance.getEntriesByName("longview-first-picture")[0];
    const entries = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
    return { pictureAt, files: entries.map(({ name, startTime: start, responseEnd: end, encodedBodySize: sent, decodedBodySize: whole }) => ({ name, start, end, sent, whole })) };
  });
}

for (const [lang, budget] of Object.entries(BUDGET_BYTES)) {
  test(`the first picture waits for few bytes, and nothing of the engine is among them (${lang})`, async ({ page }) => {
    await page.goto(`?lang=${lang}`);
    const { pictureAt, files } = await loads(page);
    const needed = files.filter(({ start }) => start < pictureAt);
    const list = needed.map(({ name, start, end, sent, whole }) => `${Math.round(start)}–${Math.round(end)} ms  ${sent} of ${whole} bytes  ${name}`).join("\n");
    test.info().annotations.push({ type: `until ${Math.round(pictureAt)} ms`, description: `\n${list}` });
    expect(needed.filter(({ name }) => LATER.test(name)), "what comes later").toEqual([]);
    // The server sends what is built compressed; a file that was not would be counted at its full size.
    const sum = needed.reduce((bytes, { sent }) => bytes + sent, 0);
    expect(needed.length, list).toBeGreaterThan(4);
    expect(needed.find(({ name }) => name.endsWith("figures_bg.wasm"))?.sent, list).toBeGreaterThan(50_000);
    expect(sum, `${sum} bytes until the first picture: find what grew\n${list}`).toBeLessThanOrEqual(budget);
  });
}

test("what the first picture waits for is asked for at once, not file after file", async ({ page }) => {
  await page.goto("");
  const { pictureAt, files } = await loads(page);
  const needed = files.filter(({ name, start }) => start < pictureAt && /\/pkg\//.test(name));
  const firstEnd = Math.min(...needed.map(({ end }) => end));
  for (const { name, start } of needed) expect(start, `${name} waited for another file`).toBeLessThan(firstEnd);
});

for (const [encoding, [view, chart]] of Object.entries(FIRST)) {
  test(`the first picture of ${encoding} needs only the first part of the module`, async ({ page }) => {
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route(REST, async (route) => {
      await held;
      await route.continue();
    });
    const figure = page.locator(`longview-${view} [data-chart="${chart}"]`);
    const sentence = figure.locator(".summary");
    try {
      await open(page, { encoding, length: 96, engine: "cpu" }, "picture");
      await expect(figure).toHaveAttribute("data-drawn", "true");
      expect((await picture(page, `longview-${view} [data-chart="${chart}"] canvas`)).colours).toBeGreaterThan(4);
      // Where the pointer stands is told later, and asking for it now breaks nothing.
      await figure.locator("canvas").hover();
      await expect(sentence).toBeEmpty();
    } finally {
      release();
    }
    await expect(sentence).not.toBeEmpty();
  });
}

test.describe("a second part that cannot be had", () => {
  test.use({ expectedFailures: [REST] });

  test("is told, and the first picture stays", async ({ page }) => {
    let isBroken = true;
    await page.route(REST, (route) => (isBroken ? route.fulfill({ status: 503, body: "" }) : route.continue()));
    await open(page, { encoding: "alibi", engine: "cpu" }, "picture");
    const messages = page.locator("longview-alibi .messages p");
    await expect(messages.first()).toContainText("503");
    expect((await picture(page, 'longview-alibi [data-chart="matrices"] canvas')).colours).toBeGreaterThan(8);
    // Whoever changes something tries again.
    isBroken = false;
    await page.locator('#bar [data-control="heads"] input').press("ArrowRight");
    await expect(page.locator('longview-alibi [data-chart="slopes"] .summary')).not.toBeEmpty();
    await expect(messages).toHaveCount(0);
  });
});
