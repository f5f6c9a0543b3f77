// Views inside other people's pages: as elements and as frames.
import { expect, test } from "./fixtures.js";
import { RUN, document, drawn, hash, measured, serve } from "./host.js";

test.use({ textCharacters: 0 });

const SITE = process.env.LONGVIEW_URL;
const SCRIPT = `<script type="module" src="${SITE}pkg/longview.js"></script>`;
const frame = (query, more = "") => `<iframe sandbox="allow-scripts" src="${SITE}index.html?${query.replaceAll("&", "&amp;")}&amp;embed=1" title="A view" width="900" height="700" ${more}></iframe>`;

let host;
/** Opens a page of another origin with some HTML in it. */
async function put(page, body, head = "") {
  await host?.close();
  host = await serve({ pages: { "/host.html": document(body, head) } });
  await page.goto(`${host.origin}/host.html`);
}
test.afterEach(async () => {
  await host?.close();
  host = null;
});

const stateOf = (element) => element.evaluate((one) => one.state);
const framed = (page) => page.frameLocator("iframe");

test.describe("elements", () => {
  test("twenty of them share one engine, and those out of sight wait", async ({ page }) => {
    await page.addInitScript(() => {
      window.engines = 0;
      window.wanted = new Set();
      window.Worker = class extends Worker {
        postMessage(message, ...more) {
          // Helpers are told otherwise.
          if (message.kind === "start") window.engines += 1;
          if (message.kind === "want") window.wanted.add(message.id);
          if (message.kind === "drop") window.wanted.delete(message.id);
          super.postMessage(message, ...more);
        }
      };
    });
    const kinds = ["learned", "attention", "compare", "perplexity"];
    const all = Array.from({ length: 20 }, (_, index) => `<longview-${kinds[index % 4]} engine="cpu" length="64" max="64" style="min-height: 1200px"></longview-${kinds[index % 4]}>`);
    await put(page, all.join(""), SCRIPT);
    await drawn(page.locator("longview-learned").first());
    const last = page.locator("longview-perplexity").last();
    const [farthest, seen] = [last.locator("[data-drawn]"), page.locator("longview-learned").first().locator("[data-drawn]")];
    expect(await seen.count()).toBeGreaterThan(0);
    expect(await farthest.count(), "drawn though nobody has come to it").toBe(0);
    await expect.poll(() => page.evaluate(() => window.wanted.size)).toBeGreaterThan(0);
    const before = await page.evaluate(() => window.wanted.size);
    expect(before, "wants of views that nobody has come to").toBeLessThan(5);
    for (let index = 0; index < 20; index++) await drawn(page.locator("body > *").nth(index));
    await expect.poll(() => page.evaluate(() => window.wanted.size)).toBeGreaterThan(before);
    expect(await page.evaluate(() => window.engines)).toBe(1);
    await page.evaluate(() => window.document.body.replaceChildren());
    await expect.poll(() => page.evaluate(() => window.wanted.size)).toBe(0);
    // One that comes later finds the engine as it is.
    await page.evaluate((html) => (window.document.body.innerHTML = html), RUN);
    await measured(page);
    expect(await page.evaluate(() => window.engines)).toBe(1);
    const cores = await page.evaluate(() => navigator.hardwareConcurrency);
    expect(page.workers().length).toBeLessThanOrEqual(Math.max(cores, 1));
  });

  test("a changed attribute changes the view", async ({ page }) => {
    await put(page, '<longview-alibi heads="8" length="64" lang="en"></longview-alibi>', SCRIPT);
    const element = page.locator("longview-alibi");
    const canvas = await drawn(element);
    const before = await hash(canvas);
    await element.evaluate((one) => one.setAttribute("heads", "3"));
    await expect.poll(() => hash(canvas)).not.toBe(before);
    expect(await stateOf(element)).toMatchObject({ heads: 3, length: 64 });
    await element.evaluate((one) => one.removeAttribute("heads"));
    await expect.poll(() => hash(canvas)).toBe(before);
    await element.evaluate((one) => one.setAttribute("controls", "length"));
    await expect(element.locator("input[type=range]")).toHaveCount(1);
    await element.evaluate((one) => one.setAttribute("lang", "zh-Hant"));
    await expect(element.locator("h2")).toContainText(/\p{Script=Han}/u);
    await drawn(element);
  });

  test("a value that is not possible is told and mended", async ({ page }) => {
    await put(page, '<longview-alibi heads="999" length="many" lang="en"></longview-alibi>', SCRIPT);
    const element = page.locator("longview-alibi");
    await drawn(element);
    await expect(element.locator(".messages")).toContainText(/heads.*999.*64/);
    await expect(element.locator(".messages")).toContainText(/length.*many.*128/);
    expect(await stateOf(element)).toMatchObject({ heads: 64, length: 128 });
    await element.evaluate((one) => one.setAttribute("theme", "pink"));
    await expect(element.locator(".messages")).toContainText(/theme.*pink.*auto/);
  });

  test("the rules of the host page stay outside", async ({ page }) => {
    const look = async (head) => {
      await put(page, '<div style="width: 900px"><longview-alibi heads="4" length="64" lang="en"></longview-alibi></div>', `${SCRIPT}${head}`);
      const element = page.locator("longview-alibi");
      await drawn(element);
      return element.evaluate((one) => {
        const size = (query) => {
          const found = one.shadowRoot.querySelector(query);
          const { fontSize, letterSpacing, textTransform } = getComputedStyle(found);
          const { width, height } = found.getBoundingClientRect();
          return { query, fontSize, letterSpacing, textTransform, width, height };
        };
        return ["h2", ".explain", "label", "button", ".tools", "canvas", ".readout"].map(size);
      });
    };
    const plain = await look("");
    const hostile = await look("<style>html { font-size: 9px; } * { font-size: 40px !important; display: block; letter-spacing: 4px; text-transform: uppercase; line-height: 3; box-sizing: content-box !important; float: none; }</style>");
    expect(hostile).toEqual(plain);
  });
});

