// The bench's own parts: what the other engines are given makes the losses that ours gives.
import { expect, test } from "./fixtures.js";

for (const model of ["alibi", "rotary", "t5_bias"]) {
  test(`the bench's weights and positions of ${model} make the losses of our engine`, async ({ page }) => {
    await page.goto("tests/browser/empty.html");
    const [ours, plain] = await page.evaluate(async (model) => {
      const checkpoint = await (await fetch(`/www/checkpoints/${model}.safetensors`)).arrayBuffer();
      const { default: init, Bench } = await import("/out/checks/engine.js");
      await init();
      const { load } = await import("/bench/page/plain.js");
      const [windows, length] = [2, 21];
      const tokens = Uint32Array.from({ length: windows * (length + 1) }, (_, i) => (i * 197) % 512);
      const bench = await Bench.load("cpu", new Uint8Array(checkpoint));
      const both = [await bench.run(tokens, windows, length), await (await load(checkpoint)).run(tokens, windows, length)];
      bench.free();
      return both.map((losses) => Array.from(losses));
    }, model);
    expect(ours).toHaveLength(42);
    for (const [index, loss] of ours.entries()) expect(loss, `target ${index}`).toBeCloseTo(plain[index], 4);
  });
}
