// What goes wrong outside must be said, and the rest must go on.
import { mkdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { canvas, control, expect, open, picture, results, root, state, test, told } from "./fixtures.js";

const MAX = 256;
const start = (more = {}) => ({ encoding: "alibi", engine: "cpu", length: 64, max: MAX, ...more });

const alibi = () => readFileSync(join(root, "www/checkpoints/alibi.safetensors"));
const broken = {
  truncated: { body: () => alibi().subarray(0, 10_000), says: /truncated|short|incomplete|end/i },
  foreign: { body: () => Buffer.from("<!doctype html><title>Not here</title>"), says: /not a|safetensors/i },
  empty: { body: () => Buffer.alloc(0), says: /empty|short|not a|truncated/i },
};

/** The other models still run, and the pictures still draw. */
async function restWorks(page) {
  await expect.poll(async () => (await results(page)).some((point) => point.encoding === "rotary")).toBe(true);
  const before = await picture(page, canvas("alibi", "matrices"));
  await page.locator(control("heads")).press("ArrowLeft");
  await expect.poll(async () => (await picture(page, canvas("alibi", "matrices"))).hash).not.toBe(before.hash);
  expect((await results(page)).some((point) => point.encoding === "alibi")).toBe(false);
}

test("a checkpoint that is oversized is named", async ({ page }) => {
  // Too large for route.fulfill(): a file of its own, mostly a hole, from the same server.
  mkdirSync(join(root, "out"), { recursive: true });
  const file = join(root, "out/oversized.bin");
  writeFileSync(file, alibi());
  truncateSync(file, 9 << 20);
  await page.route("**/alibi.safetensors", (route) => route.continue({ url: new URL("out/oversized.bin", process.env.LONGVIEW_URL).href }));
  await open(page, start(), "picture");
  await expect.poll(() => told(page)).toMatch(/alibi.*larger than the limit of/i);
  await restWorks(page);
  rmSync(file);
});

for (const [kind, { body, says }] of Object.entries(broken)) {
  test(`a checkpoint that is ${kind} is named`, async ({ page }) => {
    await page.route("**/alibi.safetensors", (route) =>
      route.fulfill({ contentType: "application/octet-stream", body: body() }),
    );
    await open(page, start(), "picture");
    await expect.poll(() => told(page)).toMatch(/alibi/i);
    await expect.poll(() => told(page)).toMatch(says);
    await restWorks(page);
  });
}

test.describe("downloads", () => {
  test.use({ expectedFailures: [[/alibi\.safetensors/, /persuasion\.txt/, /tokenizer\.json/]] });

  test("a missing checkpoint is named", async ({ page }) => {
    await page.route("**/alibi.safetensors", (route) => route.fulfill({ status: 404, body: "no such file" }));
    await open(page, start(), "picture");
    await expect.poll(() => told(page)).toMatch(/alibi/i);
    await expect.poll(() => told(page)).toMatch(/404|not found/i);
    await restWorks(page);
  });

  test("a broken connection is named", async ({ page }) => {
    await page.route("**/alibi.safetensors", (route) => route.abort("connectionreset"));
    await open(page, start(), "picture");
    await expect.poll(() => told(page)).toMatch(/alibi/i);
    await restWorks(page);
  });

  for (const file of ["persuasion.txt", "tokenizer.json"]) {
    test(`without ${file} the pictures still draw`, async ({ page }) => {
      await page.route(`**/${file}`, (route) => route.fulfill({ status: 404, body: "no such file" }));
      await open(page, start(), "picture");
      await expect.poll(() => told(page)).toContain(file);
      const before = await picture(page, canvas("alibi", "matrices"));
      await page.locator(control("heads")).press("ArrowLeft");
      await expect.poll(async () => (await picture(page, canvas("alibi", "matrices"))).hash).not.toBe(before.hash);
    });
  }
});

test.describe("a short text", () => {
  test.use({ textCharacters: 300 });

  test("a text too short for the length is said, and shorter lengths are measured", async ({ page }) => {
    await open(page, start({ length: 16 }));
    await expect.poll(() => told(page)).toMatch(/short/i);
    await expect.poll(() => told(page)).toMatch(/persuasion/i);
    expect((await picture(page, canvas("alibi", "matrices"))).colours).toBeGreaterThan(8);
  });
});

const parameters = [
  { name: "encoding", value: "banana", says: /banana/, becomes: /^(none|learned|sinusoidal|rotary|t5_bias|alibi)$/ },
  { name: "heads", value: "NaN", says: /NaN/ },
  { name: "heads", value: "0", says: /0/, becomes: /^1$/ },
  { name: "heads", value: "99", says: /99/, becomes: /^64$/ },
  { name: "heads", value: "2.5", says: /2\.5/ },
  { name: "length", value: "", says: /empty/ },
  { name: "length", value: "15", says: /15/, becomes: /^16$/ },
  { name: "length", value: "1e9", says: /1e9/, becomes: /^4096$/ },
  { name: "layer", value: "-1", says: /-1/, becomes: /^0$/ },
  { name: "head", value: "1000", says: /1000/ },
  { name: "engine", value: "abacus", says: /abacus/, becomes: /^auto$/ },
  { name: "text", value: "<b>bible</b>", says: /<b>bible<\/b>/ },
  { name: "nonsense", value: "1", says: /nonsense/ },
];

for (const { name, value, says, becomes } of parameters) {
  test(`the address's ${name}=${value || "(empty)"} is said and mended`, async ({ page }) => {
    await open(page, { ...start(), [name]: value }, "picture");
    await expect.poll(() => told(page)).toContain(name);
    await expect.poll(() => told(page)).toMatch(says);
    if (becomes) expect(String((await state(page))[name])).toMatch(becomes);
    expect((await picture(page, canvas("alibi", "matrices"))).colours).toBeGreaterThan(8);
    // A value from the address is text, never markup.
    expect(await page.locator(".messages b").count()).toBe(0);
  });
}

test("a GPU that never answers leads to the CPU", async ({ page }) => {
  // The worker's navigator gets a GPU whose adapter is promised and never comes.
  const silent = `Object.defineProperty(navigator, "gpu", { value: { requestAdapter: () => new Promise(() => {}) } });\n`;
  const body = silent + readFileSync(join(root, "pkg/worker.js"), "utf8");
  await page.route("**/pkg/worker.js", (route) => route.fulfill({ contentType: "text/javascript", body }));
  await page.clock.install();
  await open(page, start({ engine: "auto" }), "picture");
  // The minute begins when the worker looks for the GPU, which on a busy machine is a while after the first picture.
  const isWaiting = () => page.evaluate(() => Boolean(window.longview.engine.startTimer));
  await expect.poll(() => page.clock.runFor(200).then(isWaiting)).toBe(true);
  const worker = page.waitForEvent("worker");
  // A sleep is no waiting: the timers come due at once then, and the GPU has had no time.
  await page.clock.fastForward(3_600_000);
  expect(await isWaiting()).toBe(true);
  expect(await told(page)).toBe("");
  await page.clock.runFor(61_000);
  await worker;
  await expect.poll(() => told(page)).toMatch(/did not answer for a minute.*CPU/);
  await expect(page.locator("longview-perplexity .engine")).toHaveAttribute("data-engine", "cpu");
  await expect.poll(async () => (await results(page)).length).toBeGreaterThan(0);
});