test.describe("frames", () => {
  const listen = "<script>window.heights = []; addEventListener('message', ({ data }) => data.type === 'longview:height' && heights.push(data));</script>";

  test("a frame tells its height, which follows its content", async ({ page }) => {
    await put(page, frame("view=alibi&heads=4&length=64&controls=heads"), listen);
    await drawn(framed(page).locator("longview-alibi"));
    const last = () => page.evaluate(() => window.heights.at(-1));
    const inside = () => page.frames()[1].evaluate(() => Math.ceil(document.documentElement.getBoundingClientRect().height));
    // Both are asked for again: what comes after the picture makes the page longer.
    await expect.poll(async () => (await last())?.height === (await inside())).toBe(true);
    expect(await last()).toMatchObject({ type: "longview:height", view: "alibi" });
    // The sentences come a moment after the pictures, and make the page longer.
    await expect.poll(() => framed(page).locator(".summary").evaluateAll((all) => all.every((one) => one.textContent))).toBe(true);
    const before = await inside();
    await framed(page).locator("details.numbers summary").first().click();
    await expect.poll(async () => (await last()).height).toBeGreaterThan(before + 50);
    await framed(page).locator("details.numbers summary").first().click();
    await expect.poll(async () => (await last()).height).toBe(before);
  });

  test("wheel and keys are the host page's", async ({ page }) => {
    // As high as its content, as the message allows; so there is nothing to scroll inside.
    const fit = "<script>addEventListener('message', ({ data }) => data.type === 'longview:height' && (document.querySelector('iframe').style.height = `${data.height}px`));</script>";
    await put(page, `<input>${frame("view=alibi&heads=4&length=64")}<div style="height: 3000px"></div>`, fit);
    const canvas = await drawn(framed(page).locator("longview-alibi"));
    const { x, y, width, height } = await canvas.boundingBox();
    await page.mouse.move(x + width / 2, y + height / 2);
    const before = await page.evaluate(() => scrollY);
    await page.mouse.wheel(0, 300);
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(before + 200);
    await page.locator("input").focus();
    for (const key of ["ArrowRight", "ArrowDown", "PageDown"]) await page.keyboard.press(key);
    expect(await page.frames()[1].evaluate(() => window.longview.state())).toMatchObject({ heads: 4, length: 64 });
    await expect(page.locator("input")).toBeFocused();
  });

  test("a model runs in a sandboxed frame of another origin", async ({ page }) => {
    await put(page, frame("view=perplexity&encodings=alibi&max=256&engine=cpu"));
    await drawn(framed(page).locator("longview-perplexity"));
    await measured(framed(page));
    expect(await page.frames()[1].evaluate(() => self.origin)).toBe("null");
  });

  test("the readout fits the pointer where the host page scales the frame", async ({ page }) => {
    const readouts = async (scale) => {
      const style = `style="border: 0; transform: scale(${scale}); transform-origin: 0 0"`;
      await put(page, frame("view=alibi&heads=2&length=64&lang=en", style), "<style>body { margin: 0; }</style>");
      const view = framed(page).locator("longview-alibi");
      const canvas = await drawn(view);
      // The frame stands in the corner; its own pixels are scaled on their way out.
      const { x, y, width, height } = await canvas.evaluate((one) => one.getBoundingClientRect().toJSON());
      const found = [];
      for (const [across, down] of [[0.2, 0.5], [0.3, 0.6], [0.7, 0.45]]) {
        await page.mouse.move((x + width * across) * scale, (y + height * down) * scale);
        await expect(view.locator(".readout").first()).not.toBeEmpty();
        found.push(await view.locator(".readout").first().textContent());
      }
      return found;
    };
    const plain = await readouts(1);
    expect(new Set(plain).size).toBeGreaterThan(1);
    expect(await readouts(0.5)).toEqual(plain);
  });

  test("only the controls that are asked for are shown", async ({ page }) => {
    for (const [controls, expected] of [["none", []], ["heads", ["heads"]], ["all", ["heads", "length"]]]) {
      await put(page, frame(`view=alibi&controls=${controls}&lang=en`));
      const view = framed(page).locator("longview-alibi");
      await drawn(view);
      await expect(view.locator("input[type=range]"), controls).toHaveCount(expected.length);
      await expect(view.locator(".share"), controls).toHaveCount(controls === "none" ? 0 : 1);
      await expect(framed(page).locator(".masthead")).toBeHidden();
    }
  });
});

