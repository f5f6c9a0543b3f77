// One picture: a canvas, what stands under the pointer, its sentence, its table, and the ways to take it along.
import { whyNot } from "./compile.js";
import { canDraw, complete, draw, drawAround, heatPx, isComplete, readout, summary, table } from "./drawing.js";
import { makeControl } from "./controls.js";
import { element, uniqueId } from "./dom.js";
import { pictureIsThere } from "./first.js";
import { charts, schedule } from "./frames.js";
import { ratioFor } from "./pixels.js";
import { saveMenu } from "./save.js";
import { tableElement } from "./table.js";

/** Rows of a table on the page; the file has all. */
const TABLE_ROWS_MAX = 200;
/** A sentence is made when the picture rests, not at every move of a slider. */
const REST_MS = 200;
const RESTLESS_MS = 2000;
const NOTHING = new Float32Array();
/** The widest picture that is drawn, in CSS px. */
const WIDTH_MAX = 8192;

export const FONT = "Inter, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans TC', 'PingFang TC', 'Microsoft JhengHei', sans-serif";

export class Chart {
  /**
   * @param {Record<string, any>} definition of the view: `{id, height, pick, drag, wide}`
   * @param {import("./view.js").View} view
   */
  constructor(definition, view) {
    this.definition = definition;
    this.view = view;
    const { words } = view;
    this.title = this.titleNow();
    this.canvas = element("canvas", { tabindex: 0, role: "img", id: uniqueId(definition.id) });
    this.output = element("p", { class: "readout" });
    this.sentence = element("p", { class: "summary", id: uniqueId("summary") });
    this.canvas.setAttribute("aria-describedby", this.sentence.id);
    this.tableBox = element("div", { class: "scroll", tabindex: 0, role: "region" });
    this.tableDetails = element("details", { class: "numbers", ontoggle: () => this.fillTable() },
      element("summary", { text: words.say("tools.table") }), this.tableBox);
    this.tableDetails.open = Boolean(definition.openTable);
    this.menu = saveMenu(this);
    this.heading = element("h3", { text: this.title });
    const heading = element("div", { class: "chart-head" }, this.heading, this.menu);
    this.box = element("div", { class: "canvas-box" }, this.canvas);
    this.element = element("figure", { class: `chart ${definition.wide ? "wide" : ""}`, "data-chart": definition.id },
      heading, ...this.makeControls(), this.box, this.output, element("figcaption", {}, this.sentence), this.tableDetails);
    this.figure = null;
    this.figureText = "";
    this.values = NOTHING;
    /** The picture of heat maps that the GPU painted, and the canvas that it is on. @type {ImageBitmap | null} */
    this.bitmap = null;
    /** The picture that `cells` holds, which another may have covered meanwhile, and the style it was painted for. */
    this.taken = null;
    this.takenStyle = "";
    this.askedStyle = "";
    this.cells = definition.heat ? document.createElement("canvas") : null;
    /** Who waits for the numbers of that picture. */
    this.waiting = [];
    this.geometry = null;
    this.isStale = false;
    this.isVisible = false;
    this.isPrinting = false;
    this.hasEnded = false;
    this.cursor = null;
    this.label();
    this.listen();
    charts.add(this);
  }

  /** Names the picture and what belongs to it for those who do not see them beside each other. */
  label() {
    const { words } = this.view;
    this.canvas.setAttribute("aria-label", this.title);
    this.tableBox.setAttribute("aria-label", `${this.title}: ${words.say("tools.table")}`);
    this.menu.firstElementChild.setAttribute("aria-label", `${words.say("tools.save")}: ${this.title}`);
  }

  /** The controls that belong to this picture alone. */
  makeControls() {
    const controls = (this.definition.controls ?? []).filter((name) => this.view.isShown(name)).map((name) => makeControl(name, this.view));
    if (!controls.length) return [];
    this.view.controls.push(...controls);
    return [element("form", { class: "controls small", onsubmit: (event) => event.preventDefault() }, ...controls.map((control) => control.element))];
  }

