// The picture "ALiBi, 16 heads × 256 × 256" by Longview, Plotly and Observable Plot, each in its fast way. What
// changes from picture to picture is one number, which all slopes are multiplied by, so that every redraw has
// the same work: from that number to pixels. The other libraries are given the biases by a plain loop.
import init, { add_locale, draw } from "../pkg/figures.js";

const HEADS = 16;
const LENGTH = 256;
/** CSS px, so large that every cell has its own pixel: Longview draws no more cells than there are pixels. */
const SIDE = 1280;
const SLOPES = Array.from({ length: HEADS }, (_, head) => 2 ** ((-8 * (head + 1)) / HEADS));
const LOW = -16;

const host = (tag, name) => {
  const made = document.createElement(tag);
  made.className = name;
  document.body.append(made);
  return made;
};

/** The cells of a head, `[query][key]`; null where the key is ahead. */
const rows = (slope) => Array.from({ length: LENGTH }, (_, i) => Array.from({ length: LENGTH }, (_, j) => (j > i ? null : -slope * (i - j))));

async function longview() {
  await init();
  const words = await (await fetch("../www/locales/en.json")).json();
  add_locale("en", JSON.stringify(words.chart));
  const canvas = host("canvas", "");
  const style = JSON.stringify({ width: SIDE, height: SIDE, pixel_ratio: 1, background: true, locale: "en" });
  const nothing = new Float32Array();
  return (factor) => {
    const slopes = SLOPES.map((slope) => slope * factor);
    const figure = { figure: "alibi", heads: HEADS, length: LENGTH, slopes, trained_length: 128 };
    draw(canvas, JSON.stringify(figure), style, nothing);
    // Waits until the canvas has carried out all commands.
    canvas.getContext("2d").getImageData(0, 0, 1, 1);
  };
}

/** 16 traces in subplots, updated by `Plotly.react`. */
async function plotly() {
  const { Plotly } = window;
  const box = host("div", "");
  const layout = { width: SIDE, height: SIDE, grid: { rows: 4, columns: 4, pattern: "independent" }, margin: { l: 40, r: 40, t: 20, b: 30 } };
  for (let head = 1; head < HEADS + 1; head++) layout[`yaxis${head > 1 ? head : ""}`] = { autorange: "reversed" };
  const traces = (factor) =>
    SLOPES.map((slope, head) => ({
      type: "heatmap",
      z: rows(slope * factor),
      xaxis: `x${head ? head + 1 : ""}`,
      yaxis: `y${head ? head + 1 : ""}`,
      zmin: LOW,
      zmax: 0,
      colorscale: "Blues",
      showscale: head === 0,
    }));
  const config = { staticPlot: true };
  await Plotly.newPlot(box, traces(1), layout, config);
  return async (factor) => {
    await Plotly.react(box, traces(factor), layout, config);
    box.getBoundingClientRect();
  };
}

/** 16 plots of one `Plot.raster` each: a grid of values, one a pixel. Marks of its own for each of the million
 *  cells (`Plot.cell`) take minutes. */
async function plot() {
  const { Plot } = window;
  const grid = host("div", "grid");
  const one = (slope) => {
    const values = new Float32Array(LENGTH * LENGTH);
    for (let i = 0; i < LENGTH; i++) for (let j = 0; j < LENGTH; j++) values[i * LENGTH + j] = j > i ? NaN : -slope * (i - j);
    return Plot.plot({
      width: SIDE / 4,
      height: SIDE / 4,
      y: { reverse: true },
      color: { type: "linear", scheme: "blues", domain: [LOW, 0] },
      marks: [Plot.raster(values, { width: LENGTH, height: LENGTH })],
    });
  };
  return (factor) => {
    grid.replaceChildren(...SLOPES.map((slope) => one(slope * factor)));
    grid.getBoundingClientRect();
  };
}

/** Milliseconds of every redraw by name, the libraries taking turns; the first rounds warm up. */
window.measure = async (rounds, warmups) => {
  const makers = { longview, plotly, plot };
  const redraws = {};
  for (const [name, make] of Object.entries(makers)) redraws[name] = await make();
  const times = Object.fromEntries(Object.keys(makers).map((name) => [name, []]));
  for (let round = 0; round < rounds + warmups; round++) {
    const factor = 1 + (round % 7) / 10;
    for (const [name, redraw] of Object.entries(redraws)) {
      // Whatever the last library has left to paint is done before the next one's time begins.
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)));
      const start = performance.now();
      await redraw(factor);
      if (round >= warmups) times[name].push(performance.now() - start);
    }
  }
  return { times, versions: { plotly: window.Plotly.version, plot: window.Plot.version, d3: window.d3.version } };
};
document.documentElement.dataset.ready = "measure";
