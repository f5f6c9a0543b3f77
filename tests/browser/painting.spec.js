// Attention goes from the GPU's buffers to the page without being read back, and looks as it does when it was.
import { readFileSync } from "node:fs";
import { canvas, expect, open, picture, state, test } from "./fixtures.js";

const LENGTH = 128;
const LAYERS = 3;
const HEADS = 4;

/** Opens a view whose first attention is there, on a GPU that paints from now on. */
async function openPainting(page, more = {}) {
  await open(page, { view: "attention", encoding: "alibi", engine: "gpu", length: LENGTH, ...more });
  await page.evaluate(() => {
    window.longview.engine.paintsOnSoftware = true;
    window.view = document.querySelector("longview-attention, longview-compare").view;
    window.heats = window.view.charts.filter(({ definition }) => definition.heat);
  });
  await expect.poll(() => page.evaluate(() => window.heats.every(({ values }) => values.length > 0))).toBe(true);
}

/** Moves the length and waits until it was painted. */
async function paint(page, length) {
  await page.evaluate((length) => window.view.store.set({ length }), length);
  await expect.poll(() => page.evaluate(() => window.longview.engine.painting)).toBe("works");
  await expect
    .poll(() => page.evaluate((length) => window.heats.every(({ bitmap, figure }) => bitmap && figure.length === length), length))
    .toBe(true);
}

/** Both pictures of every heat map, as the GPU painted it and as it is drawn from its numbers: how they differ. */
async function differences(page) {
  await expect.poll(() => page.evaluate(() => window.heats.every(({ values }) => values.length > 0))).toBe(true);
  return page.evaluate(() => {
    const nothing = new Float32Array();
    return window.heats.map((chart) => {
      const { canvas } = chart;
      const take = (values) => {
        const kept = chart.values;
        chart.values = values;
        Object.assign(chart, { isStale: true, isVisible: true });
        chart.drawIfNeeded();
        chart.values = kept;
        return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
      };
      const [painted, drawn] = [take(nothing), take(chart.values)];
      let largest = 0;
      for (let at = 0; at < drawn.length; at++) largest = Math.max(largest, Math.abs(painted[at] - drawn[at]));
      return { id: chart.definition.id, largest, colours: new Set(new Uint32Array(painted.buffer)).size, px: chart.bitmap.width || chart.cells.width };
    });
  });
}

for (const [name, use, settings] of [
  ["in the light", {}, {}],
  ["in the dark, on a fine screen", { deviceScaleFactor: 2 }, { theme: "dark" }],
  ["on a narrow page with a pixel ratio that is no whole number", { deviceScaleFactor: 1.25, viewport: { width: 360, height: 700 } }, { encoding: "rotary" }],
  ["side by side", {}, { view: "compare", left: "alibi", right: "rotary" }],
]) {
  test.describe(name, () => {
    test.use(use);
    test("what the GPU paints is what is drawn from the numbers", async ({ page }) => {
      await openPainting(page, settings);
      await paint(page, 200);
      for (const { id, largest, colours, px } of await differences(page)) {
        expect(px, id).toBeGreaterThan(50);
        expect(colours, id).toBeGreaterThan(60);
        expect(largest, id).toBeLessThanOrEqual(1);
      }
    });
  });
}

test("dragging reads back no heat map, and numbers come once when it rests", async ({ page }, info) => {
  await openPainting(page);
  await paint(page, 100);
  await differences(page);
  const lengths = [...Array(8).keys()].map((move) => 160 + 12 * move);
  const moves = await page.evaluate(async (lengths) => {
    const { engine } = window.longview;
    const before = window.watched.longTasks.length;
    const found = [];
    for (const length of lengths) {
      const bytes = engine.bytesRead;
      const answered = new Promise((resolve) => {
        const end = engine.follow((what) => what === "attention" && (end(), resolve()));
      });
      window.view.store.set({ length });
      await answered;
      found.push({ length, bytes: engine.bytesRead - bytes });
      await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    }
    return { found, longTasks: window.watched.longTasks.slice(before) };
  }, lengths);
  // The curves of decay are drawn from numbers: weights and entropies by distance, of every head.
  for (const { length, bytes } of moves.found) {
    expect(bytes, `${length} tokens`).toBe(2 * LAYERS * HEADS * length * 4);
  }
  info.annotations.push({ type: "moves", description: JSON.stringify(moves) });
  const total = () => page.evaluate(() => window.longview.engine.bytesRead);
  const before = await total();
  await expect.poll(() => page.evaluate(() => window.heats.every(({ values }) => values.length > 0))).toBe(true);
  const { length } = await state(page);
  const side = Math.min(length, 512);
  expect((await total()) - before).toBe((side * side + LAYERS * HEADS * 96 * 96) * 4);
  const sentence = page.locator('longview-attention [data-chart="head"] .summary');
  await expect(sentence).toContainText(`${length}`);
});

test("a painted picture is read out, tabled and saved as any other", async ({ page }) => {
  await openPainting(page);
  await paint(page, 150);
  const chart = page.locator('longview-attention [data-chart="head"]');
  await page.locator(canvas("attention", "head")).scrollIntoViewIfNeeded();
  const saved = page.waitForEvent("download");
  // As soon as the picture is there, before its numbers are: the file waits for them.
  const length = 160;
  await page.evaluate((length) => {
    const head = window.heats.find(({ definition }) => definition.id === "head");
    const csv = [...head.menu.querySelectorAll("button")].find(({ textContent }) => textContent === "CSV");
    const { show } = head;
    return new Promise((resolve) => {
      head.show = (...shown) => {
        show.apply(head, shown);
        if (!head.lacksNumbers || head.figure.length !== length) return;
        delete head.show;
        resolve(csv.click());
      };
      window.view.store.set({ length });
    });
  }, length);
  const csv = readFileSync(await (await saved).path(), "utf8");
  expect(csv.trim().split("\n")).toHaveLength(2 + (length * (length + 1)) / 2);
  await page.locator(canvas("attention", "head")).hover({ position: { x: 150, y: 300 } });
  await expect(chart.locator(".readout")).toContainText(/weight \S*\d/);
  await chart.locator("details.numbers summary").click();
  await expect(chart.locator("details.numbers tbody tr").first()).toBeVisible();
});