  /** The title, in which a view may name what its state has chosen. */
  titleNow() {
    const { definition, view } = this;
    return definition.title ?? view.words.say(`views.${view.name}.charts.${definition.id}`, definition.titleParts?.(view.state, view.words));
  }

  listen() {
    const { canvas } = this;
    let last = 0;
    this.sizes = new ResizeObserver(() => {
      // The height is the picture's own doing.
      const { clientWidth } = this.box;
      if (clientWidth === last) return;
      last = clientWidth;
      this.update();
    });
    this.sizes.observe(this.box);
    this.sights = new IntersectionObserver((entries) => {
      // A page that moves fast is told of in one go; the last is what is true now.
      this.isVisible = entries.at(-1).isIntersecting;
      if (this.isVisible) schedule(this);
    }, { rootMargin: "200px" });
    this.sights.observe(canvas);
    canvas.addEventListener("pointermove", (event) => this.follow(event));
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointerup", () => (this.dragging = null));
    canvas.addEventListener("pointercancel", () => (this.dragging = null));
    canvas.addEventListener("pointerleave", () => this.dragging || this.point(null));
    canvas.addEventListener("click", (event) => this.pick(event.offsetX, event.offsetY));
    canvas.addEventListener("keydown", (event) => this.key(event));
    canvas.addEventListener("blur", () => this.point(null));
    canvas.style.touchAction = "pan-y pinch-zoom";
    // A finger that takes hold of something drags it; any other scrolls the page.
    canvas.addEventListener("touchstart", (event) => this.dragging && event.preventDefault(), { passive: false });
  }

  /** Ends all that outlives the element. */
  end() {
    this.hasEnded = true;
    this.lose("");
    this.sizes.disconnect();
    this.sights.disconnect();
    clearTimeout(this.restTimer);
    charts.delete(this);
    // Frees the bitmap at once; browsers keep a limited amount of canvas memory.
    this.canvas.width = this.canvas.height = 0;
    if (this.cells) this.cells.width = this.cells.height = 0;
  }

  /** Shows another figure, with its numbers or the picture that was made of them; nothing where it is null. */
  show(figure, values, bitmap = null) {
    const [text, numbers] = [JSON.stringify(figure), values ?? NOTHING];
    const isSame = text === this.figureText && bitmap === this.bitmap;
    if (isSame && numbers === this.values) return;
    // A bitmap can be taken once.
    if (bitmap && bitmap !== this.taken) this.takePicture(bitmap);
    this.bitmap = bitmap;
    this.element.hidden = figure === null;
    const title = this.titleNow();
    if (title !== this.title) {
      this.title = title;
      this.heading.textContent = title;
      this.label();
    }
    this.figure = figure;
    this.figureText = text;
    this.values = numbers;
    if (!this.lacksNumbers) for (const { resolve } of this.waiting.splice(0)) resolve();
    // Numbers that come after their picture change nothing that is seen, unless it was painted for another style.
    const isAsPainted = this.drawnStyle === this.takenStyle && this.drawnStyle === this.styleText();
    if (isSame && bitmap && !this.isStale && isAsPainted) {
      if (this.cursor) this.tell();
      this.restSoon();
    } else this.update();
  }

  /** Keeps a picture until the next one comes: a bitmap holds memory of the GPU. */
  takePicture(bitmap) {
    Object.assign(this.cells, { width: bitmap.width, height: bitmap.height });
    this.cells.getContext("bitmaprenderer").transferFromImageBitmap(bitmap);
    this.taken = bitmap;
    this.takenStyle = this.askedStyle;
  }

  /** Whether the picture is there, and what it shows is not known here. */
  get lacksNumbers() {
    return Boolean(this.bitmap) && !this.values.length;
  }

  /** Waits for the numbers that a readout, a sentence or a file is made of. */
  async withNumbers() {
    if (!this.lacksNumbers) return;
    this.view.askNumbers();
    await new Promise((resolve, reject) => this.waiting.push({ resolve, reject }));
  }

  /** Tells those who wait that the numbers do not come. */
  lose(reason) {
    for (const { reject } of this.waiting.splice(0)) reject(new Error(reason));
  }

