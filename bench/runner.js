// Loads engines into pages and runs them, each answer compared with ours before its time counts.
import { computedMs, forgetPeaks, launch, peakBytes, processes } from "./chromium.js";
import { ENGINES } from "./engines.js";

/** The largest difference of a loss, in nats, that an engine may have from ours. */
export const DIFFERENCE_MAX = 5e-4;

const short = (error) => String(error?.message ?? error).split("\n").slice(0, 2).join(" ").replace("page.evaluate: ", "").slice(0, 240);

/** Rejects what takes longer than `seconds`, and what a page says by its end. */
function within(seconds, page, promise) {
  let timer;
  const late = new Promise((_, fail) => {
    timer = setTimeout(() => fail(new Error(`took longer than ${seconds} s`)), seconds * 1000);
    page.once("crash", () => fail(new Error("the page crashed")));
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** An engine in a page of its own. */
export class Loaded {
  /** Opens the page and loads the model into the engine. */
  static async open(browser, servers, name, model, seconds) {
    const { title: _title, group: _group, isolated, ...query } = ENGINES[name];
    const server = isolated ? servers.isolated : servers.plain;
    server.sent.clear();
    const before = (await processes(browser)).map(({ id }) => id);
    // A context of its own gives the page a process of its own.
    const context = await browser.newContext();
    const page = await context.newPage();
    const loaded = new Loaded(context, page, name, seconds);
    page.on("pageerror", (error) => loaded.said.push(short(error)));
    page.on("console", (message) => message.type() === "error" && loaded.said.push(short(message.text())));
    try {
      const search = new URLSearchParams({ ...query, model });
      await page.goto(`${server.address}bench/page/index.html?${search}`);
      await page.waitForSelector("html[data-ready]", { state: "attached" });
      // The page's process, and the GPU's where the engine works there.
      const isOnGpu = ENGINES[name].group === "WebGPU";
      const now = (await processes(browser)).filter(({ id, type }) => !before.includes(id) || (type === "GPU" && isOnGpu));
      loaded.processes = now.map(({ id }) => id);
      loaded.about = await within(seconds, page, page.evaluate(() => window.bench.load()));
      loaded.sent = server.sent;
      return loaded;
    } catch (error) {
      await loaded.close();
      throw new Error(short(error));
    }
  }

  constructor(context, page, name, seconds) {
    Object.assign(this, { context, page, name, seconds, said: [] });
  }

  async ask(method, windows, length) {
    try {
      const asked = this.page.evaluate(([name, ...rest]) => window.bench[name](...rest), [method, windows, length]);
      return await within(this.seconds, this.page, asked);
    } catch (error) {
      throw new Error(short(error));
    }
  }

  /** Runs once; the answer is compared with `reference`, or is the reference where there is none. Gives the losses,
   *  the largest difference, and the milliseconds since the page was asked for. */
  async check({ windows, length }, reference) {
    const { losses, since } = await this.ask("check", windows, length);
    if (losses.length !== windows * length) throw new Error(`gave ${losses.length} losses for ${windows * length} tokens`);
    let difference = 0;
    for (const [index, loss] of losses.entries()) {
      const apart = reference ? Math.abs(loss - reference[index]) : 0;
      // Also true of what is no number.
      if (!(apart <= difference)) difference = apart;
    }
    if (!(difference <= DIFFERENCE_MAX)) throw new Error(`wrong: a loss is off by ${Number(difference).toPrecision(2)} nats ${this.said[0] ?? ""}`.trim());
    return { losses, difference, since };
  }

  /** One run: milliseconds by the clock, and those that the engine's processes computed. */
  async time({ windows, length }) {
    const before = computedMs(this.processes);
    const ms = await this.ask("time", windows, length);
    const after = computedMs(this.processes);
    return { ms, computed_ms: before === undefined || after === undefined ? undefined : after - before };
  }

  async close() {
    await this.context.close().catch(() => {});
  }
}

/** One engine in a browser of its own, from nothing to its first answer: time, bytes asked for, and the largest
 *  size of page and GPU process above those of an empty page. */
export async function fromCold(servers, name, model, work, reference, { seconds, more = 0 }) {
  const browser = await launch(servers.plain.address);
  try {
    const empty = await browser.newPage();
    await empty.goto(`${servers.plain.address}bench/page/index.html`);
    const ids = async () => (await processes(browser)).map(({ id }) => id);
    const before = await ids();
    forgetPeaks(before);
    const base = peakBytes(before);
    await empty.close();
    const loaded = await Loaded.open(browser, servers, name, model, seconds);
    const { difference, since, losses } = await loaded.check(work, reference);
    const times = [];
    for (let run = 0; run < more; run++) times.push(await loaded.time(work));
    const peak = peakBytes(await ids());
    const sent = Object.fromEntries(loaded.sent);
    return { first_ms: since, peak_bytes: peak === undefined ? undefined : peak - base, sent, difference, losses, times, about: loaded.about };
  } finally {
    await browser.close().catch(() => {});
  }
}
