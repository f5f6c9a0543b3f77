// Every view as a reader meets it: drawn, read out, by pointer and keyboard, and its numbers checked against formulas
// written out here.
import { expect, open, picture, state, test, told } from "./fixtures.js";

const L = 128;
const VIEWS = {
  none: ["mask"],
  learned: ["table", "similarity", "offsets"],
  sinusoidal: ["table", "waves", "similarity", "offsets", "counter"],
  rotary: ["dials", "scores", "decay", "wavelengths", "table", "methods"],
  "t5-bias": ["buckets", "matrix"],
  alibi: ["matrices", "slopes", "softmax"],
  methods: ["bias", "methods"],
  attention: ["heads", "head", "distance", "context"],
  perplexity: ["perplexity", "windows", "position", "paper"],
  compare: ["attention_left", "attention_right", "distance_left", "distance_right", "perplexity"],
};
const view = (name, more = {}) => ({ view: name.replace("-", "_"), engine: "cpu", max: 256, ...more });
const chart = (page, name, id) => page.locator(`longview-${name} [data-chart="${id}"]`);
const canvas = (page, name, id) => chart(page, name, id).locator("canvas");
const control = (page, name, property) => page.locator(`longview-${name} [data-control="${property}"] input`);

/** What the chart says of a place, in shares of its canvas. */
async function readAt(page, name, id, right, down) {
  const target = canvas(page, name, id);
  await target.scrollIntoViewIfNeeded();
  await expect(chart(page, name, id)).toHaveAttribute("data-drawn", "true");
  const { width, height } = await target.boundingBox();
  await target.hover({ position: { x: width * right, y: height * down } });
  return chart(page, name, id).locator(".readout").textContent();
}

/** The numbers in a readout, with a true minus sign. */
const numbersOf = (text) => [...text.replaceAll("−", "-").replaceAll("\u202f", "").matchAll(/-?\d+(?:\.\d+)?(?:e-?\d+)?/g)].map(Number);
/** Reads at several places until one names something. */
async function readSomewhere(page, name, id, places) {
  for (const [right, down] of places) {
    const text = await readAt(page, name, id, right, down);
    if (text && !/masked/.test(text)) return text;
  }
  throw new Error(`nothing is named in ${name} ${id}`);
}
const GRID = [0.3, 0.45, 0.55, 0.7, 0.85].flatMap((down) => [0.2, 0.35, 0.5, 0.62].map((right) => [right, down]));

for (const [name, charts] of Object.entries(VIEWS)) {
  test(`the view ${name} draws every picture, names it, and sums it up`, async ({ page }) => {
    await open(page, view(name, { length: 256 }), "picture");
    for (const id of charts) {
      await canvas(page, name, id).scrollIntoViewIfNeeded();
      const colours = async () => (await picture(page, `longview-${name} [data-chart="${id}"] canvas`)).colours;
      await expect.poll(colours, `${name} ${id}`).toBeGreaterThan(6);
      await expect(chart(page, name, id).locator(".summary"), id).not.toBeEmpty();
      await expect(canvas(page, name, id)).toHaveAttribute("aria-label", /\S/);
      await chart(page, name, id).locator(".numbers summary").click();
      if (!(await chart(page, name, id).locator("table").count())) await chart(page, name, id).locator(".numbers summary").click();
      await expect.poll(() => chart(page, name, id).locator("thead th").count(), id).toBeGreaterThan(1);
    }
    expect(await told(page)).toBe("");
  });
}

