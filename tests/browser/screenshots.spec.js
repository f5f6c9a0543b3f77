// The whole page at two widths, with every picture drawn: nothing sticks out, and a picture for people to look at.
import { canvas, expect, open, picture, results, test } from "./fixtures.js";

const PICTURES = [
  canvas("alibi", "matrices"),
  canvas("attention", "heads"),
  canvas("attention", "distance"),
  canvas("perplexity", "perplexity"),
  canvas("compare", "attention_left"),
];

for (const width of [1400, 390]) {
  test(`the page at ${width} px`, async ({ page }, info) => {
    await page.setViewportSize({ width, height: 900 });
    await open(page, { encoding: "alibi", engine: "cpu", length: 256, max: 512 });
    await expect.poll(async () => (await results(page)).filter((point) => point.length === 512).length).toBeGreaterThan(4);
    // Pictures are drawn when they come into view.
    for (const which of PICTURES) {
      await page.locator(which).scrollIntoViewIfNeeded();
      await expect.poll(async () => (await picture(page, which)).colours, which).toBeGreaterThan(8);
      expect((await picture(page, which)).width, which).toBeGreaterThan(200);
    }
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(overflow, "nothing sticks out sideways").toBeLessThanOrEqual(0);
    await page.evaluate(() => scrollTo(0, 0));
    const path = info.outputPath(`page-${width}.png`);
    await page.screenshot({ path, fullPage: true });
    await info.attach(`page-${width}`, { path, contentType: "image/png" });
  });
}
