// Models on demand, the reader's own text, methods at inference, and the board of claims.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, open, results, root, shortText, state, test, told } from "./fixtures.js";

const checkpoint = (name) => readFileSync(join(root, `www/checkpoints/${name}.safetensors`));
const view = (name, more = {}) => ({ view: name, engine: "cpu", max: 64, length: 32, encodings: "alibi", ...more });
const perplexity = "longview-perplexity";

const manifest = () => JSON.parse(readFileSync(join(root, "www/checkpoints/manifest.json"), "utf8"));

/** Gives the page models that the manifest may not have yet: those of their encodings, a little changed. */
async function withModels(page, names) {
  const bodies = new Map(names.map((name, index) => {
    const body = checkpoint(name.split("-")[0]);
    // The last bit of the last weight, so that each has a hash of its own.
    body[body.length - 2] ^= index + 1;
    return [name, body];
  }));
  const usual = manifest().filter(({ name }) => !bodies.has(name));
  const entry = ([name, body]) => ({ ...usual.find((model) => model.name === name.split("-")[0]), name, sha256: createHash("sha256").update(body).digest("hex") });
  await page.route("**/manifest.json", (route) => route.fulfill({ json: [...usual, ...[...bodies].map(entry)] }));
  const asked = [];
  for (const [name, body] of bodies) {
    await page.route(`**/${name}.safetensors`, (route) => {
      asked.push(name);
      return route.fulfill({ contentType: "application/octet-stream", body });
    });
  }
  return asked;
}
const measuredNames = async (page) => [...new Set((await results(page)).map(({ encoding }) => encoding))].sort();

test.describe("models", () => {
  test("a model is kept by its hash, and not fetched again", async ({ page }) => {
    let asked = 0;
    await page.route("**/alibi.safetensors", (route) => {
      asked += 1;
      return route.continue();
    });
    await open(page, view("perplexity"));
    await expect.poll(async () => (await results(page)).length).toBeGreaterThan(0);
    expect(asked).toBe(1);
    const kept = () => page.evaluate(async () => (await (await caches.open("longview-models")).keys()).length);
    await expect.poll(kept).toBe(1);
    await page.reload();
    await expect.poll(async () => (await results(page)).length).toBeGreaterThan(0);
    expect(asked, "fetched anew").toBe(1);
    // Another version takes the place of the one that is kept.
    await page.route("**/manifest.json", (route) => route.fulfill({ json: manifest().map((model) => ({ ...model, sha256: "0".repeat(64) })) }));
    await page.reload();
    await expect.poll(() => told(page)).toMatch(/alibi\.safetensors.*SHA-256.*0000/);
    expect(asked).toBe(2);
    await expect.poll(kept).toBe(0);
    expect(await results(page)).toEqual([]);
  });

  test("where storage is denied, models are fetched as before", async ({ page }) => {
    await page.route("**/pkg/worker.js", async (route) => {
      const response = await route.fetch();
      const denied = `Object.defineProperty(self, "caches", { get() { throw new DOMException("denied", "SecurityError"); } });\n`;
      await route.fulfill({ response, body: denied + (await response.text()) });
    });
    await open(page, view("perplexity"));
    await expect.poll(async () => (await results(page)).length).toBeGreaterThan(0);
    expect(await told(page)).toBe("");
  });
});

