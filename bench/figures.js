// How fast pictures are redrawn; started by `cargo xtask bench`, which serves the page.
import { chromium } from "playwright-core";
import { cpus, loadavg } from "node:os";

const rounds = Math.max(5, Number(process.env.LONGVIEW_BENCH_ROUNDS ?? 5)) * 3;
const MOVES = 60;
const FRAME_MS = 16;

const sorted = (values) => values.toSorted((a, b) => a - b);
const median = (values) => sorted(values)[Math.floor(values.length / 2)];
const column = (text, width) => String(text).padStart(width);
const address = (path) => new URL(path, process.env.LONGVIEW_URL).href;

/** Runs in the page, of a view: notes the time from every `input` event until the last picture of its frame is
 *  drawn. */
function watch(picture) {
  window.moves = [];
  let start;
  addEventListener("input", () => (start ??= performance.now()), { capture: true });
  new MutationObserver((changes) => {
    if (start === undefined) return;
    for (const { target } of changes) target.querySelector("canvas").getContext("2d").getImageData(0, 0, 1, 1);
    window.moves.push(performance.now() - start);
    start = undefined;
  }).observe(picture.getRootNode(), { attributes: true, attributeFilter: ["data-drawn"], subtree: true });
}

/** Drags the slider of the length with the mouse, as a reader does. */
async function drag(page) {
  await page.goto(address("index.html?view=alibi&heads=16&length=256"));
  await page.locator("figure[data-chart=matrices][data-drawn]").evaluate(watch);
  const slider = page.locator("[data-control=length] input[type=range]");
  const { x, y, width, height } = await slider.boundingBox();
  const [left, right] = [0.35, 0.55].map((share) => x + share * width);
  await page.mouse.move(left, y + height / 2);
  await page.mouse.down();
  for (let move = 0; move < MOVES; move++) {
    await page.mouse.move(left + ((right - left) * (move % 20)) / 20, y + height / 2);
    await page.waitForTimeout(50);
  }
  await page.mouse.up();
  return page.evaluate(() => window.moves);
}

const browser = await chromium.launch({ executablePath: process.env.LONGVIEW_CHROMIUM, args: ["--no-first-run", "--disable-background-networking"] });
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.on("pageerror", (error) => console.error(String(error)));
  await page.goto(address("bench/figures.html"));
  await page.waitForSelector("html[data-ready]", { state: "attached" });
  const { times, versions } = await page.evaluate(([all, warm]) => window.measure(all, warm), [rounds, 3]);
  console.log(`ALiBi, 16 heads × 256 × 256, redrawn for a new number: medians of ${rounds} interleaved redraws,`);
  console.log(`Chromium ${browser.version()}, ${cpus().length} cores (${cpus()[0].model}), load ${loadavg()[0].toFixed(1)}`);
  const titles = {
    longview: "Longview, draw on a canvas",
    plotly: `Plotly ${versions.plotly}, react, 16 heatmaps`,
    plot: `Observable Plot ${versions.plot}, 16 rasters`,
  };
  const own = median(times.longview);
  for (const [name, title] of Object.entries(titles)) {
    const value = median(times[name]);
    console.log(`${title.padEnd(40)}${column(value.toFixed(1), 10)} ms${column((value / own).toFixed(1), 8)} ×`);
  }
  await page.close();

  const view = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  view.on("pageerror", (error) => console.error(String(error)));
  const moves = await drag(view);
  if (moves.length < MOVES / 4) throw new Error(`only ${moves.length} of ${MOVES} moves of the slider drew a picture`);
  const late = moves.filter((ms) => ms > FRAME_MS).length;
  console.log(
    `\nThe page, ALiBi, 16 heads: from the slider's input event to the drawn canvases ${median(moves).toFixed(1)} ms ` +
      `(median of ${moves.length}, longest ${Math.max(...moves).toFixed(1)} ms, ${late} above ${FRAME_MS} ms)`,
  );
} finally {
  await browser.close();
}
