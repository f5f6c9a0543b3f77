// Taking pictures along: every kind of file, its name, what it says of itself, and its numbers.
import { readFileSync } from "node:fs";
import { expect, open, test } from "./fixtures.js";

const chart = (page, name, id) => page.locator(`longview-${name} [data-chart="${id}"]`);

async function save(page, name, id, item) {
  const menu = chart(page, name, id).locator(".menu");
  await menu.locator("summary").scrollIntoViewIfNeeded();
  await menu.locator("summary").click();
  const [download] = await Promise.all([page.waitForEvent("download"), menu.getByRole("button", { name: item, exact: true }).click()]);
  return { file: readFileSync(await download.path()), name: download.suggestedFilename() };
}

/** The chunks of a PNG: type and data. */
function chunks(png) {
  const found = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    found.push({ type: png.toString("latin1", at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) });
    at += 12 + length;
  }
  return found;
}

test("SVG: vectors, text as text, its settings inside", async ({ page }) => {
  await open(page, { view: "alibi", heads: 6, length: 64, engine: "cpu" }, "picture");
  const { file, name } = await save(page, "alibi", "slopes", "SVG");
  const text = file.toString("utf8");
  expect(name).toMatch(/^longview-alibi-slopes-heads6-.*length64.*\.svg$/);
  expect(text).toContain("<metadata>alibi_slopes heads=6");
  expect(text).toMatch(/<title>.+<\/title>\s*<desc>.*6 heads.*<\/desc>/);
  expect(text).toMatch(/<text[^>]*>\s*1\/16\s*<\/text>/);
  expect(text).toContain("<circle");
  // It is a picture to the browser too.
  const size = await page.evaluate(async (source) => {
    const image = new Image();
    image.src = URL.createObjectURL(new Blob([source], { type: "image/svg+xml" }));
    await image.decode();
    return image.naturalWidth;
  }, text);
  expect(size).toBeGreaterThan(200);
});

test("SVG of matrices holds their cells as images", async ({ page }) => {
  await open(page, { view: "alibi", heads: 3, length: 64, engine: "cpu" }, "picture");
  const { file } = await save(page, "alibi", "matrices", "SVG");
  expect(file.toString("utf8").match(/<image [^>]*href="data:image\/png;base64,[A-Za-z0-9+/=]+"/g)).toHaveLength(4);
});

test("PNG at once, twice and four times the size, saying what it shows", async ({ page }) => {
  await open(page, { view: "rotary", query: 70, key: 3, engine: "cpu" }, "picture");
  const width = await chart(page, "rotary", "wavelengths").locator(".canvas-box").evaluate((box) => box.clientWidth);
  for (const scale of [1, 2, 4]) {
    const { file, name } = await save(page, "rotary", "wavelengths", `PNG ${scale}×`);
    expect(name).toMatch(scale === 1 ? /\d\.png$/ : new RegExp(`@${scale}x\\.png$`));
    const [header, ...rest] = chunks(file);
    expect(header.type).toBe("IHDR");
    expect(header.data.readUInt32BE(0)).toBe(width * scale);
    const texts = rest.filter(({ type }) => type === "iTXt").map(({ data }) => data.toString("utf8"));
    expect(texts.join("\n")).toMatch(/Comment\0+wavelengths base=10000 d_head=24/);
    expect(texts.join("\n")).toMatch(/Description\0+.*12 pairs/);
    // The browser still reads it, its checksums included.
    const decoded = await page.evaluate(async (bytes) => (await createImageBitmap(new Blob([new Uint8Array(bytes)], { type: "image/png" }))).width, [...file]);
    expect(decoded).toBe(width * scale);
  }
});

test("CSV holds every number, the settings in its first line", async ({ page }) => {
  await open(page, { view: "alibi", heads: 12, length: 300, engine: "cpu" }, "picture");
  const { file, name } = await save(page, "alibi", "matrices", "CSV");
  expect(name).toMatch(/^longview-alibi-heads12-length300-.*\.csv$/);
  const [first, head, ...rows] = file.toString("utf8").trimEnd().split("\r\n");
  expect(first).toMatch(/^# Longview: alibi heads=12 length=300/);
  expect(head.split(",")).toHaveLength(13);
  expect(rows).toHaveLength(300);
  const last = rows.at(-1).split(",").map(Number);
  expect(last[0]).toBe(299);
  expect(last[1]).toBe(-299 / 2);
  expect(last[9]).toBeCloseTo(-299 * 2 ** -0.5, 9);
});

test("picture and numbers go to the clipboard", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, { view: "none", length: 32, engine: "cpu" }, "picture");
  const menu = chart(page, "none", "mask").locator(".menu");
  await menu.locator("summary").click();
  await menu.getByRole("button", { name: "Copy numbers (CSV)" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toContain("# Longview: none length=32");
  await menu.locator("summary").click();
  await menu.getByRole("button", { name: "Copy picture" }).click();
  await expect.poll(() => page.evaluate(async () => (await navigator.clipboard.read()).flatMap(({ types }) => types))).toContain("image/png");
});

test("files in Chinese say it in Chinese", async ({ page }) => {
  await open(page, { view: "t5_bias", lang: "zh-Hant", engine: "cpu" }, "picture");
  const { file } = await save(page, "t5-bias", "buckets", "SVG");
  expect(file.toString("utf8")).toMatch(/<text[^>]*>\s*桶\s*<\/text>/);
  const csv = (await save(page, "t5-bias", "buckets", "CSV")).file.toString("utf8");
  expect(csv).toContain("最小距離（token）");
});
