// The way a reader goes, in browsers that are not Chromium. They have no WebGPU here, so the CPU runs the models.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { test as base, expect } from "@playwright/test";
import { document as html, serve } from "../host.js";
import { start } from "./drivers.js";

const root = new URL("../../../", import.meta.url).pathname;
const LENGTHS = [16, 32, 64, 128, 256];
const text = [...readFileSync(join(root, "www/texts/persuasion.txt"), "utf8")].slice(0, 12_000).join("");

const test = base.extend({
  browserKind: ["firefox", { option: true, scope: "worker" }],
  /** The repository, with a short text. */
  site: [async ({}, use) => {
    const site = await serve({ pages: { "/pkg/assets/persuasion.txt": text, "/": readFileSync(join(root, "index.html"), "utf8") }, folders: { "/": root } });
    await use(site);
    await site.close();
  }, { scope: "worker" }],
  browser: [async ({ browserKind }, use) => {
    const browser = await start(browserKind);
    console.log(`${browserKind} ${await browser.version()}`);
    await use(browser);
    await browser.close();
  }, { scope: "worker" }],
  view: async ({ browser }, use) => {
    browser.errors.length = 0;
    await use(browser);
    expect(browser.errors, "errors in the console").toEqual([]);
  },
});

test.afterEach(async ({ browser }, info) => {
  await browser.screenshot(info.outputPath("page.png"));
});

/** Opens the page and waits for the first picture, or for the engine where something wants it. */
async function open(view, site, state, ready = /picture|engine/) {
  await view.goto(`${site.origin}/?${new URLSearchParams({ engine: "auto", max: 256, ...state })}`);
  await expect.poll(() => view.evaluate(() => document.documentElement.dataset.ready ?? "")).toMatch(ready);
}

/** Of the first drawn picture of an element: its colours, and a number that changes with it. */
const picture = (view, name) =>
  view.evaluate((name) => {
    const element = document.querySelector(name);
    const canvas = element?.shadowRoot?.querySelector("figure[data-drawn] canvas");
    element?.scrollIntoView();
    if (!canvas?.width) return { colours: 0, hash: 0 };
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const pixels = new Uint32Array(data.buffer);
    return { colours: new Set(pixels).size, hash: pixels.reduce((sum, pixel) => Math.imul(sum ^ pixel, 0x01000193) >>> 0, 0x811c9dc5) };
  }, name);

test("the numbers are the program's", async ({ view, site }) => {
  await open(view, site, { encodings: "alibi,rotary" }, /engine/);
  const verdict = await view.evaluate(() => window.longview.engine.verdict);
  expect(verdict).toMatchObject({ engine: "cpu", reason: "absent" });
  const isFinished = () => view.evaluate(() => [...window.longview.engine.runs.values()].some((run) => run.isFinished));
  await expect.poll(isFinished).toBe(true);
  const here = await view.evaluate(() => window.longview.results());
  const file = join(mkdtempSync(join(tmpdir(), "longview-")), "persuasion.txt");
  writeFileSync(file, text);
  for (const encoding of ["alibi", "rotary"]) {
    const checkpoint = join(root, `www/checkpoints/${encoding}.safetensors`);
    const output = execFileSync(process.env.LONGVIEW_PROGRAM, ["evaluate", "--checkpoint", checkpoint, "--text", file, "--length", LENGTHS.join(","), "--engine", "cpu", "--format", "json"]);
    for (const there of JSON.parse(output).points) {
      const point = here.find((one) => one.encoding === encoding && one.length === there.length);
      const which = `${encoding} at ${there.length}`;
      expect(point?.tokens, which).toBe(there.tokens);
      expect(Math.abs(point.perplexity / there.perplexity - 1), which).toBeLessThan(1e-4);
    }
  }
});

test("a slider moves by key, and the picture with it", async ({ view, site }) => {
  await open(view, site, { encoding: "alibi", heads: 8, length: 64 });
  await expect.poll(async () => (await picture(view, "longview-alibi")).colours).toBeGreaterThan(8);
  const before = await picture(view, "longview-alibi");
  await view.evaluate(() => document.querySelector('#bar [data-control="heads"] input').focus());
  await view.press("ArrowRight");
  await expect.poll(() => view.evaluate(() => window.longview.state().heads)).toBe(9);
  await expect.poll(async () => (await picture(view, "longview-alibi")).hash).not.toBe(before.hash);
  // The address follows a moment later: browsers limit how often it may change.
  await expect.poll(() => view.evaluate(() => location.search)).toContain("heads=9");
});

