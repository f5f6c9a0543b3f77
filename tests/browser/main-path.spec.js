// The way a reader goes, once with WebGPU and once without.
import { execFileSync } from "node:child_process";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { canvas, control, expect, open, picture, results, root, shortText, state, test } from "./fixtures.js";

const ENCODINGS = ["none", "learned", "sinusoidal", "rotary", "t5_bias", "alibi"];
const TRAINED_LENGTH = 128;
// Short enough for SwiftShader, and past the trained length.
const MAX = 256;
const LENGTHS = [16, 32, 64, 128, MAX];
// Tasks over 50 ms in the whole run. On an idle machine there are a handful, from loading; a model that runs
// on the main thread makes one for each forward, which is hundreds.
const LONG_TASKS = 40;

const start = (engine, more = {}) => ({ encoding: "alibi", engine, length: 128, max: MAX, ...more });

/** Waits until every length has been measured for every encoding that is defined there. */
async function measured(page) {
  await expect
    .poll(async () => {
      const points = await results(page);
      const has = (encoding, length) =>
        points.some((point) => point.encoding === encoding && point.length === length && point.perplexity > 1);
      return ENCODINGS.filter((name) => !has(name, name === "learned" ? TRAINED_LENGTH : MAX));
    })
    .toEqual([]);
}

test("the first picture needs no checkpoint", async ({ page, engine }) => {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route("**/*.safetensors", async (route) => {
    await held;
    await route.continue();
  });
  const asked = page.waitForRequest("**/*.safetensors");
  try {
    await open(page, start(engine), "picture");
    expect((await picture(page, canvas("alibi", "matrices"))).colours).toBeGreaterThan(8);
    await asked;
    expect(await results(page)).toEqual([]);
  } finally {
    release();
  }
  await expect.poll(async () => (await results(page)).length).toBeGreaterThan(0);
});

test("checkpoints are asked for after the first picture", async ({ page, engine }) => {
  await open(page, start(engine));
  // The worker's own list: the driver's event of a request that a worker finished is at times not sent.
  const asked = () =>
    page.workers()[0].evaluate(() =>
      performance
        .getEntriesByType("resource")
        .filter(({ name }) => name.endsWith(".safetensors"))
        .map(({ startTime }) => performance.timeOrigin + startTime),
    );
  await expect.poll(async () => (await asked()).length).toBeGreaterThan(0);
  const { pictureAt } = await page.evaluate(() => window.watched);
  // The two clocks may differ by a few milliseconds.
  expect(Math.min(...(await asked()))).toBeGreaterThan(pictureAt - 20);
});

test("the page says which engine runs and why", async ({ page, engine }) => {
  await open(page, start(engine));
  const status = page.locator("longview-perplexity .engine");
  await expect(status).toHaveAttribute("data-engine", engine);
  await expect(status).toContainText(engine === "gpu" ? /GPU/ : /CPU/);
  // A name alone is no reason.
  expect((await status.textContent()).trim().split(/\s+/).length).toBeGreaterThan(4);
});

test("points appear one by one, sliders move meanwhile, and nothing blocks", async ({ page, engine }) => {
  await open(page, start(engine));
  // Counted inside the page: a short run is over before a test has looked five times.
  await page.evaluate(() => {
    window.counts = [window.longview.results().length];
    window.longview.engine.follow(() => {
      window.counts.push(window.longview.results().length);
      if (window.moved || window.counts.at(-1) === 0) return;
      // In the middle of the run a slider is moved, and the picture follows in two frames.
      const slider = document.querySelector('#bar [data-control="heads"] input');
      slider.stepUp();
      slider.dispatchEvent(new Event("input"));
      const { charts } = document.querySelector("longview-alibi").view;
      window.moved = new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() =>
        resolve({ heads: window.longview.state().heads, drawn: charts[0].geometry.plots.length, points: window.longview.results().length }))));
    });
  });
  const counts = () => page.evaluate(() => window.counts);

  await expect.poll(() => page.evaluate(() => Boolean(window.moved))).toBe(true);
  const moved = await page.evaluate(() => window.moved);
  expect(moved.drawn).toBe(moved.heads);
  expect(moved.points, "the model was still running").toBeLessThan(ENCODINGS.length * 5 - 3);

  const heads = page.locator(control("heads"));
  const length = page.locator(control("length"));
  const before = await state(page);
  const encodingBefore = await picture(page, canvas("alibi", "matrices"));
  await heads.press("ArrowRight");
  await expect.poll(async () => (await state(page)).heads).toBe(before.heads + 1);
  await expect.poll(async () => (await picture(page, canvas("alibi", "matrices"))).hash).not.toBe(encodingBefore.hash);
  await length.press("ArrowRight");
  await expect.poll(async () => (await state(page)).length).toBeGreaterThan(before.length);
  await expect.poll(async () => new Set(await counts()).size).toBeGreaterThan(4);
  await measured(page);
  const { longTasks } = await page.evaluate(() => window.watched);
  test.info().annotations.push({ type: "long tasks", description: JSON.stringify(longTasks) });
  expect(longTasks.length, JSON.stringify(longTasks)).toBeLessThanOrEqual(LONG_TASKS);
});

