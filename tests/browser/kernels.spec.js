// The GPU's kernels against their CPU twins, in the browser's own WebGPU.
import { expect, test } from "./fixtures.js";

test("every kernel on WebGPU equals its twin on the CPU", async ({ page }) => {
  await page.goto("");
  const report = await page.evaluate(async () => {
    const longview = await import("/pkg/longview.js");
    await longview.default();
    return JSON.parse(await longview.kernel_check());
  });
  expect(report.length).toBeGreaterThan(0);
  for (const { kernel, max_difference, limit } of report) {
    expect(max_difference, kernel).toBeLessThanOrEqual(limit);
  }
});