test.describe("sets of models and methods", () => {
  const choose = (page, name) => page.locator(`${perplexity} [data-control="${name}"] select`);

  test("models are fetched when they are asked for, and their size is said before", async ({ page }) => {
    const asked = await withModels(page, ["alibi-h1", "alibi-h2", "alibi-h8", "alibi-s2"]);
    await open(page, view("perplexity"));
    await expect.poll(async () => (await results(page)).length).toBe(3);
    await expect(choose(page, "models").locator("option").nth(1)).toHaveText(/3 to fetch, 2\.3 MB/);
    await expect(page.locator(`${perplexity} [data-control="seeds"]`)).toContainText(/1 to fetch, 0\.77 MB/);
    expect(asked).toEqual([]);
    await choose(page, "models").selectOption("heads");
    await expect.poll(() => measuredNames(page)).toEqual(["alibi", "alibi-h1", "alibi-h2", "alibi-h8"]);
    expect(asked.sort()).toEqual(["alibi-h1", "alibi-h2", "alibi-h8"]);
    const labels = () => page.locator(perplexity).evaluate(({ view }) => view.charts[0].figure.series.map(({ label }) => label));
    expect(await labels()).toContain("ALiBi, 8 heads");
    await expect(page.locator(`${perplexity} [data-control="encodings"]`)).toBeHidden();
    await choose(page, "models").selectOption("encodings");
    await page.locator(`${perplexity} [data-control="seeds"] input`).check();
    await expect.poll(() => asked.includes("alibi-s2")).toBe(true);
    await expect.poll(() => page.locator(perplexity).evaluate(({ view }) => view.charts[0].figure.series[0].points.every(({ other_seed }) => other_seed > 1))).toBe(true);
  });

  test("a model that is nowhere is named, and the rest goes on", async ({ page }) => {
    await page.route("**/alibi-l64.safetensors", (route) => route.abort());
    await open(page, view("perplexity", { models: "lengths" }));
    await expect.poll(() => told(page)).toMatch(/alibi-l64\.safetensors/);
    await expect.poll(() => measuredNames(page)).toContain("alibi");
  });

  test("a changed model is drawn beside the plain one", async ({ page }) => {
    await open(page, view("perplexity", { encoding: "rotary", encodings: "rotary", max: 256, scaling: "pi" }));
    await expect.poll(async () => (await results(page)).length).toBe(10);
    await expect.poll(() => page.locator(perplexity).evaluate(({ view }) => view.data.run.isFinished)).toBe(true);
    const at = async (encoding, length) => (await results(page)).find((point) => point.encoding === encoding && point.length === length).perplexity;
    expect(await measuredNames(page)).toEqual(["rotary", "rotary?scaling=pi"]);
    // A factor of T/L changes nothing within L, and past it something.
    expect(await at("rotary?scaling=pi", 64)).toBeCloseTo(await at("rotary", 64), 4);
    expect(await at("rotary?scaling=pi", 256)).not.toBeCloseTo(await at("rotary", 256), 1);
    await expect(page.locator(`${perplexity} .findings`)).toContainText("Rotary, position interpolation");
    for (const [control, isShown] of [["factor", true], ["beta_fast", false], ["far_window", false], ["window", true]]) {
      await expect(page.locator(`${perplexity} [data-control="${control}"]`)).toBeVisible({ visible: isShown });
    }
    // Keys that are scored otherwise far away leave no room for a window.
    await choose(page, "scaling").selectOption("rerope");
    await expect(page.locator(`${perplexity} [data-control="window"]`)).toBeHidden();
    await expect.poll(() => measuredNames(page)).toContain("rotary?rerope=64");
    expect(await told(page)).toBe("");
  });

  test("a window leaves what is older unseen, in curve and attention", async ({ page }) => {
    await open(page, view("attention", { length: 64, window: 16 }));
    const profile = () => page.locator("longview-attention").evaluate(({ view }) => {
      const found = view.data.attentions.main;
      return found && [found.profile[15], found.profile[16]];
    });
    await expect.poll(profile).toBeTruthy();
    const [last, older] = await profile();
    expect(last).toBeGreaterThan(0);
    expect(older).toBe(0);
  });

  test("sliding windows score what is new, from the stride on", async ({ page }) => {
    await open(page, view("perplexity", { windows: "sliding", stride: 32 }));
    await expect.poll(async () => (await results(page)).map(({ length }) => length)).toEqual([32, 64]);
    await expect(page.locator(`${perplexity} .notes`).last()).toContainText(/move on by 32 tokens/);
  });
});