test("attention is drawn past the trained length, and read by key", async ({ view, site }) => {
  await open(view, site, { view: "attention", encoding: "rotary", length: 256 });
  await expect.poll(async () => (await picture(view, "longview-attention")).colours).toBeGreaterThan(8);
  await view.evaluate(() => document.querySelector("longview-attention").shadowRoot.querySelector("figure[data-drawn] canvas").focus());
  await view.press("ArrowRight");
  await view.press("ArrowRight");
  const readout = () => view.evaluate(() => document.querySelector("longview-attention").shadowRoot.querySelector(".readout").textContent);
  await expect.poll(readout).toMatch(/\d/);
});

test("it speaks Chinese, in the dark", async ({ view, site }) => {
  await open(view, site, { lang: "zh-Hant", theme: "dark" });
  const found = await view.evaluate(() => ({ heading: document.querySelector("h1").textContent, ground: getComputedStyle(document.body).backgroundColor, lang: document.documentElement.lang }));
  expect(found.heading).toMatch(/\p{Script=Han}/u);
  expect(found.lang).toBe("zh-Hant");
  expect(found.ground.match(/\d+/g).slice(0, 3).every((part) => Number(part) < 60), found.ground).toBe(true);
});

test("a picture is saved as PNG and SVG", async ({ view, site }) => {
  await open(view, site, { view: "alibi", length: 64 });
  await expect.poll(async () => (await picture(view, "longview-alibi")).colours).toBeGreaterThan(8);
  const asked = await view.evaluate(() => {
    window.saved = [];
    let blob;
    URL.createObjectURL = (given) => ((blob = given), "about:blank");
    HTMLAnchorElement.prototype.click = async function () {
      const [file, name] = [blob, this.download];
      window.saved.push({ name, start: [...new Uint8Array(await file.slice(0, 4).arrayBuffer())], size: file.size });
    };
    const buttons = [...document.querySelector("longview-alibi").shadowRoot.querySelector(".menu").querySelectorAll("button")];
    const wanted = buttons.filter(({ textContent }) => ["SVG", "PNG 2×"].includes(textContent));
    for (const button of wanted) button.click();
    return wanted.length;
  });
  expect(asked).toBe(2);
  await expect.poll(() => view.evaluate(() => window.saved.length)).toBe(2);
  const saved = await view.evaluate(() => window.saved);
  expect(saved.map(({ name }) => name.split(".").pop()).sort()).toEqual(["png", "svg"]);
  expect(saved.find(({ name }) => name.endsWith("png")).start).toEqual([0x89, 0x50, 0x4e, 0x47]);
  expect(saved.find(({ name }) => name.endsWith("svg")).size).toBeGreaterThan(1000);
});

test("asked for a GPU that is not there, it says so and goes on", async ({ view, site }) => {
  await open(view, site, { view: "perplexity", encodings: "alibi", engine: "gpu" });
  const said = () => view.evaluate(() => document.querySelector("longview-perplexity").shadowRoot.querySelector(".engine")?.textContent);
  await expect.poll(said).toMatch(/CPU runs the models/);
  await expect.poll(() => view.evaluate(() => window.longview.results().length)).toBeGreaterThan(0);
});

test("it stands in another site's page, as an element and as a sandboxed frame", async ({ view, site, browserKind }) => {
  // Some versions of WebKit (bug 316847, mended in June 2026) load nothing by 'self' where a frame has no origin.
  const sandbox = browserKind === "webkit" ? "allow-scripts allow-same-origin" : "allow-scripts";
  const body = `<longview-alibi heads="4" length="64"></longview-alibi>
    <iframe sandbox="${sandbox}" src="${site.origin}/index.html?view=perplexity&amp;encodings=alibi&amp;max=256&amp;engine=cpu&amp;controls=length&amp;embed=1" title="A view" width="900" height="700"></iframe>`;
  const host = await serve({ pages: { "/host.html": html(body, `<style>* { font-size: 40px !important; float: left; }</style><script type="module" src="${site.origin}/pkg/longview.js"></script>`) } });
  await view.goto(`${host.origin}/host.html`);
  await expect.poll(async () => (await picture(view, "longview-alibi")).colours).toBeGreaterThan(8);
  await view.evaluate(() => document.querySelector("iframe").scrollIntoView());
  await expect.poll(async () => (await view.inFrame("longview-perplexity")).length).toBe(1);
  await expect.poll(async () => (await view.inFrame("html[data-ready=engine]")).length).toBe(1);
  await host.close();
});

test("the offline file runs a model from a disk", async ({ view }) => {
  await view.goto(`${pathToFileURL(join(root, "out/longview.html"))}?view=perplexity&encodings=alibi&max=256&engine=cpu`);
  await expect.poll(() => view.evaluate(() => window.longview.results().length)).toBeGreaterThan(2);
  await expect.poll(async () => (await picture(view, "longview-perplexity")).colours).toBeGreaterThan(8);
});