test("readouts say the formulas' numbers", async ({ page }) => {
  await open(page, view("alibi", { heads: 12, length: 200 }), "picture");
  const [query, key, head, bias] = numbersOf(await readSomewhere(page, "alibi", "matrices", GRID));
  const slopes = [...[1, 2, 3, 4, 5, 6, 7, 8].map((h) => 2 ** -h), ...[1, 3, 5, 7].map((h) => 2 ** (-h / 2))];
  expect(bias).toBeCloseTo(-slopes[head] * (query - key), 1);

  await open(page, view("sinusoidal", { length: 200, dimensions: 64, layout: "halves" }), "picture");
  const [position, dimension, value] = numbersOf(await readSomewhere(page, "sinusoidal", "table", GRID));
  const wave = position / 10000 ** ((2 * (dimension % 32)) / 64);
  expect(value).toBeCloseTo(dimension < 32 ? Math.sin(wave) : Math.cos(wave), 2);

  await open(page, view("rotary", { query: 300, key: 20, rotated: 16 }), "picture");
  const said = numbersOf(await readSomewhere(page, "rotary", "dials", GRID));
  const wavelength = 2 * Math.PI * 10000 ** ((2 * said[0]) / 16);
  expect(said[3] / wavelength).toBeCloseTo(1, 2);

  await open(page, view("t5-bias", { length: 512, buckets: 16, max_distance: 64 }), "picture");
  const [q, k, distance, bucket] = numbersOf(await readSomewhere(page, "t5-bias", "matrix", GRID));
  expect(distance).toBe(q - k);
  const far = Math.min(15, 8 + Math.trunc((Math.log(distance / 8) / Math.log(64 / 8)) * 8 + 1e-9));
  expect(bucket).toBe(distance < 8 ? distance : far);
});

test("the table under a picture holds the numbers of the formula", async ({ page }) => {
  await open(page, view("t5-bias"), "picture");
  const rows = chart(page, "t5-bias", "buckets").locator("tbody tr");
  await expect(rows).toHaveCount(32);
  const firsts = await rows.locator("td:nth-child(2)").allTextContents();
  expect(firsts.slice(16).map(Number)).toEqual([16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]);
});

test("a picture is read by keyboard, and the next plot is a key away", async ({ page }) => {
  await open(page, view("alibi", { heads: 4, length: 64 }), "picture");
  const target = canvas(page, "alibi", "matrices");
  await target.focus();
  await target.press("ArrowDown");
  const output = chart(page, "alibi", "matrices").locator(".readout");
  await expect(output).toHaveAttribute("aria-live", "polite");
  const first = numbersOf(await output.textContent());
  await target.press("ArrowDown");
  const second = numbersOf(await output.textContent());
  expect(second[0], "one arrow is one query").toBe(first[0] + 1);
  await target.press("PageDown");
  await expect(output).toContainText("head 1");
  await target.press("Escape");
  await expect(output).toBeEmpty();
});

test("all controls are reached by Tab, and show it", async ({ page }) => {
  await open(page, view("sinusoidal"), "picture");
  const seen = new Set();
  for (let step = 0; step < 60; step++) {
    await page.keyboard.press("Tab");
    const found = await page.evaluate(() => {
      let active = document.activeElement;
      while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
      const style = getComputedStyle(active);
      const box = active.closest("[data-control]")?.dataset.control ?? active.closest("[data-chart]")?.dataset.chart;
      return { box, isVisible: style.outlineStyle !== "none" || active.matches(".chip input") || getComputedStyle(active.closest(".chip") ?? active).outlineStyle !== "none" };
    });
    if (found.box) {
      seen.add(found.box);
      expect(found.isVisible, found.box).toBe(true);
    }
  }
  for (const name of ["length", "dimensions", "layout", "base", "waves", "measure", "table", "similarity", "counter"]) expect([...seen]).toContain(name);
});

test("sliders say their value in words", async ({ page }) => {
  await open(page, view("alibi", { length: 256 }), "picture");
  await expect(control(page, "alibi", "length")).toHaveAttribute("aria-valuetext", "256 tokens, 2 times the trained length");
});

