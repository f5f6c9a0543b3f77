// Models on demand, the reader's own text, methods at inference, and the board of claims.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, open, results, root, state, test, told } from "./fixtures.js";

const checkpoint = (name) => readFileSync(join(root, `www/checkpoints/${name}.safetensors`));
const view = (name, more = {}) => ({ view: name, engine: "cpu", max: 64, length: 32, encodings: "alibi", ...more });
const perplexity = "longview-perplexity";

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
    await page.route("**/manifest.json", (route) => {
      const all = JSON.parse(readFileSync(join(root, "www/checkpoints/manifest.json"), "utf8"));
      return route.fulfill({ json: all.map((model) => ({ ...model, sha256: "0".repeat(64) })) });
    });
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