test.describe("the reader's own text", () => {
  test.use({ textCharacters: 4000 });
  const box = (page) => page.locator(`${perplexity} .own`);
  const paste = (page, text) => box(page).locator("textarea").fill(text);
  const NOVEL = () => readFileSync(join(root, "www/texts/hamlet.txt"), "utf8");

  test("it is measured, counted, and kept out of the address", async ({ page }) => {
    await open(page, view("perplexity", { text: "own" }), "picture");
    await expect(box(page)).toContainText(/no text yet/i);
    expect(await results(page)).toEqual([]);
    await paste(page, `${NOVEL().slice(0, 3000)} “漢字” – ½`);
    await expect(box(page)).toContainText(/\d tokens; 4 characters are not in the vocabulary/);
    await expect(box(page)).toContainText(/Lengths from 16 to 1,024/);
    await expect.poll(async () => (await results(page)).map(({ length }) => length)).toEqual([16, 32, 64]);
    const first = (await results(page))[0].perplexity;
    // Uncleaned, the same characters are lacking, and the quotes with them.
    await box(page).getByRole("checkbox").uncheck();
    await expect(box(page)).toContainText(/; 6 characters are not/);
    await paste(page, NOVEL().slice(5000, 9000));
    await expect(box(page)).toContainText(/4,000 characters/);
    await expect.poll(async () => (await results(page)).length).toBe(3);
    expect((await results(page))[0].perplexity).not.toBe(first);
    expect(decodeURIComponent(page.url())).not.toContain(NOVEL().slice(5000, 5020));
    // This tab remembers it.
    await page.reload();
    await expect(box(page).locator("textarea")).toHaveValue(NOVEL().slice(5000, 9000));
    await expect.poll(async () => (await results(page)).length).toBe(3);
    await page.locator(`${perplexity} .share`).click();
    expect(await page.locator(`${perplexity} .share-dialog textarea`).first().inputValue()).not.toContain("own");
  });

  test("short, empty and binary texts are told apart, and the text before stays", async ({ page }) => {
    await open(page, view("perplexity", { text: "own" }), "picture");
    await paste(page, "Call me Ishmael.");
    await expect(box(page)).toContainText(/Too short/);
    await expect.poll(() => told(page)).toMatch(/your own text/);
    const give = (name, bytes) => box(page).locator("input[type=file]").setInputFiles({ name, mimeType: "text/plain", buffer: Buffer.from(bytes) });
    await give("prose.txt", NOVEL().slice(0, 2000));
    await expect(box(page)).toContainText(/prose\.txt: 2,000 characters/);
    await give("picture.png", [0x89, 0x50, 0, 0, 1]);
    await expect(box(page).locator(".problem")).toContainText(/picture\.png is no text/);
    await give("latin1.txt", [0x63, 0x61, 0x66, 0xe9, 0x20]);
    await expect(box(page).locator(".problem")).toContainText(/latin1\.txt is not UTF-8/);
    await give("nothing.txt", []);
    await expect(box(page).locator(".problem")).toContainText(/nothing\.txt is empty/);
    await expect(box(page)).toContainText(/prose\.txt: 2,000 characters/);
    await expect.poll(async () => (await results(page)).length).toBe(3);
    await box(page).getByRole("button", { name: "Remove" }).click();
    await expect(box(page)).toContainText(/no text yet/i);
    expect(await results(page)).toEqual([]);
    expect((await state(page)).text).toBe("own");
  });

  test("a file is dropped, and the attention reads it", async ({ page }) => {
    await open(page, view("attention", { text: "own" }), "picture");
    await page.locator("longview-attention .own").evaluate((box, text) => {
      const data = new DataTransfer();
      data.items.add(new File([text], "dropped.txt"));
      box.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
    }, NOVEL().slice(0, 1500));
    await expect(page.locator("longview-attention .own")).toContainText(/dropped\.txt: 1,500/);
    await expect.poll(() => page.locator("longview-attention").evaluate(({ view }) => view.data.attentions.main?.words?.length)).toBe(32);
  });
});