test("attention and its decay change with the length", async ({ page, engine }) => {
  await open(page, start(engine, { view: "attention", length: 64 }));
  const figures = [canvas("attention", "head"), canvas("attention", "distance")];
  const drawn = async () => {
    const pictures = [];
    for (const id of figures) {
      // Pictures are drawn when they are near.
      await page.locator(id).scrollIntoViewIfNeeded();
      pictures.push(await picture(page, id));
    }
    return pictures;
  };
  await expect.poll(async () => (await drawn()).every(({ colours }) => colours > 8)).toBe(true);
  const before = await drawn();
  await page.locator('longview-attention [data-control="length"] input').press("PageUp");
  await expect.poll(async () => (await state(page)).length).toBeGreaterThan(64);
  await expect.poll(async () => (await drawn()).every(({ hash }, i) => hash !== before[i].hash)).toBe(true);
});

test("the state stands in the address and comes back", async ({ page, engine }) => {
  await open(page, start(engine, { encoding: "rotary", heads: 3, length: 96, layer: 2, head: 1, text: "hamlet" }));
  await page.locator(control("length")).press("ArrowRight");
  const before = await state(page);
  expect(before).toMatchObject({ encoding: "rotary", heads: 3, layer: 2, head: 1, text: "hamlet", max: MAX });
  await expect.poll(() => new URL(page.url()).searchParams.get("length")).toBe(String(before.length));
  await page.reload();
  await expect(page.locator("html")).toHaveAttribute("data-ready", "engine");
  expect(await state(page)).toEqual(before);
});

test("learned positions end at the trained length, unless the reader repeats the last", async ({ page, engine }) => {
  await open(page, start(engine, { encoding: "learned", length: MAX }));
  await measured(page);
  const beyond = async () =>
    (await results(page)).filter((point) => point.encoding === "learned" && point.length > TRAINED_LENGTH);
  expect(await beyond()).toEqual([]);
  await expect(page.locator("longview-perplexity .findings")).toContainText(/undefined/i);

  await open(page, start(engine, { encoding: "learned", length: MAX, past: "last" }));
  await expect.poll(async () => (await beyond()).length).toBeGreaterThan(0);
  const at = async (length) =>
    (await results(page)).find((point) => point.encoding === "learned" && point.length === length)?.perplexity;
  await expect.poll(() => at(MAX)).toBeGreaterThan(1);
  await expect.poll(() => at(TRAINED_LENGTH)).toBeGreaterThan(1);
  // Repeating the last row breaks the model.
  expect(await at(MAX)).toBeGreaterThan(await at(TRAINED_LENGTH));
});

test("the page's numbers are the program's", async ({ page, engine, textCharacters }) => {
  await open(page, start(engine));
  const folder = mkdtempSync(join(tmpdir(), "longview-"));
  const text = join(folder, "persuasion.txt");
  writeFileSync(text, shortText("http://page/pkg/assets/persuasion.txt", textCharacters));
  for (const encoding of ["alibi", "rotary", "t5_bias"]) {
    for (const there of evaluate(encoding, text)) {
      const find = async () =>
        (await results(page)).find((point) => point.encoding === encoding && point.length === there.length);
      const which = `${encoding} at ${there.length}`;
      await expect.poll(async () => (await find())?.tokens, which).toBe(there.tokens);
      const here = await find();
      expect(Math.abs(here.perplexity / there.perplexity - 1), which).toBeLessThan(1e-4);
      expect(Math.abs(here.standard_error / there.standard_error - 1), which).toBeLessThan(1e-3);
    }
  }
});

/** The points that the native program measures, in the page's plan. */
function evaluate(encoding, text) {
  const output = execFileSync(process.env.LONGVIEW_PROGRAM, [
    "evaluate",
    ...["--checkpoint", join(root, `www/checkpoints/${encoding}.safetensors`)],
    ...["--text", text, "--length", LENGTHS.join(","), "--engine", "cpu", "--format", "json"],
  ]);
  return JSON.parse(output).points;
}
