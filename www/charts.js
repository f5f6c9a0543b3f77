// Canvases: when to draw them, and what stands under the pointer.
import { draw, readout } from "../pkg/longview.js";
import { problems } from "./locales/en.js";
import * as messages from "./messages.js";

/** @type {Chart[]} */
const charts = [];
let isScheduled = false;

/** Draws what changed, before the next frame. */
function schedule() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    for (const chart of charts) chart.drawIfNeeded();
  });
}

export function redrawAll() {
  for (const chart of charts) chart.isStale = true;
  schedule();
}

export const theme = { name: "light" };

export class Chart {
  /**
   * @param {string} id of the canvas
   * @param {(width: number) => number} height CSS px for a width
   */
  constructor(id, height) {
    this.canvas = /** @type {HTMLCanvasElement} */ (document.getElementById(id));
    this.output = document.getElementById(`${id}-readout`);
    this.height = height;
    this.figure = null;
    this.values = new Float32Array();
    this.geometry = null;
    this.isStale = false;
    this.isVisible = true;
    this.cursor = null;
    charts.push(this);
    new ResizeObserver(() => this.update()).observe(this.canvas.parentElement);
    new IntersectionObserver(([entry]) => {
      this.isVisible = entry.isIntersecting;
      if (this.isVisible) schedule();
    }, { rootMargin: "200px" }).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.follow(event));
    this.canvas.addEventListener("pointerdown", (event) => this.follow(event));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("blur", () => this.point(null));
  }

  /** Shows another figure; `label` is its sentence for those who do not see it. */
  show(figure, values, label) {
    this.figure = figure;
    this.values = values ?? new Float32Array();
    if (label !== undefined) this.canvas.setAttribute("aria-label", label);
    this.update();
  }

  /** Takes the figure away. */
  clear(label) {
    this.figure = null;
    this.geometry = null;
    this.canvas.setAttribute("aria-label", label);
    this.canvas.getContext("2d").clearRect(0, 0, this.canvas.width, this.canvas.height);
    this.point(null);
  }

  update() {
    this.isStale = true;
    schedule();
  }

  drawIfNeeded() {
    if (!this.isStale || !this.isVisible || !this.figure) return;
    const width = Math.floor(this.canvas.parentElement.clientWidth);
    if (width < 40) return;
    this.isStale = false;
    const height = Math.round(this.height(width));
    const style = { width, height, pixel_ratio: Math.min(4, window.devicePixelRatio || 1), theme: theme.name };
    const key = `figure-${this.canvas.id}`;
    try {
      this.geometry = JSON.parse(draw(this.canvas, JSON.stringify(this.figure), JSON.stringify(style), this.values));
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
      messages.hide(key);
    } catch (error) {
      messages.show(key, problems.figure(this.figure.figure, String(error.message ?? error).replace(/\.$/, "")));
    }
    if (this.cursor) this.tell();
  }

  /** What is under a place of the canvas, in CSS px. */
  point(x, y) {
    this.cursor = x === null ? null : { x, y };
    this.tell();
  }

  follow(event) {
    // Spoken at every move, it would never end.
    this.output?.removeAttribute("aria-live");
    this.point(event.offsetX, event.offsetY);
  }

  /** Arrow keys walk over the plot for those without a pointer. */
  key(event) {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const plot = this.geometry?.plots[0];
    if (!move || !plot) return;
    event.preventDefault();
    this.output?.setAttribute("aria-live", "polite");
    const step = event.shiftKey ? 24 : 4;
    const from = this.cursor ?? { x: plot.x + plot.width / 2, y: plot.y + plot.height / 2 };
    const { clientWidth, clientHeight } = this.canvas;
    this.point(
      Math.min(clientWidth - 1, Math.max(1, from.x + move[0] * step)),
      Math.min(clientHeight - 1, Math.max(1, from.y + move[1] * step)),
    );
  }

  tell() {
    if (!this.output) return;
    let words = "";
    if (this.cursor && this.geometry && this.figure) {
      // A host page may scale the canvas, but offsets are in its own CSS px.
      const { x, y } = this.cursor;
      try {
        words = readout(JSON.stringify(this.figure), JSON.stringify(this.geometry), this.values, x, y) ?? "";
      } catch (error) {
        words = String(error.message ?? error);
      }
    }
    this.output.textContent = words;
  }
}
