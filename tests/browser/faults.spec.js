// What may go wrong around the page: each fault is said, what can go on goes on, and no box stays blank.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { canvas, control, expect, inWorkers, open, picture, results, root, state, test, told } from "./fixtures.js";
import { document, goTo, serve } from "./host.js";

const MAX = 128;
const LENGTHS = 4;
const run = { view: "perplexity", encodings: "alibi,rotary", engine: "cpu", max: MAX };
const status = (page) => page.locator(".view .engine");

/** Waits until both models are measured at every length on equally many tokens. */
async function finished(page) {
  await expect.poll(async () => (await results(page)).length).toBe(2 * LENGTHS);
  await expect.poll(async () => new Set((await results(page)).map(({ tokens }) => tokens)).size).toBe(1);
}

/** A picture that was made before stands there, and can be seen. */
async function standsStill(image) {
  await expect(image).toBeVisible();
  await expect.poll(() => image.evaluate((one) => one.complete && one.naturalWidth)).toBeGreaterThan(100);
  expect((await image.getAttribute("alt")).length).toBeGreaterThan(4);
}

test("without navigator.gpu the CPU runs the models, and the status says why", async ({ page }) => {
  await inWorkers(page, () => Object.defineProperty(navigator, "gpu", { value: undefined }));
  await open(page, { ...run, engine: "auto" });
  await expect(status(page)).toHaveAttribute("data-engine", "cpu");
  await expect(status(page)).toContainText("this browser offers no WebGPU");
  await expect(status(page)).not.toContainText("https");
  await finished(page);
});

test("a page that comes by plain http says that WebGPU is missing for that", async ({ page }) => {
  const { port } = new URL(process.env.LONGVIEW_URL);
  for (const [lang, says] of [["en", /no WebGPU.*only to pages served by https/], ["zh-Hant", /https/]]) {
    await page.goto(`http://lecture.test:${port}/?${new URLSearchParams({ ...run, engine: "auto", lang })}`);
    expect(await page.evaluate(() => isSecureContext)).toBe(false);
    await expect(status(page)).toContainText(says);
    await finished(page);
    expect(await told(page)).toBe("");
  }
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false, textCharacters: 0 });

  test("the page says what it needs, and not that something is being fetched", async ({ page }) => {
    for (const place of ["", "pkg/page.html"]) {
      await page.goto(place);
      await expect(page.locator("noscript p")).toBeVisible();
      await expect(page.locator("#fetching")).toHaveCount(1);
      await expect(page.locator("#fetching")).toBeHidden();
      await expect(page.locator("h1")).toBeVisible();
    }
  });
});