  /** Pixels along a side of each heat map, as it will be drawn for the present state; 0 where that is not known. */
  heatPx() {
    const { definition, view } = this;
    const figure = definition.figure(view.state, { ...view.data, attentions: {} });
    if (!figure || this.size().width < 40) return 0;
    this.askedStyle = this.styleText();
    return heatPx(JSON.stringify(figure), this.askedStyle);
  }

  update() {
    this.isStale = true;
    schedule(this);
    this.reserve();
    // Its sentence is read also where the picture is not in sight.
    if (!this.isVisible && this.view.isSeen) this.restSoon();
  }

  /** Takes the room that the picture will have, so that the page does not grow while it is scrolled. */
  reserve() {
    if (!this.figure) return;
    const { width, height } = this.size();
    if (width < 40) return;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
  }

  style(width, height, pixel_ratio) {
    return { width, height, pixel_ratio, theme: this.isPrinting ? "light" : this.view.theme, high_contrast: this.view.highContrast, locale: this.view.words.locale, font: FONT };
  }

  /** The style of the picture on the page. */
  styleText() {
    const { width, height } = this.size();
    return JSON.stringify(this.style(width, height, ratioFor(width, height, this.isPrinting)));
  }

  /** The picture's size in CSS px. */
  size() {
    const width = Math.min(WIDTH_MAX, Math.floor(this.box.clientWidth));
    return { width, height: Math.round(this.definition.height(width, this.view.state)) };
  }

  drawIfNeeded() {
    if (!this.isStale || !(this.isVisible || this.isPrinting) || !this.figure) return;
    if (this.size().width < 40) return;
    if (!canDraw(this.figure)) return this.later(() => schedule(this));
    this.isStale = false;
    const style = (this.drawnStyle = this.styleText());
    const key = `figure-${this.definition.id}`;
    try {
      const drawn = this.lacksNumbers
        ? drawAround(this.canvas, this.figureText, style, this.cells, this.definition.heat.across)
        : draw(this.canvas, this.figureText, style, this.values);
      this.geometry = JSON.parse(drawn);
      this.view.messages.hide(key);
      pictureIsThere();
    } catch (error) {
      // What was drawn before would contradict the controls.
      this.canvas.width = 1;
      this.geometry = null;
      this.view.messages.show(key, "problems.figure", { name: this.title, reason: String(error.message ?? error).replace(/\.$/, "") });
    }
    if (this.cursor) this.tell();
    this.restSoon();
    this.element.dataset.drawn = "true";
  }

  /** Does something when the whole module is there; where it cannot be had the view says so. */
  later(action) {
    const { messages } = this.view;
    complete().then(
      () => {
        messages.hide("module");
        if (!this.hasEnded) action();
      },
      (error) => {
        const { path, parts } = whyNot(error);
        messages.show("module", path, parts);
      },
    );
  }

  /** Makes the sentence when the picture has come to rest; while points arrive it never does, so now and then. */
  restSoon() {
    const now = performance.now();
    this.restless ??= now;
    clearTimeout(this.restTimer);
    this.restTimer = setTimeout(() => this.rest(), now - this.restless > RESTLESS_MS ? 0 : REST_MS);
  }

  drawForPrint(isPrinting) {
    this.isPrinting = isPrinting;
    this.isStale = true;
    if (isPrinting) this.drawIfNeeded();
    else schedule(this);
  }

  /** What is made when the picture has stopped changing. */
  rest() {
    this.restless = undefined;
    if (!this.figure) return;
    if (!isComplete()) return this.later(() => this.rest());
    this.view.messages.hide("module");
    // When they come, it rests again.
    if (this.lacksNumbers) return this.view.askNumbers();
    this.sentence.textContent = this.summary();
    if (this.tableDetails.open) this.fillTable();
  }

  /** One sentence of the picture's present numbers; empty where it cannot be drawn, which the view has said. */
  summary() {
    try {
      return summary(this.figureText, this.values, this.view.words.locale);
    } catch {
      return "";
    }
  }