test("the hands of a clock can be dragged", async ({ page }) => {
  await open(page, view("rotary", { query: 0, key: 40 }), "picture");
  const target = canvas(page, "rotary", "dials");
  await expect(chart(page, "rotary", "dials")).toHaveAttribute("data-drawn", "true");
  // The mouse reaches what is on the screen only.
  await target.scrollIntoViewIfNeeded();
  const plots = await page.evaluate(() => {
    const inside = document.querySelector("longview-rotary");
    return inside.view.charts.find((one) => one.definition.id === "dials").geometry.plots;
  });
  // Pair 5 turns slowly: a quarter of its turn is a whole number of tokens to within one.
  const plot = plots[5];
  const box = await target.boundingBox();
  const [x, y, r] = [box.x + plot.x + plot.width / 2, box.y + plot.y + plot.height / 2, plot.width * 0.4];
  await page.mouse.move(x, y - r);
  await page.mouse.down();
  for (let step = 1; step <= 10; step++) await page.mouse.move(x + r * Math.sin((step * Math.PI) / 20), y - r * Math.cos((step * Math.PI) / 20));
  await page.mouse.up();
  const quarter = (2 * Math.PI * 10000 ** (10 / 24)) / 4;
  const { query, key } = await state(page);
  expect(Math.abs(query - quarter)).toBeLessThan(4);
  expect(key).toBe(40);
});

test.describe("by finger", () => {
  test.use({ hasTouch: true, viewport: { width: 390, height: 700 } });
  test("a hand that is taken turns, and elsewhere the page scrolls", async ({ page }) => {
    await open(page, view("rotary", { query: 0, key: 40 }), "picture");
    const target = canvas(page, "rotary", "dials");
    await target.scrollIntoViewIfNeeded();
    await expect(chart(page, "rotary", "dials")).toHaveAttribute("data-drawn", "true");
    const plot = await page.evaluate(() => document.querySelector("longview-rotary").view.charts[0].geometry.plots[5]);
    await page.evaluate((y) => scrollTo(0, document.querySelector("longview-rotary").shadowRoot.querySelector("canvas").getBoundingClientRect().top + scrollY + y - 200), plot.y);
    const box = await target.boundingBox();
    const [x, y, r] = [box.x + plot.x + plot.width / 2, box.y + plot.y + plot.height / 2, plot.width * 0.42];
    const client = await page.context().newCDPSession(page);
    const touch = (type, ...points) => client.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([px, py]) => ({ x: px, y: py })) });
    const before = await page.evaluate(() => scrollY);
    await touch("touchStart", [x, y - r]);
    for (let step = 1; step <= 10; step++) await touch("touchMove", [x + r * Math.sin((step * Math.PI) / 20), y - r * Math.cos((step * Math.PI) / 20)]);
    await touch("touchEnd");
    const quarter = (2 * Math.PI * 10000 ** (10 / 24)) / 4;
    expect(Math.abs((await state(page)).query - quarter)).toBeLessThan(6);
    expect(await page.evaluate(() => scrollY), "a drag does not scroll").toBe(before);

    const { query, key } = await state(page);
    // The middle of a dial holds no hand.
    await touch("touchStart", [x, y]);
    for (let step = 1; step <= 10; step++) await touch("touchMove", [x, y - step * 15]);
    await touch("touchEnd");
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(before + 60);
    expect(await state(page)).toMatchObject({ query, key });
  });
});

test("a list of slopes is checked, and says which head is off", async ({ page }) => {
  await open(page, view("alibi", { heads: 8 }), "picture");
  const field = page.locator('longview-alibi [data-control="slopes"] textarea');
  const problem = page.locator('longview-alibi [data-control="slopes"] .problem');
  await field.fill("0.5, 0.25, banana");
  await expect(problem).toContainText(/slope 3.*banana/i);
  await expect(field).toHaveAttribute("aria-invalid", "true");
  await field.fill("0.5");
  // One slope is a fine list for one head.
  await expect(problem).toBeEmpty();
  expect((await state(page)).heads).toBe(1);
  await field.fill("1/2 1/4 1/8 0.05 1/32 1/64 1/128 2^-8");
  expect((await state(page)).heads).toBe(8);
  await expect(problem).toBeEmpty();
  await expect(chart(page, "alibi", "slopes").locator(".summary")).toContainText(/head 3.*0\.05.*1\/16/);
  await control(page, "alibi", "heads").press("ArrowRight");
  await expect(problem).toContainText("8 slopes for 9 heads");
  await page.goto(`?${new URLSearchParams(view("alibi", { heads: 2, slopes: "0.5,Infinity" }))}`);
  await expect(problem).toContainText(/slope 2.*Infinity/i);
});

