// Screens of all kinds: how fine they are, zoom, and how large a picture may be.
import { expect, open, test } from "./fixtures.js";
import { document, drawn, goTo, serve } from "./host.js";

const start = { encoding: "alibi", engine: "cpu", max: 256, length: 64 };
const script = `<script type="module" src="${process.env.LONGVIEW_URL}pkg/longview.js"></script>`;

/** Of every canvas in sight: its size in CSS px and in its own pixels, and its number of colours. */
const canvases = (page) =>
  page.evaluate(() => {
    const roots = [...document.querySelectorAll("*")].flatMap(({ shadowRoot }) => (shadowRoot ? [shadowRoot] : []));
    return roots.flatMap((root) => [...root.querySelectorAll("figure[data-drawn]:not([hidden]) canvas")]).map((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const { clientWidth, clientHeight, width, height } = canvas;
      return { clientWidth, clientHeight, width, height, colours: new Set(new Uint32Array(data.buffer)).size };
    });
  });

async function expectSharp(page, ratio) {
  // On a small screen the first picture is further down.
  await goTo(page.locator("figure.chart").first());
  await expect.poll(async () => (await canvases(page)).length).toBeGreaterThan(0);
  await expect.poll(async () => (await canvases(page))[0].width / (await canvases(page))[0].clientWidth).toBeCloseTo(ratio, 1);
  for (const one of await canvases(page)) {
    expect(one.width).toBe(Math.round(one.clientWidth * ratio));
    expect(one.height).toBe(Math.round(one.clientHeight * ratio));
    expect(one.colours, "colours").toBeGreaterThan(3);
  }
}

/** Nothing is wider than the screen, and what stays in sight leaves room for the rest. */
async function expectRoom(page) {
  const { scroll, inner, bar, height } = await page.evaluate(() => {
    const bar = document.querySelector(".bar");
    const isSticky = bar && getComputedStyle(bar).position === "sticky";
    const [{ scrollWidth: scroll }, inner, height] = [document.documentElement, innerWidth, innerHeight];
    return { scroll, inner, bar: isSticky ? bar.getBoundingClientRect().height : 0, height };
  });
  expect(scroll, "width of the page").toBeLessThanOrEqual(inner);
  expect(bar, "height of the bar").toBeLessThan(0.6 * height);
}

for (const ratio of [1, 1.25, 2, 3]) {
  test.describe(`${ratio} pixels a CSS px`, () => {
    test.use({ deviceScaleFactor: ratio, viewport: { width: 1000, height: 800 } });
    test("pictures have the screen's own pixels", async ({ page }) => {
      await open(page, start, "picture");
      await expectSharp(page, ratio);
    });
  });
}

// A browser that is zoomed has fewer and larger CSS px.
for (const zoom of [0.5, 0.67, 1.5, 2, 4]) {
  test.describe(`a zoom of ${100 * zoom} %`, () => {
    const [width, height] = [1280, 900].map((px) => Math.round(px / zoom));
    test.use({ deviceScaleFactor: zoom, viewport: { width, height } });
    test("nothing is cut off, and pictures stay sharp", async ({ page }) => {
      await open(page, start, "picture");
      await expectSharp(page, zoom);
      await expectRoom(page);
    });
  });
}

test("a window that comes to a finer screen is drawn anew", async ({ page }) => {
  await page.setViewportSize({ width: 1000, height: 800 });
  await open(page, start, "picture");
  await expectSharp(page, 1);
  const devtools = await page.context().newCDPSession(page);
  for (const ratio of [2, 1.5]) {
    await devtools.send("Emulation.setDeviceMetricsOverride", { width: 1000, height: 800, deviceScaleFactor: ratio, mobile: false });
    await expectSharp(page, ratio);
  }
});

test("a phone of 320 px shows all of the page", async ({ browser, baseURL }) => {
  const context = await browser.newContext({ viewport: { width: 320, height: 568 }, deviceScaleFactor: 3, isMobile: true, hasTouch: true, baseURL });
  const page = await context.newPage();
  await open(page, start, "picture");
  await expectSharp(page, 3);
  await expectRoom(page);
  await context.close();
});

test("a picture that is too large for a canvas gets fewer pixels, not none", async ({ browser }) => {
  const host = await serve({ pages: { "/host.html": document('<div style="width: 12000px"><longview-alibi heads="4" length="64"></longview-alibi></div>', script) } });
  const context = await browser.newContext({ viewport: { width: 1000, height: 800 }, deviceScaleFactor: 4 });
  const page = await context.newPage();
  await page.goto(`${host.origin}/host.html`);
  await drawn(page.locator("longview-alibi"));
  const [first] = await canvases(page);
  expect(first.clientWidth).toBe(8192);
  expect(first.width * first.height).toBeLessThanOrEqual(4096 * 4096 + first.width + first.height);
  expect(Math.max(first.width, first.height)).toBeLessThanOrEqual(16_384);
  await expect(page.locator("longview-alibi .messages p")).toHaveCount(0);
  await context.close();
  await host.close();
});

test("a host page that is written from right to left leaves the view as it is", async ({ page }) => {
  const look = async (direction) => {
    const host = await serve({ pages: { "/host.html": document(`<div dir="${direction}" style="width: 800px"><longview-alibi heads="4" length="64" lang="en"></longview-alibi></div>`, script) } });
    await page.goto(`${host.origin}/host.html`);
    const element = page.locator("longview-alibi");
    await drawn(element);
    const places = await element.evaluate((one) => {
      const from = one.getBoundingClientRect().left;
      const place = (found) => {
        const { left, width } = found.getBoundingClientRect();
        return [found.tagName, Math.round(left - from), Math.round(width)];
      };
      return [...one.shadowRoot.querySelectorAll("h2, h3, label, input, button, canvas")].map(place);
    });
    await host.close();
    return places;
  };
  expect(await look("rtl")).toEqual(await look("ltr"));
});