  fillTable() {
    if (!this.tableDetails.open || !this.figure) return;
    if (this.lacksNumbers) return this.view.askNumbers();
    if (!isComplete()) return this.later(() => this.fillTable());
    const { words } = this.view;
    let found;
    try {
      found = JSON.parse(table(this.figureText, this.values, words.locale, TABLE_ROWS_MAX));
    } catch {
      // The view has said why there is no picture; there are no numbers either.
      this.tableBox.replaceChildren();
      return;
    }
    this.tableBox.replaceChildren(tableElement(found, words));
  }

  /** What is under a place of the canvas, in CSS px of its own: a host page may scale it. */
  point(x, y) {
    this.cursor = x === null ? null : { x, y };
    this.tell();
  }

  follow(event) {
    // Spoken at every move, it would never end.
    this.output.removeAttribute("aria-live");
    if (this.dragging) {
      const part = this.dragging(event.offsetX, event.offsetY);
      if (part) this.view.change(part);
    }
    this.point(event.offsetX, event.offsetY);
  }

  press(event) {
    this.follow(event);
    const { drag } = this.definition;
    if (!drag || !this.geometry) return;
    this.dragging = drag(this.geometry, event.offsetX, event.offsetY, this.view.state, event.pointerType === "touch");
    if (this.dragging) this.canvas.setPointerCapture(event.pointerId);
  }

  pick(x, y) {
    const { pick } = this.definition;
    const plot = this.geometry?.plots.find((one) => x >= one.x && x <= one.x + one.width && y >= one.y && y <= one.y + one.height);
    if (pick && plot) this.view.change(pick(plot.index, this.view.state));
  }

  /** Arrow keys walk over the plot cell by cell, Page Up and Down go from plot to plot, Enter picks. */
  key(event) {
    const plots = this.geometry?.plots ?? [];
    if (!plots.length || event.ctrlKey || event.metaKey || event.altKey) return;
    const at = this.cursor;
    const here = at ? plots.findIndex((plot) => at.x >= plot.x && at.x <= plot.x + plot.width && at.y >= plot.y && at.y <= plot.y + plot.height) : -1;
    const plot = plots[Math.max(0, here)];
    const middle = ({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 });
    let to = at ?? middle(plot);
    const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (arrows[event.key]) {
      const [right, down] = arrows[event.key];
      const cells = (range, px) => Math.max(1, px / Math.max(1, Math.abs(range[1] - range[0])));
      const step = event.shiftKey ? 10 : 1;
      const across = plot.x_log ? 4 : cells(plot.x_range, plot.width);
      const along = plot.y_log ? 4 : cells(plot.y_range, plot.height);
      if (at) to = { x: at.x + right * across * step, y: at.y + down * along * step };
    } else if (event.key === "PageDown" || event.key === "PageUp") {
      const next = (Math.max(0, here) + (event.key === "PageDown" ? 1 : plots.length - 1)) % plots.length;
      to = middle(plots[next]);
    } else if (event.key === "Enter" && at) {
      this.pick(at.x, at.y);
    } else if (event.key === "Escape" && at) {
      event.preventDefault();
      return this.point(null);
    } else return;
    event.preventDefault();
    this.output.setAttribute("aria-live", "polite");
    const { clientWidth, clientHeight } = this.canvas;
    this.point(Math.min(clientWidth - 1, Math.max(1, to.x)), Math.min(clientHeight - 1, Math.max(1, to.y)));
  }

  tell() {
    let text = "";
    if (this.cursor && !isComplete()) this.later(() => this.tell());
    else if (this.cursor && this.geometry && this.figure) {
      const { x, y } = this.cursor;
      if (this.lacksNumbers) this.view.askNumbers();
      try {
        text = readout(this.figureText, JSON.stringify(this.geometry), this.values, x, y, this.view.words.locale) ?? "";
      } catch (error) {
        text = String(error.message ?? error);
      }
      const more = text && this.definition.more?.(this, x, y);
      if (more) text += ` ${more}`;
    }
    this.output.textContent = text;
  }
}