test.describe("WebAssembly that is refused", () => {
  test.use({ textCharacters: 0, expectedErrors: [[/Content Security Policy/i, /WebAssembly/]] });

  /** The page's document with a policy that lacks `wasm-unsafe-eval`. */
  const withPolicy = (page) =>
    page.route((url) => url.pathname === "/", async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace(" 'wasm-unsafe-eval'", "");
      await route.fulfill({ response, body });
    });

  test("by the page's policy: still pictures, and which policy is to be mended", async ({ page }) => {
    await withPolicy(page);
    await page.goto("?encoding=rotary");
    await expect(page.locator("html")).toHaveAttribute("data-ready", "failed");
    await expect.poll(() => told(page)).toMatch(/may not run WebAssembly.*Content Security Policy.*wasm-unsafe-eval/);
    await standsStill(page.locator("longview-rotary img"));
    await standsStill(page.locator("longview-perplexity img"));
    // The views' words are there too.
    await expect(page.locator("longview-rotary .explain")).not.toBeEmpty();
    // The reason stands once.
    expect(await page.getByText("may not run WebAssembly").count()).toBe(1);
  });

  test("every view has a still picture, in both languages", async ({ page }) => {
    await withPolicy(page);
    const views = ["none", "learned", "sinusoidal", "rotary", "t5_bias", "alibi", "methods", "attention", "perplexity", "compare", "claims"];
    for (const [index, view] of views.entries()) {
      await page.goto(`?view=${view}&lang=${index % 2 ? "en" : "zh-Hant"}`);
      const element = page.locator(`longview-${view.replace("_", "-")}`);
      await standsStill(element.locator("img"));
      if (index % 2 === 0) await expect(element.locator("figcaption")).toContainText(/\p{Script=Han}/u);
    }
  });

  test("by another page's policy: the element says so in its box", async ({ page }) => {
    const policy = (origin) => `<meta http-equiv="Content-Security-Policy" content="script-src 'self' ${origin}">`;
    const { origin } = new URL(process.env.LONGVIEW_URL);
    const body = `<longview-alibi></longview-alibi><longview-perplexity></longview-perplexity>`;
    const host = await serve({ pages: { "/page.html": document(body, `${policy(origin)}<script type="module" src="${origin}/pkg/longview.js"></script>`) } });
    await page.goto(`${host.origin}/page.html`);
    for (const view of ["alibi", "perplexity"]) {
      const element = page.locator(`longview-${view}`);
      await expect(element.locator("[role=alert]")).toContainText("wasm-unsafe-eval");
      await goTo(element.locator("img"));
      await standsStill(element.locator("img"));
    }
    await host.close();
  });

  test("by a browser that has none", async ({ page }) => {
    await page.addInitScript(() => delete window.WebAssembly);
    await page.goto("");
    await expect.poll(() => told(page)).toMatch(/could not be loaded.*needs WebAssembly/);
    await standsStill(page.locator("longview-alibi img"));
  });

  test("in the offline file, which carries a picture", async ({ page }) => {
    await page.addInitScript(() => delete window.WebAssembly);
    await page.goto(`file://${join(root, "out/longview.html")}?encoding=rotary`);
    await expect.poll(() => told(page)).toMatch(/needs WebAssembly/);
    await standsStill(page.locator("longview-rotary img"));
  });
});

test("modules that the server calls plain text are compiled all the same", async ({ page }) => {
  const asked = new Set();
  await page.route("**/*.wasm", async (route) => {
    asked.add(route.request().url().split("/").pop());
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), "content-type": "text/plain" } });
  });
  await open(page, { encoding: "alibi", engine: "cpu", length: 64, max: MAX });
  expect((await picture(page, canvas("alibi", "matrices"))).colours).toBeGreaterThan(8);
  await expect.poll(async () => (await results(page)).length).toBeGreaterThan(0);
  expect([...asked].sort()).toEqual(["engine_relaxed_bg.wasm", "figures_bg.wasm", "figures_rest.wasm"]);
});

const webPage = (route) => route.fulfill({ contentType: "text/html; charset=utf-8", body: "<!doctype html><title>Welcome</title>" });
const missing = (route) => route.fulfill({ status: 404, body: "no such file" });

