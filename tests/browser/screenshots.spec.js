// Pictures of the whole page for people to look at; compared with nothing yet.
import { expect, open, picture, results, test } from "./fixtures.js";

for (const width of [1400, 390]) {
  test(`the page at ${width} px`, async ({ page }, info) => {
    await page.setViewportSize({ width, height: 900 });
    await open(page, { encoding: "alibi", engine: "cpu", length: 256, max: 512 });
    await expect.poll(async () => (await results(page)).filter((point) => point.length === 512).length).toBeGreaterThan(4);
    // Pictures are drawn when they come into view, so all of the page has to be in view.
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.setViewportSize({ width, height });
    await expect(page.locator("#progress")).toHaveJSProperty("value", 1);
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    for (const id of ["#figure-encoding", "#figure-attention", "#figure-distance", "#figure-perplexity"]) {
      const { colours, width: pixels } = await picture(page, id);
      expect(colours, id).toBeGreaterThan(8);
      expect(pixels, id).toBeGreaterThan(200);
    }
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    expect(overflow, "nothing sticks out sideways").toBeLessThanOrEqual(0);
    const path = info.outputPath(`page-${width}.png`);
    await page.screenshot({ path, fullPage: true });
    await info.attach(`page-${width}`, { path, contentType: "image/png" });
  });
}