test.describe("the board of claims", () => {
  const board = "longview-claims";
  const row = (page, id) => page.locator(`${board} [data-claim="${id}"]`);
  const button = (page, id, name) => row(page, id).getByRole("button", { name });
  const start = async (page, more = {}) => {
    await withModels(page, ["sinusoidal-s2", "rotary-s2"]);
    await open(page, { view: "claims", engine: "cpu", quick: 1, ...more });
  };

  test("a claim is estimated, measured, explained, kept over a reload, and forgotten", async ({ page }) => {
    await start(page);
    const id = "sinusoidal";
    await expect(row(page, id).locator(".cost").nth(1)).toHaveText(/about .*(s|min).*fetches 1\.6 MB/);
    await expect(row(page, id)).toHaveAttribute("data-verdict", "unmeasured");
    await button(page, id, /^Measure/).click();
    await expect(button(page, id, /^Cancel/)).toBeVisible();
    // What was measured before a cancel stays.
    await expect.poll(() => row(page, id).locator("progress").evaluate(({ value }) => value)).toBeGreaterThan(0);
    await button(page, id, /^Cancel/).click();
    await button(page, id, /^Go on/).click();
    await expect(button(page, id, /^Measured/)).toBeDisabled();
    await expect(row(page, id)).toHaveAttribute("data-verdict", /^(holds|partly|differs)$/);
    await expect(row(page, id).locator(".finding")).toHaveText(/\d/);
    await row(page, id).locator("summary").first().click();
    await expect(row(page, id).locator("canvas")).toBeVisible();
    await expect(row(page, id).getByRole("cell").filter({ hasText: "±" }).first()).toBeVisible();
    const sentence = await row(page, id).locator(".finding").textContent();
    await page.reload();
    await expect(row(page, id).locator(".finding")).toHaveText(sentence);
    await expect(button(page, id, /^Measured/)).toBeDisabled();
    await button(page, id, /^Forget/).click();
    await expect(row(page, id)).toHaveAttribute("data-verdict", "unmeasured");
    await page.reload();
    await expect(button(page, id, /^Measure/)).toBeEnabled();
    expect(await told(page)).toBe("");
  });

  test.describe("without a model", () => {
    test.use({ expectedFailures: [[/rotary-s2/]] });
    test("the claim is measured without it, and says so", async ({ page }) => {
      await start(page);
      await page.route("**/rotary-s2.safetensors", (route) => route.fulfill({ status: 404, body: "" }));
      await button(page, "rotary", /^Measure/).click();
      await expect(row(page, "rotary").locator(".problem")).toContainText(/Without Rotary, seed 2/);
      await expect(button(page, "rotary", /^Measured/)).toBeDisabled();
      await expect.poll(() => told(page)).toMatch(/rotary-s2/);
    });

    test("once it can be had, trying again measures what was left out", async ({ page }) => {
      await start(page);
      let isThere = false;
      await page.route("**/rotary-s2.safetensors", (route) => (isThere ? route.fallback() : route.fulfill({ status: 404, body: "" })));
      await button(page, "rotary", /^Measure/).click();
      await expect(row(page, "rotary").locator(".problem")).toContainText(/Without Rotary, seed 2/);
      await expect(button(page, "rotary", /^Measured/)).toBeDisabled();
      // Another claim is not begun by it, and one failure more changes nothing.
      const again = page.locator(`${board} .messages p`).filter({ hasText: "rotary-s2" }).getByRole("button", { name: "Try again" });
      await again.click();
      await expect(again).toBeVisible();
      await expect(button(page, "rotary", /^Measured/)).toBeDisabled();
      isThere = true;
      await again.click();
      await expect(row(page, "rotary").locator(".problem")).toHaveText("");
      await expect(button(page, "rotary", /^Measured/)).toBeDisabled();
      const seeds = () => page.evaluate(() => window.longview.engine.board.findings.get("rotary").picture.series.map(({ name }) => name));
      await expect.poll(seeds).toEqual(["rotary", "rotary-s2"]);
      expect(await told(page)).toBe("");
      await expect(button(page, "sinusoidal", /^Measure/)).toBeEnabled();
    });
  });

  test("two pages measure into one set of results, and forget together", async ({ page, context, textCharacters }) => {
    await start(page);
    const other = await context.newPage();
    await other.route("**/pkg/assets/*.txt", (route) => route.fulfill({ contentType: "text/plain; charset=utf-8", body: shortText(route.request().url(), textCharacters) }));
    await start(other);
    // Both at once, so that each keeps while the other measures.
    await Promise.all([button(page, "sinusoidal", /^Measure/).click(), button(other, "scale", /^Measure/).click()]);
    for (const one of [page, other]) {
      for (const id of ["sinusoidal", "scale"]) await expect(button(one, id, /^Measured/)).toBeDisabled();
    }
    const sentences = (one) => Promise.all(["sinusoidal", "scale"].map((id) => row(one, id).locator(".finding").textContent()));
    const found = await sentences(page);
    expect(await sentences(other)).toEqual(found);
    await page.reload();
    for (const [index, id] of ["sinusoidal", "scale"].entries()) await expect(row(page, id).locator(".finding")).toHaveText(found[index]);
    // ALiBi's share of "scale" is forgotten, in both.
    await button(page, "alibi", /^Forget/).click();
    for (const one of [page, other]) {
      await expect(row(one, "scale")).toHaveAttribute("data-verdict", "unmeasured");
      await expect(button(one, "sinusoidal", /^Measured/)).toBeDisabled();
    }
    await page.getByRole("button", { name: "Forget all results" }).click();
    await expect(button(other, "sinusoidal", /^Measure/)).toBeEnabled();
    expect(await other.evaluate(() => Object.keys(localStorage).filter((name) => name.startsWith("longview-board")))).toEqual([]);
    await other.close();
  });

  test("two boards of one document are one", async ({ page }) => {
    await start(page);
    await expect(button(page, "alibi", /^Measure/)).toBeEnabled();
    await page.evaluate(() => {
      const second = document.createElement("longview-claims");
      second.id = "second";
      document.querySelector("main").prepend(second);
    });
    const [second, quick] = [page.locator("#second"), (one) => one.locator('[data-control="quick"] input')];
    const first = page.locator(`${board}:not(#second)`);
    // The second one's own choice is not quick, and now holds for both.
    await expect(quick(first)).not.toBeChecked();
    await quick(second).check();
    await expect(quick(first)).toBeChecked();
    await second.locator('[data-claim="scale"]').getByRole("button", { name: /^Measure/ }).click();
    for (const one of [first, second]) await expect(one.locator('[data-claim="scale"]')).toHaveAttribute("data-verdict", /^(holds|partly|differs)$/);
  });

  test("results of another checkpoint are not shown, before anything is loaded", async ({ page }) => {
    await start(page);
    await button(page, "scale", /^Measure/).click();
    await expect(button(page, "scale", /^Measured/)).toBeDisabled();
    const kept = (model) => page.evaluate((model) => Object.keys(localStorage).filter((name) => name.includes(`losses ${model} `)).length, model);
    expect(await kept("sinusoidal")).toBe(3);
    await page.route("**/manifest.json", (route) => route.fulfill({ json: manifest().map((model) => (model.name === "sinusoidal" ? { ...model, sha256: "0".repeat(64) } : model)) }));
    await page.reload();
    await expect(row(page, "scale")).toHaveAttribute("data-verdict", "unmeasured");
    await expect(button(page, "scale", /^Go on/)).toBeEnabled();
    await expect(button(page, "sinusoidal", /^Measure/)).toBeEnabled();
    expect([await kept("sinusoidal"), await kept("alibi")]).toEqual([0, 3]);
  });

  test("full storage is said, and the results stay as long as the page", async ({ page }) => {
    await page.addInitScript(() => {
      Storage.prototype.setItem = () => {
        throw new DOMException("full", "QuotaExceededError");
      };
    });
    await start(page);
    await button(page, "sinusoidal", /^Measure/).click();
    await expect(button(page, "sinusoidal", /^Measured/)).toBeDisabled();
    await expect(page.locator(`${board} .laboratory .notes`)).toContainText(/keeps no results/);
    await expect(row(page, "sinusoidal")).toHaveAttribute("data-verdict", /^(holds|partly|differs)$/);
  });

  test("on a narrow screen nothing is wider than it", async ({ page }) => {
    await page.setViewportSize({ width: 320, height: 640 });
    await start(page);
    await expect(row(page, "sinusoidal")).toBeVisible();
    const widths = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    expect(widths[0]).toBeLessThanOrEqual(widths[1]);
  });
});
