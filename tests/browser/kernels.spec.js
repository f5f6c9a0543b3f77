// The GPU's kernels against their CPU twins, in the browser's own WebGPU.
import { expect, test } from "./fixtures.js";

const KERNELS = ["embed", "layer_norm", "linear", "rotate", "attention", "nll", "capture_attention", "capture_profile", "paint"];

test("every kernel and the whole forward on WebGPU equal their twins on the CPU", async ({ page }, info) => {
  await page.goto("tests/browser/empty.html");
  const found = await page.evaluate(async () => {
    const longview = await import("/out/checks/engine.js");
    await longview.default();
    return JSON.parse(await longview.kernel_check());
  });
  for (const kernel of [...KERNELS, "forward"]) {
    const cases = found.filter((difference) => difference.kernel === kernel);
    expect(cases.length, kernel).toBeGreaterThanOrEqual(4);
    info.annotations.push({ type: kernel, description: `${Math.max(...cases.map(({ largest }) => largest))}` });
  }
  // Those that exist twice are compared both ways.
  for (const kernel of ["linear", "attention", "nll"]) {
    for (const variant of ["Registers", "Tiles"]) {
      const cases = found.filter((difference) => difference.kernel === kernel && difference.case.includes(variant));
      expect(cases.length, `${kernel}, ${variant}`).toBeGreaterThanOrEqual(4);
    }
  }
  for (const { kernel, case: sizes, largest, limit } of found) {
    // An infinite difference is null in JSON, and null is less than any limit.
    expect(largest, `${kernel} ${sizes}`).not.toBeNull();
    expect(largest, `${kernel} ${sizes}`).toBeLessThanOrEqual(limit);
  }
});
