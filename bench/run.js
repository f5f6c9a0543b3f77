// Tokens per second of both engines in Chromium; started by `cargo xtask bench`, which serves the page.
import { chromium } from "playwright-core";

const CHECKPOINT = "/www/checkpoints/alibi.safetensors";
// [windows, length]: the same number of tokens each, so that a run takes alike.
const SIZES = [
  [16, 128],
  [4, 512],
  [1, 2048],
];
const rounds = Number(process.env.LONGVIEW_BENCH_ROUNDS ?? 5);
const flags = [
  "--enable-unsafe-webgpu",
  "--no-first-run",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A page with the wasm module loaded; on the machine's own GPU where there is one, else on SwiftShader. */
async function start() {
  for (const more of [[], ["--use-webgpu-adapter=swiftshader"]]) {
    const browser = await chromium.launch({
      executablePath: process.env.LONGVIEW_CHROMIUM,
      args: [...flags, ...more],
      // Playwright passes it by default; with it there is no WebGPU.
      ignoreDefaultArgs: ["--disable-gpu"],
    });
    const page = await browser.newPage();
    await page.goto(new URL("bench/index.html", process.env.LONGVIEW_URL).href);
    const has = await page.evaluate(async () => Boolean(await navigator.gpu?.requestAdapter()));
    if (has || more.length > 0) return { browser, page, has };
    await browser.close();
  }
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const column = (text, width) => String(text).padStart(width);

const { browser, page, has } = await start();
try {
  const engines = has ? ["cpu", "gpu"] : ["cpu"];
  console.log(`${CHECKPOINT}, medians of ${rounds} interleaved runs, Chromium ${browser.version()}`);
  console.log(`${column("windows × T", 14)}${column("CPU tokens/s", 16)}${column("GPU tokens/s", 16)}${column("GPU/CPU", 10)}`);
  for (const [windows, length] of SIZES) {
    const measured = await page.evaluate((work) => window.measure(work), { engines, rounds, windows, length, checkpoint: CHECKPOINT });
    const rate = (name) => (windows * length * 1000) / median(measured[name].times);
    const [cpu, gpu] = [rate("cpu"), has ? rate("gpu") : undefined];
    console.log(
      column(`${windows} × ${length}`, 14) +
        column(Math.round(cpu), 16) +
        column(gpu === undefined ? "–" : Math.round(gpu), 16) +
        column(gpu === undefined ? "–" : (gpu / cpu).toFixed(2), 10),
    );
    if (has && Math.abs(measured.cpu.loss - measured.gpu.loss) > 5e-5) {
      throw new Error(`the engines disagree: mean loss ${measured.cpu.loss} on the CPU, ${measured.gpu.loss} on the GPU`);
    }
    if (length === SIZES.at(-1)[1]) for (const name of engines) console.log(`${name}: ${measured[name].engine}`);
  }
} finally {
  await browser.close();
}