test("what is shared shows the same: link, frame and element", async ({ page }) => {
  await page.goto(`${SITE}index.html?view=alibi&heads=8&length=64&lang=en`);
  const view = page.locator("longview-alibi");
  await drawn(view);
  await view.locator("input[type=range]").first().press("ArrowRight");
  await expect.poll(() => page.evaluate(() => window.longview.state().heads)).toBe(9);
  await view.locator(".share").click();
  const codes = await view.locator(".share-dialog textarea").evaluateAll((areas) => areas.map((area) => area.value));
  expect(codes).toHaveLength(3);
  const [link, iframe, element] = codes;
  const same = { heads: 9, length: 64, lang: "en" };

  await page.goto(link);
  await drawn(page.locator("longview-alibi"));
  expect(await page.evaluate(() => window.longview.state())).toMatchObject({ ...same, view: "alibi" });
  const title = await page.locator("longview-alibi h2").textContent();

  await put(page, element);
  await drawn(page.locator("longview-alibi"));
  expect(await stateOf(page.locator("longview-alibi"))).toMatchObject(same);

  await put(page, iframe);
  await drawn(framed(page).locator("longview-alibi"));
  expect(await page.frames()[1].evaluate(() => window.longview.state())).toMatchObject({ ...same, view: "alibi", embed: true });
  await expect(page.locator("iframe")).toHaveAttribute("title", title);
});
