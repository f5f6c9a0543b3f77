// The engine's two modules: with relaxed SIMD, and without.
import { expect, open, results, test } from "./fixtures.js";

const start = { text: "persuasion", engine: "cpu", max: 256, encodings: "alibi,rotary" };
const POINTS = 10;
const RELAXED = /engine_relaxed_bg\.wasm$/;
const PLAIN = /engine_bg\.wasm$/;

test.beforeEach(({ engine }) => test.skip(engine !== "cpu", "it is the CPU that is faster"));
test.use({ expectedFailures: [RELAXED] });

/** The modules that the engine's worker has asked for. */
const asked = (page) =>
  page.workers()[0].evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name).filter((name) => name.endsWith(".wasm")));

async function measured(page) {
  await open(page, start);
  const isFinished = () => page.evaluate(() => [...window.longview.engine.runs.values()].some((run) => run.isFinished));
  await expect.poll(isFinished).toBe(true);
  expect(await results(page)).toHaveLength(POINTS);
  return { points: await results(page), asked: await asked(page) };
}

test("one of the two modules is fetched, and a copy of the page without the faster one measures the same", async ({ page }) => {
  const relaxed = await measured(page);
  expect(relaxed.asked).toEqual([expect.stringMatching(RELAXED)]);
  await page.route(RELAXED, (route) => route.fulfill({ status: 404 }));
  const plain = await measured(page);
  expect(plain.asked.at(-1)).toMatch(PLAIN);
  const key = ({ encoding, length }) => `${encoding} ${length}`;
  const others = new Map(plain.points.map((point) => [key(point), point.perplexity]));
  let differing = 0;
  for (const point of relaxed.points) {
    const other = others.get(key(point));
    expect(Math.abs(point.perplexity / other - 1), key(point)).toBeLessThan(1e-5);
    if (point.perplexity !== other) differing++;
  }
  // Rounded once instead of twice they are not the same bits: both modules have run.
  expect(differing).toBeGreaterThan(0);
});
