// A browser that cannot show what its GPU painted: here the GPU's process dies of it.
import { canvas, expect, open, picture, test } from "./fixtures.js";

test("where painting fails the models go on, and attention is drawn from its numbers", async ({ page, engine }) => {
  await open(page, { view: "attention", encoding: "alibi", engine, length: 64 });
  const head = canvas("attention", "head");
  await page.locator(head).scrollIntoViewIfNeeded();
  await expect.poll(async () => (await picture(page, head)).colours).toBeGreaterThan(8);
  const before = await picture(page, head);
  await page.evaluate(() => {
    window.longview.engine.paintsOnSoftware = true;
    document.querySelector("longview-attention").view.store.set({ length: 90 });
  });
  await expect.poll(() => page.evaluate(() => window.longview.engine.painting)).toBe("off");
  await expect.poll(async () => (await picture(page, head)).hash).not.toBe(before.hash);
  const shown = () => page.evaluate(() => {
    const { figure, values, bitmap } = document.querySelector("longview-attention").view.charts.find(({ definition }) => definition.id === "head");
    return { length: figure.length, values: values.length, bitmap };
  });
  await expect.poll(shown).toEqual({ length: 90, values: 90 * 90, bitmap: null });
  expect((await picture(page, head)).colours).toBeGreaterThan(8);
  // It can compute: it does so again, and paints no more.
  await expect.poll(() => page.evaluate(() => window.longview.engine.verdict?.engine)).toBe(engine);
  expect(await page.evaluate(() => window.longview.engine.painting)).toBe("off");
});