test("another theme and another size are drawn from the numbers", async ({ page }) => {
  await openPainting(page);
  await paint(page, 150);
  const [light] = await differences(page);
  expect(light.largest).toBeLessThanOrEqual(1);
  await page.evaluate(() => window.view.store.set({ theme: "dark" }));
  const corner = () =>
    page.evaluate(() => {
      const { canvas, geometry } = window.heats[1];
      const { x, y, width } = geometry.plots[0];
      const ratio = canvas.width / canvas.clientWidth;
      return [...canvas.getContext("2d").getImageData((x + width - 8) * ratio, (y + 30) * ratio, 1, 1).data];
    });
  await expect.poll(corner).toEqual([27, 31, 37, 255]);
});

test("a picture that was painted is shown again where the reader comes back before the other one is there", async ({ page }) => {
  await openPainting(page);
  await paint(page, 150);
  await differences(page);
  const head = canvas("attention", "head");
  await page.locator(head).scrollIntoViewIfNeeded();
  const found = await page.evaluate(async () => {
    const { engine } = window.longview;
    const { store } = window.view;
    // As of an answer whose numbers were not asked for.
    const [slot, have] = [...engine.attentions].find(([slot]) => slot.startsWith(`${window.view.id}:`));
    const { raster, thumbnails, ...painted } = have;
    engine.attentions.set(slot, painted);
    const { takeAttention } = engine;
    // The other encoding's answer takes its time.
    engine.takeAttention = () => {};
    const frames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const bitmaps = () => window.heats.map(({ bitmap }) => bitmap);
    const before = bitmaps();
    store.set({ encoding: "rotary" });
    await frames();
    const between = bitmaps();
    store.set({ encoding: "alibi" });
    await frames();
    const after = bitmaps();
    engine.takeAttention = takeAttention;
    return { isShown: before.every(Boolean), isGone: between.every((bitmap) => !bitmap), isBack: after.every((bitmap, index) => bitmap === before[index]) };
  });
  expect(found).toEqual({ isShown: true, isGone: true, isBack: true });
  for (const { id, largest, colours } of await differences(page)) {
    expect(colours, id).toBeGreaterThan(60);
    expect(largest, id).toBeLessThanOrEqual(1);
  }
});

test("a theme that changes before a picture's numbers are there is drawn from them when they come", async ({ page }) => {
  await openPainting(page);
  await paint(page, 150);
  await page.locator(canvas("attention", "head")).scrollIntoViewIfNeeded();
  const found = await page.evaluate(async () => {
    const { engine } = window.longview;
    const { store, theme } = window.view;
    const chart = window.heats.find(({ definition }) => definition.id === "head");
    const frames = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    // What the engine gave of them is held back: a picture painted in the light, and then its numbers.
    const { takeNumbers } = engine;
    const held = [];
    engine.takeNumbers = (message) => held.push(message);
    store.set({ length: 160 });
    while (!(chart.figure.length === 160 && chart.lacksNumbers)) await frames();
    const before = { theme, ofLight: chart.takenStyle };
    store.set({ theme: "dark" });
    while (!held.length) await frames();
    // The picture of the light stands in a frame of the dark until then.
    const isStale = chart.lacksNumbers;
    engine.takeNumbers = takeNumbers;
    for (const message of held.splice(0)) engine.takeNumbers(message);
    while (chart.lacksNumbers) await frames();
    await frames();
    return { before, isStale, theme: window.view.theme };
  });
  expect(found).toMatchObject({ before: { theme: "light" }, isStale: true, theme: "dark" });
  const corner = () =>
    page.evaluate(() => {
      const { canvas, geometry } = window.heats[1];
      const { x, y, width } = geometry.plots[0];
      const ratio = canvas.width / canvas.clientWidth;
      return [...canvas.getContext("2d").getImageData((x + width - 8) * ratio, (y + 30) * ratio, 1, 1).data];
    });
  await expect.poll(corner).toEqual([27, 31, 37, 255]);
});

test("a GPU that is lost for good leads to numbers, and to a picture of them", async ({ page, browser }) => {
  await openPainting(page);
  await paint(page, 150);
  const session = await browser.newBrowserCDPSession();
  await session.send("Browser.crashGpuProcess");
  await page.evaluate(() => window.view.store.set({ length: 160 }));
  // It is opened anew, and may paint again.
  const answered = () => page.evaluate(() => [window.longview.engine.verdict?.engine, ...[...window.longview.engine.attentions.values()].map(({ length }) => length)]);
  await expect.poll(answered).toEqual(["gpu", 160]);
  await session.send("Browser.crashGpuProcess");
  await page.evaluate(() => window.view.store.set({ length: 170 }));
  const shown = () => page.evaluate(() => window.heats.map(({ figure, values, bitmap }) => [figure.length, values.length > 0, bitmap]));
  await expect.poll(shown).toEqual([[170, true, null], [170, true, null]]);
  await expect.poll(() => page.evaluate(() => window.longview.engine.verdict?.engine)).toBe("cpu");
  const head = canvas("attention", "head");
  await page.locator(head).scrollIntoViewIfNeeded();
  await expect.poll(async () => (await picture(page, head)).colours).toBeGreaterThan(60);
});