test("a small picture of a head opens it, and its tokens are named", async ({ page }) => {
  await open(page, view("attention", { length: 64 }));
  await expect.poll(async () => (await picture(page, 'longview-attention [data-chart="heads"] canvas')).colours).toBeGreaterThan(20);
  const plots = await page.evaluate(() => document.querySelector("longview-attention").view.charts[0].geometry.plots);
  const plot = plots[6];
  await canvas(page, "attention", "heads").click({ position: { x: plot.x + plot.width / 2, y: plot.y + plot.height / 2 } });
  expect(await state(page)).toMatchObject({ layer: 1, head: 2 });
  const text = await readSomewhere(page, "attention", "head", GRID);
  expect(text).toMatch(/Query “.+”, key “.+”; strongest keys: “.+” 0?\.\d+/);
  expect(text).toMatch(/layer 1, head 2/);
});

test("attention's rows sum to one in the picture's own numbers", async ({ page }) => {
  await open(page, view("attention", { length: 64, encoding: "rotary" }));
  const sums = () => page.evaluate(() => {
    const { values, figure } = document.querySelector("longview-attention").view.charts[1];
    return Array.from({ length: values.length / figure.side }, (_, row) => values.subarray(row * figure.side, (row + 1) * figure.side).reduce((sum, weight) => sum + weight, 0));
  });
  await expect.poll(async () => (await sums()).length).toBe(64);
  for (const sum of await sums()) expect(sum).toBeCloseTo(1, 4);
});

test("attention comes back after positions that have none", async ({ page }) => {
  await open(page, view("attention", { encoding: "learned", length: 128 }));
  const has = () => page.evaluate(() => document.querySelector("longview-attention").view.charts[1].values.length > 0);
  await expect.poll(has).toBe(true);
  await control(page, "attention", "length").press("ArrowRight");
  await expect(page.locator("longview-attention .view > .notes")).toContainText("Undefined: no row past 128");
  await expect(chart(page, "attention", "head")).toBeHidden();
  await control(page, "attention", "length").press("ArrowLeft");
  await expect(chart(page, "attention", "head")).toBeVisible();
  await expect.poll(has).toBe(true);
});

test("a maximum distance below the buckets is raised, and said", async ({ page }) => {
  await open(page, view("t5-bias", { buckets: 64, max_distance: 8 }), "picture");
  await expect(page.locator("longview-t5-bias .notes")).toContainText("above 32; 33 is used");
  await expect(chart(page, "t5-bias", "buckets")).toHaveAttribute("data-drawn", "true");
  expect(await told(page)).toBe("");
});

test("sentences follow the controls also where a picture is out of sight", async ({ page }) => {
  await page.setViewportSize({ width: 900, height: 400 });
  await open(page, view("alibi", { heads: 8 }), "picture");
  await expect(chart(page, "alibi", "softmax").locator(".summary")).toContainText("8 heads");
  await control(page, "alibi", "heads").press("ArrowLeft");
  await expect(chart(page, "alibi", "softmax").locator(".summary")).toContainText("7 heads");
});

test("the ratio divides by the value at L", async ({ page }) => {
  await open(page, view("perplexity", { encoding: "alibi", encodings: "alibi" }));
  await expect.poll(() => page.evaluate(() => window.longview.results().some(({ length }) => length === 256))).toBe(true);
  await expect.poll(() => page.evaluate(() => document.querySelector("longview-perplexity").view.data.run.isFinished)).toBe(true);
  await page.locator('longview-perplexity [data-control="ratio"] input').check();
  await chart(page, "perplexity", "perplexity").locator(".numbers summary").click();
  const points = await page.evaluate(() => window.longview.results().filter(({ encoding }) => encoding === "alibi"));
  const at = points.find(({ length }) => length === L).perplexity;
  const cells = chart(page, "perplexity", "perplexity").locator("tbody tr");
  await expect(cells).toHaveCount(points.length);
  for (const [index, point] of points.entries()) {
    expect(Number(await cells.nth(index).locator("td").nth(1).textContent())).toBeCloseTo(point.perplexity / at, 3);
  }
});