test.describe("parts of the program that are not there", () => {
  test.use({ expectedFailures: [[/figures_bg\.wasm/, /engine_.*bg\.wasm/, /worker\.js/, /chunk-later/]], expectedErrors: [[/MIME type/, /Failed to load module script/]] });

  for (const [kind, answer, says] of [["missing", missing, /could not be fetched \(404/], ["a web page", webPage, /sent a web page in the place of figures_bg\.wasm/]]) {
    test(`what draws, ${kind}: a still picture and the reason`, async ({ page }) => {
      await page.route("**/figures_bg.wasm", answer);
      await page.goto("?encoding=alibi");
      await expect.poll(() => told(page)).toMatch(says);
      await standsStill(page.locator("longview-alibi img"));
    });

    test(`the engine, ${kind}: the pictures work, and the view that needs it says so`, async ({ page }) => {
      await page.route("**/engine_*bg.wasm", answer);
      await open(page, { encoding: "alibi", engine: "cpu", length: 64 }, "picture");
      await expect.poll(() => told(page)).toMatch(/engine stopped again \((404|the server sent a web page in the place of engine_bg)/);
      await expect(page.locator("longview-perplexity .status")).toContainText("The engine has stopped");
      const before = await picture(page, canvas("alibi", "matrices"));
      await page.locator(control("heads")).press("ArrowLeft");
      await expect.poll(async () => (await picture(page, canvas("alibi", "matrices"))).hash).not.toBe(before.hash);
    });

    test(`the worker's script, ${kind}: the pictures work, and the view that needs it says so`, async ({ page }) => {
      await page.route("**/worker.js", answer);
      await open(page, { encoding: "alibi", engine: "cpu", length: 64 }, "picture");
      await expect.poll(() => told(page)).toMatch(/engine stopped again/);
      expect((await picture(page, canvas("alibi", "matrices"))).colours).toBeGreaterThan(8);
    });
  }

  test("the views of the models: what they come to as a still picture, and the rest works", async ({ page }) => {
    await page.route("**/chunk-later-*.js", missing);
    await open(page, { encoding: "alibi", engine: "cpu", length: 64 }, "picture");
    await expect(page.locator("longview-perplexity [role=alert]")).toContainText(/part of the program could not be fetched/);
    await goTo(page.locator("longview-perplexity img"));
    await standsStill(page.locator("longview-perplexity img"));
    expect((await picture(page, canvas("alibi", "matrices"))).colours).toBeGreaterThan(8);
  });
});

test("a web page in the place of a text is named", async ({ page }) => {
  await page.route("**/persuasion.txt", webPage);
  await open(page, run, "picture");
  await expect.poll(() => told(page)).toMatch(/web page in the place of persuasion\.txt/);
});

test.describe("downloads", () => {
  const FILE = "/pkg/assets/alibi.safetensors";
  test.use({ textCharacters: 3000, expectedFailures: [[/alibi\.safetensors/, /engine_relaxed_bg\.wasm/, /figures_bg\.wasm/]] });

  for (const [kind, isCut, says] of [["is cut", true, /alibi\.safetensors could not be fetched: network error/], ["stalls", false, /alibi\.safetensors was given up: nothing came for 30 seconds/]]) {
    test(`one that ${kind} is named, the other models go on, and the reader may try again`, async ({ page }) => {
      // A second is a twentieth of one for the worker, which waits for half a minute.
      await inWorkers(page, () => {
        const { setTimeout: real } = self;
        self.setTimeout = (action, ms, ...given) => real(action, ms / 20, ...given);
      });
      const whole = readFileSync(join(root, "www/checkpoints/alibi.safetensors"));
      let isBroken = true;
      const answer = (request, response) => {
        response.writeHead(200, { "Content-Type": "application/octet-stream", "Content-Length": whole.length });
        if (!isBroken) return response.end(whole);
        response.write(whole.subarray(0, 300_000));
        if (isCut) setTimeout(() => response.destroy(), 500);
      };
      const host = await serve({ folders: { "/": root }, answers: { [FILE]: answer } });
      await page.goto(`${host.origin}/index.html?${new URLSearchParams(run)}`);
      await expect(status(page)).toContainText(/Loading the model|tokens a second/);
      await expect.poll(() => told(page)).toMatch(says);
      await expect.poll(async () => (await results(page)).some(({ encoding }) => encoding === "rotary")).toBe(true);
      expect((await results(page)).some(({ encoding }) => encoding === "alibi")).toBe(false);
      isBroken = false;
      await page.locator(".messages button").first().click();
      await finished(page);
      expect(await told(page)).toBe("");
      await host.close();
    });
  }

  for (const [kind, module, says] of [
    ["what draws", "figures_bg.wasm", /^figures_bg\.wasm was given up: nothing came for 30 seconds/],
    ["the engine", "engine_bg.wasm", /^The engine stopped again \(nothing came for 30 seconds\)/],
  ]) {
    test(`a module that stalls, ${kind}, is given up, and the reader is told`, async ({ page }) => {
      const hurry = () => {
        const { setTimeout: real } = self;
        self.setTimeout = (action, ms, ...given) => real(action, ms / 20, ...given);
      };
      await inWorkers(page, hurry);
      await page.addInitScript(hurry);
      const whole = readFileSync(join(root, "pkg", module));
      // A part of it comes, and then no more: compiling as it comes must not wait for ever.
      const answer = (request, response) => {
        response.writeHead(200, { "Content-Type": "application/wasm", "Content-Length": whole.length });
        response.write(whole.subarray(0, 100_000));
      };
      const missing = (request, response) => response.writeHead(404).end();
      const host = await serve({ folders: { "/": root }, answers: { [`/pkg/${module}`]: answer, "/pkg/engine_relaxed_bg.wasm": missing } });
      await page.goto(`${host.origin}/index.html?${new URLSearchParams({ encoding: "alibi", engine: "cpu", length: 64 })}`);
      await expect.poll(() => told(page)).toMatch(says);
      if (module === "figures_bg.wasm") await standsStill(page.locator("longview-alibi img"));
      else expect((await picture(page, canvas("alibi", "matrices"))).colours).toBeGreaterThan(8);
      await host.close();
    });
  }

  test("a program that is slow to come is announced, on the page and in an element", async ({ page }) => {
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route("**/figures_bg.wasm", async (route) => {
      await held;
      await route.continue();
    });
    const { origin } = new URL(process.env.LONGVIEW_URL);
    const host = await serve({ pages: { "/page.html": document("<longview-alibi></longview-alibi>", `<script type="module" src="${origin}/pkg/longview.js"></script>`) } });
    await page.goto(`${host.origin}/page.html`, { waitUntil: "commit" });
    await expect(page.locator("longview-alibi")).toContainText("Fetching the program");
    await page.goto("?encoding=alibi", { waitUntil: "commit" });
    await expect(page.locator("#fetching")).toHaveCSS("opacity", "1");
    await expect(page.locator("#fetching")).toContainText("being fetched");
    release();
    await expect(page.locator("html")).toHaveAttribute("data-ready", /picture|engine/);
    await expect(page.locator("#fetching")).toHaveCount(0);
    await host.close();
  });
});

test("with all storage denied the page works, and says what it cannot keep", async ({ page }) => {
  const deny = () => {
    for (const name of ["localStorage", "sessionStorage", "indexedDB", "caches"]) {
      if (!(name in self)) continue;
      Object.defineProperty(self, name, {
        get() {
          throw new DOMException("The operation is insecure.", "SecurityError");
        },
      });
    }
  };
  await page.addInitScript(deny);
  await inWorkers(page, deny);
  await open(page, run);
  expect(await page.evaluate(() => { try { return Boolean(localStorage); } catch { return "denied"; } })).toBe("denied");
  await finished(page);
  expect(await told(page)).toBe("");
  await open(page, { view: "claims", engine: "cpu", quick: 1 });
  await expect(page.locator("longview-claims")).toContainText("keeps no results");
  await open(page, { ...run, text: "own" }, "picture");
  await page.locator("longview-perplexity textarea").fill("It was a truth, universally acknowledged. ".repeat(60));
  await expect.poll(async () => (await results(page)).length).toBeGreaterThan(0);
});

test("what concerns the engine stands in one view, also when another comes into sight that tells it first", async ({ page }) => {
  await open(page, { view: "attention", encoding: "alibi", engine: "cpu", length: 32, max: MAX });
  await page.evaluate(() => window.longview.engine.take({ kind: "problem", key: "engine", path: "problems.worker", parts: { reason: "a test" } }));
  const lines = () => page.locator(".messages p").filter({ hasText: "a test" });
  await expect(page.locator("longview-attention").locator(lines())).toHaveCount(1);
  await page.evaluate(() => document.querySelector("main").append(document.createElement("longview-perplexity")));
  await goTo(page.locator("longview-perplexity"));
  await expect(page.locator("longview-perplexity").locator(lines())).toHaveCount(1);
  await expect(lines()).toHaveCount(1);
  // Where that view goes, the other tells it again.
  await page.evaluate(() => document.querySelector("longview-perplexity").remove());
  await expect(page.locator("longview-attention").locator(lines())).toHaveCount(1);
});

test("the program's own reasons are told in the reader's language, and others as they are", async ({ page }) => {
  const { reasons } = JSON.parse(readFileSync(join(root, "www/locales/en.json"), "utf8"));
  // They are as the program writes them, whatever it calls their parts.
  const files = ["src", "www"].flatMap((folder) => readdirSync(join(root, folder), { recursive: true }).map((name) => join(root, folder, String(name))));
  const bare = (text) => text.replace(/\$?\{[\w.:?]*\}/g, "{}");
  const sources = bare(files.filter((name) => /\.(rs|js)$/.test(name)).map((name) => readFileSync(name, "utf8")).join("\n"));
  for (const reason of Object.values(reasons)) expect(sources.includes(bare(reason)), reason).toBe(true);
  await open(page, { view: "alibi", lang: "zh-Hant" }, "picture");
  const because = (reason) => page.evaluate((reason) => document.querySelector("longview-alibi").view.words.because(reason), reason);
  for (const reason of Object.values(reasons)) {
    const said = await because(reason.replace(/\{\w+\}/g, "7"));
    expect(said, reason).toMatch(/\p{Script=Han}/u);
    expect(said.match(/7/g)?.length ?? 0, said).toBeGreaterThanOrEqual(Math.min(1, reason.split("{").length - 1));
    expect(said).not.toContain("{");
  }
  expect(await because("the device was lost (Unknown: a (new) driver)")).toBe("裝置遺失（Unknown：a (new) driver）");
  expect(await because("The CPU runs the models: the GPU failed (the device was lost (Destroyed: bye)).")).toBe("由 CPU 執行模型：GPU 失效（裝置遺失（Destroyed：bye））。");
  expect(await because("The CPU runs the models: this browser offers no WebGPU adapter.")).toBe("由 CPU 執行模型：這個瀏覽器不提供 WebGPU 介面卡。");
  expect(await because("Uncaught RangeError: too much")).toBe("Uncaught RangeError: too much");
});

/** Starts a run, and waits until some of it is measured. */
async function begun(page, more = {}) {
  await open(page, { ...run, max: 1024, ...more });
  await expect.poll(async () => (await results(page)).length).toBeGreaterThan(2);
  return results(page);
}
/** The curve's canvas, once it is drawn. */
async function curve(page) {
  const figure = page.locator("longview-perplexity figure.chart").first();
  await goTo(figure);
  await expect(figure).toHaveAttribute("data-drawn", "true");
  return "longview-perplexity figure.chart >> nth=0 >> canvas";
}
const isWhole = (page) => expect.poll(async () => (await results(page)).filter(({ length }) => length === 1024).length).toBe(2);

test("a worker that dies is replaced once, and what was measured stays; the second time the pictures go on", async ({ page }) => {
  const before = await begun(page);
  const die = () => page.workers()[0].evaluate(() => void setTimeout(() => { throw new Error("it broke"); }));
  await die();
  await expect.poll(() => told(page)).toMatch(/engine stopped \(.*it broke\) and was started again on the CPU; what was measured is kept/);
  expect(await page.locator(".messages p").count()).toBe(1);
  const kept = await results(page);
  for (const { encoding, length, tokens } of before) {
    expect(kept.find((one) => one.encoding === encoding && one.length === length)?.tokens).toBeGreaterThanOrEqual(tokens);
  }
  await isWhole(page);
  await die();
  await expect.poll(() => told(page)).toMatch(/stopped again \(.*it broke\)/);
  expect((await results(page)).length).toBeGreaterThanOrEqual(kept.length);
  await expect(status(page)).toContainText("The engine has stopped");
  expect((await picture(page, await curve(page))).colours).toBeGreaterThan(4);
  // The reader may choose an engine once more.
  await page.locator("longview-perplexity .engine select").selectOption("auto");
  await expect(status(page)).toHaveAttribute("data-engine", "cpu");
  expect(await told(page)).toBe("");
});

test("a page that is frozen in the middle of a run goes on when it comes back", async ({ page, context }) => {
  const tokens = (points) => points.reduce((sum, point) => sum + point.tokens, 0);
  const before = await begun(page);
  const session = await context.newCDPSession(page);
  await session.send("Page.setWebLifecycleState", { state: "frozen" });
  await new Promise((resolve) => setTimeout(resolve, 3000));
  await session.send("Page.setWebLifecycleState", { state: "active" });
  await isWhole(page);
  expect(tokens(await results(page))).toBeGreaterThan(tokens(before));
  expect(await told(page)).toBe("");
  await expect(page.locator("longview-perplexity .findings li").first()).toContainText("1,024");
});

test("a hidden tab measures on, draws nothing, and shows all when it is seen", async ({ page }) => {
  // A driven browser has no hidden tabs: what one lacks is frames, and timers that are prompt.
  await page.addInitScript(() => {
    const { requestAnimationFrame: frame, setTimeout: timer } = window;
    const held = [];
    window.isHidden = false;
    Object.defineProperty(document, "visibilityState", { get: () => (window.isHidden ? "hidden" : "visible") });
    Object.defineProperty(document, "hidden", { get: () => window.isHidden });
    window.requestAnimationFrame = (action) => (window.isHidden ? held.push(action) : frame(action));
    window.setTimeout = (action, ms = 0, ...given) => timer(action, window.isHidden ? Math.max(ms, 1000) : ms, ...given);
    window.hide = (isHidden) => {
      window.isHidden = isHidden;
      document.dispatchEvent(new Event("visibilitychange"));
      if (!isHidden) for (const action of held.splice(0)) frame(action);
    };
  });
  await begun(page);
  const drawn = await curve(page);
  await page.evaluate(() => window.hide(true));
  const findings = page.locator("longview-perplexity .findings li");
  await isWhole(page);
  const before = await picture(page, drawn);
  await page.waitForTimeout(1500);
  expect((await picture(page, drawn)).hash).toBe(before.hash);
  await page.evaluate(() => window.hide(false));
  await expect(findings.first()).toContainText("1,024");
  await expect.poll(async () => (await picture(page, drawn)).hash).not.toBe(before.hash);
  expect(await told(page)).toBe("");
});

test("a machine that sleeps in the middle of a run loses nothing", async ({ page }) => {
  await page.clock.install();
  // In the worker the clock jumps too, and what it waits for comes due.
  await inWorkers(page, () => {
    const { setTimeout: real, performance: clock } = self;
    let jump = 0;
    const waiting = new Map();
    self.setTimeout = (action, ms, ...given) => {
      const id = real(() => (waiting.delete(id), action(...given)), ms);
      waiting.set(id, () => action(...given));
      return id;
    };
    const now = clock.now.bind(clock);
    clock.now = () => now() + jump;
    self.sleep = (ms) => {
      jump += ms;
      const due = [...waiting];
      waiting.clear();
      for (const [id, action] of due) {
        clearTimeout(id);
        action();
      }
    };
  });
  await page.goto(`?${new URLSearchParams({ ...run, max: 1024 })}`);
  const measured = async () => {
    await page.clock.runFor(200);
    return (await results(page)).length;
  };
  await expect.poll(measured).toBeGreaterThan(2);
  const helpers = await page.evaluate(() => window.longview.engine.helpers.size);
  for (let i = 0; i < 3; i++) {
    await page.workers()[0].evaluate(() => self.sleep(8 * 3_600_000));
    await page.clock.fastForward(8 * 3_600_000);
  }
  await expect.poll(async () => (await measured(), (await results(page)).filter(({ length }) => length === 1024).length)).toBe(2);
  expect(await told(page)).toBe("");
  expect(await page.evaluate(() => window.longview.engine.helpers.size)).toBe(helpers);
  expect((await state(page)).max).toBe(1024);
});
