// The CPU engine's helpers: workers that take a share of what is measured.
import { expect, open, results, test } from "./fixtures.js";

const LENGTHS = 5;
const start = { text: "persuasion", engine: "cpu", max: 256, encodings: "alibi,rotary" };

/** Helpers that the page has started. */
const helpers = (page) => page.evaluate(() => window.longview.engine.helpers.size);

test.beforeEach(({ engine }) => test.skip(engine !== "cpu", "a GPU has no helpers"));

test("measuring starts as many helpers as the machine has cores for; another engine ends them", async ({ page }) => {
  await open(page, start);
  const cores = await page.evaluate(() => navigator.hardwareConcurrency);
  // Beside the engine's own worker; of more than two cores one is the page's.
  const expected = cores <= 2 ? cores - 1 : Math.min(cores - 2, 7);
  await expect.poll(() => helpers(page)).toBe(expected);
  // The driver hears of them a moment later.
  await expect.poll(() => page.workers().length).toBe(expected + 1);
  await page.evaluate(() => window.longview.engine.stop());
  expect(await helpers(page)).toBe(0);
  await expect.poll(() => page.workers().length).toBe(0);
});

test("a helper that dies in the middle leaves no gap", async ({ page }) => {
  await open(page, start);
  const cores = await page.evaluate(() => navigator.hardwareConcurrency);
  test.skip(cores < 2, "one core has no helpers");
  await page.evaluate(async () => {
    const { engine } = window.longview;
    const some = () => engine.helpers.size > 0 && window.longview.results().length > 1;
    while (!some()) await new Promise((resolve) => engine.follow(resolve));
    // They are gone, as after a crash; by the time that the page hears of it, a step waits for them.
    const gone = [...engine.helpers.values()];
    for (const helper of gone) helper.terminate();
    await new Promise((resolve) => setTimeout(resolve, 500));
    window.before = window.longview.results().length;
    // The last one first, so that a share is lost that nobody waits for yet.
    for (const helper of gone.reverse()) helper.dispatchEvent(new ErrorEvent("error", { message: "it died" }));
  });
  expect(await page.evaluate(() => window.before)).toBeLessThan(2 * LENGTHS);
  expect(await helpers(page)).toBe(0);
  await expect.poll(async () => (await results(page)).length).toBe(2 * LENGTHS);
  await expect.poll(async () => new Set((await results(page)).map(({ tokens }) => tokens)).size).toBe(1);
  for (const { perplexity } of await results(page)) expect(perplexity).toBeGreaterThan(10);
});