test("play grows the length from L/4 to the longest and comes back", async ({ page }) => {
  await open(page, view("none"), "picture");
  await page.evaluate(() => {
    window.lengths = [];
    document.addEventListener("longview-change", ({ detail }) => detail.length && window.lengths.push(detail.length));
  });
  await page.locator("longview-none .play").click();
  await expect.poll(() => page.evaluate(() => window.lengths.at(-1) === 32 && window.lengths.length > 2), { timeout: 60_000 }).toBe(true);
  const lengths = await page.evaluate(() => window.lengths);
  expect(lengths[0]).toBe(32);
  expect(Math.max(...lengths)).toBe(4096);
  expect(lengths.length).toBeGreaterThan(100);
});

test.describe("with reduced motion", () => {
  test.use({ contextOptions: { reducedMotion: "reduce" } });
  test("play jumps by powers of two, and stops when asked", async ({ page }) => {
    await open(page, view("none"), "picture");
    await page.locator("longview-none .play").click();
    await expect.poll(async () => (await state(page)).length).toBe(64);
    await page.locator("longview-none .play").click();
    const { length } = await state(page);
    await page.waitForTimeout(1500);
    expect((await state(page)).length).toBe(length);
  });
});

test("readers who ask for contrast get it", async ({ page }) => {
  await open(page, view("alibi"), "picture");
  const which = 'longview-alibi [data-chart="slopes"] canvas';
  await canvas(page, "alibi", "slopes").scrollIntoViewIfNeeded();
  await expect.poll(async () => (await picture(page, which)).colours).toBeGreaterThan(6);
  const before = await picture(page, which);
  await page.emulateMedia({ contrast: "more" });
  await expect.poll(async () => (await picture(page, which)).hash).not.toBe(before.hash);
});

test("on paper every picture is drawn, and no control is", async ({ page }) => {
  await open(page, view("sinusoidal"), "picture");
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  for (const id of VIEWS.sinusoidal) await expect(chart(page, "sinusoidal", id)).toHaveAttribute("data-drawn", "true");
  await expect(page.locator("longview-sinusoidal .controls").first()).toBeHidden();
  expect((await page.pdf()).length).toBeGreaterThan(50_000);
});

for (const name of [...Object.keys(VIEWS), "claims"]) {
  test(`the view ${name} fits 320 px`, async ({ page }) => {
    await page.setViewportSize({ width: 320, height: 640 });
    await open(page, view(name), "picture");
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow).toBeLessThanOrEqual(0);
  });
}

test("a thousand moves leave memory and page as they were", async ({ page }) => {
  await open(page, view("alibi", { heads: 16, length: 256 }), "picture");
  const count = () => page.evaluate(async () => {
    const { shadowRoot } = document.querySelector("longview-alibi");
    return { nodes: document.querySelectorAll("*").length + shadowRoot.querySelectorAll("*").length, bytes: await window.longview.memory() };
  });
  const move = (times) => page.evaluate(async (all) => {
    const { shadowRoot } = document.querySelector("longview-alibi");
    const [heads, length] = ["heads", "length"].map((name) => shadowRoot.querySelector(`[data-control="${name}"] input`));
    for (let step = 0; step < all; step++) {
      const input = step % 2 ? heads : length;
      input.value = String((step * 7) % (Number(input.max) + 1));
      input.dispatchEvent(new Event("input"));
      await new Promise(requestAnimationFrame);
    }
  }, times);
  await move(150);
  const before = await count();
  await move(1000);
  const after = await count();
  expect(after.nodes).toBe(before.nodes);
  expect(after.bytes).toBe(before.bytes);
});
