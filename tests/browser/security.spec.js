// What keeps a reader safe: a strict policy, text from outside that is only ever text, and no request to anyone else.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test as plain } from "@playwright/test";
import { expect, open, results, root, test, told } from "./fixtures.js";

/** Would run if it became markup anywhere. */
const IMG = '<img src="x" onerror="window.hacked = true">';

const policyOf = (file) => {
  const [, policy] = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(readFileSync(join(root, file), "utf8"));
  return Object.fromEntries(policy.split(";").map((part) => part.trim().split(/\s+/)).map(([name, ...sources]) => [name, sources]));
};

for (const file of ["index.html", "pkg/page.html", "out/site/index.html", "out/longview.html"]) {
  plain(`the policy of ${file} lets in no inline script, no eval but WebAssembly's, and no other origin`, () => {
    const policy = policyOf(file);
    expect(policy["default-src"]).toEqual(["'none'"]);
    expect(policy["base-uri"]).toEqual(["'none'"]);
    expect(policy["form-action"]).toEqual(["'none'"]);
    for (const [name, sources] of Object.entries(policy)) {
      for (const source of sources) expect(`${name} ${source}`).toMatch(/^[\w-]+ ('none'|'self'|'wasm-unsafe-eval'|data:|blob:|'sha256-[\w+/=]+')$/);
    }
    expect(policy["script-src"]).toContain("'wasm-unsafe-eval'");
    for (const name of ["script-src", "style-src"]) expect(policy[name].join(" ")).not.toMatch(/data:|blob:/);
    const html = readFileSync(join(root, file), "utf8").replace(/<script[^>]*type="application\/octet-stream"[^>]*>[^<]*<\/script>/g, "");
    // Only the offline file has scripts and styles inside, by their hashes; none has handlers or styles in attributes.
    if (file !== "out/longview.html") expect(html).not.toMatch(/<style|<script(?![^>]* src=)/);
    expect(html.split(/<script|<style/)[0]).not.toMatch(/\s(on\w+|style)=/);
  });
}

plain("the browser enforces it", async ({ page }) => {
  await page.goto("?view=alibi");
  await expect(page.locator("html")).toHaveAttribute("data-ready", /picture|engine/);
  const refused = await page.evaluate(async () => {
    const violated = [];
    document.addEventListener("securitypolicyviolation", (event) => violated.push(event.effectiveDirective));
    const attempt = (work) => Promise.resolve().then(work).then(() => "done", () => "refused");
    const script = document.createElement("script");
    script.textContent = "window.hacked = true";
    document.head.append(script);
    const handler = document.createElement("div");
    handler.setAttribute("onclick", "window.hacked = true");
    document.body.append(handler);
    handler.click();
    const style = document.createElement("style");
    style.textContent = "body { display: none }";
    document.head.append(style);
    const outcomes = [
      // A text that is to run later; what the driver itself runs may evaluate.
      await attempt(() => new Promise((done) => {
        setTimeout("window.hacked = true");
        setTimeout(done, 200);
      })),
      await attempt(() => fetch("http://127.0.0.1:9/")),
      await attempt(() => new Promise((done, fail) => {
        const image = new Image();
        [image.onload, image.onerror] = [done, fail];
        image.src = "http://127.0.0.1:9/x.png";
      })),
    ];
    return { outcomes, violated, hacked: window.hacked, display: getComputedStyle(document.body).display };
  });
  expect(refused.outcomes).toEqual(["done", "refused", "refused"]);
  expect(refused.hacked).toBe(undefined);
  expect(refused.display).not.toBe("none");
  for (const directive of ["script-src-elem", "script-src-attr", "style-src-elem", "script-src", "connect-src", "img-src"]) {
    expect(refused.violated).toContain(directive);
  }
});

/** Elements of a kind in the page and in all shadow trees. */
const deep = (page, selector) => page.evaluate((wanted) => {
  const inside = (tree) => [...tree.querySelectorAll("*")].flatMap((one) => [...(one.matches(wanted) ? [one.outerHTML] : []), ...(one.shadowRoot ? inside(one.shadowRoot) : [])]);
  return inside(document);
}, selector);

async function isOnlyText(page) {
  expect(await deep(page, "img, iframe, object, embed, [onerror], [onclick], svg script")).toEqual([]);
  expect(await page.evaluate(() => window.hacked)).toBe(undefined);
}

test.describe("text from outside is only ever text", () => {
  // The policy would hide a mistake: here it is off.
  test.use({ bypassCSP: true });

  test("from the address, in every property", async ({ page }) => {
    await open(page, { view: "alibi" }, "picture");
    const names = await page.evaluate(() => Object.keys(window.longview.state()));
    expect(names).toContain("slopes");
    // A few at once, so that each has its own message; the views that have them all.
    for (let start = 0; start < names.length; start += 12) {
      // A few take any text and say nothing; heads always has something to say.
      const some = ["heads", ...names.slice(start, start + 12).filter((name) => name !== "view" && name !== "heads")];
      await open(page, Object.fromEntries(some.map((name) => [name, IMG])), "picture");
      await expect.poll(() => told(page)).toContain("<img");
      await isOnlyText(page);
    }
    await open(page, { [IMG]: "1", slopes: IMG, controls: IMG, lang: IMG }, "picture");
    await isOnlyText(page);
  });

  test("from attributes, and in the code that is shared", async ({ page }) => {
    await open(page, { view: "alibi", slopes: IMG }, "picture");
    const element = page.locator("longview-alibi").first();
    await element.evaluate((one, text) => {
      for (const name of ["slopes", "heads", "theme", "lang", "controls", "title"]) one.setAttribute(name, text);
    }, IMG);
    await element.getByRole("button", { name: "Share" }).click();
    const codes = await element.locator("textarea").evaluateAll((all) => all.map((area) => area.value));
    expect(codes.length).toBeGreaterThan(1);
    // As markup the code is one frame or element, and nothing else.
    const inside = await page.evaluate((all) => all.map((html) => {
      const made = new DOMParser().parseFromString(html, "text/html");
      return made.querySelectorAll("img, [onerror]").length;
    }), codes);
    expect(inside.every((count) => count === 0)).toBe(true);
    await isOnlyText(page);
  });

  test("from the reader's own text, and a file's name", async ({ page }) => {
    await open(page, { view: "attention", text: "own", engine: "cpu", length: 32 }, "picture");
    const view = page.locator("longview-attention").first();
    await view.locator("textarea").fill(`${IMG} `.repeat(40));
    await expect.poll(() => view.locator(".own").textContent()).toMatch(/token/);
    for (const bytes of [Buffer.from(`${IMG} `.repeat(60)), Buffer.from([0, 1, 2]), Buffer.alloc(0)]) {
      await view.locator("input[type=file]").setInputFiles({ name: `${IMG}.txt`, mimeType: "text/plain", buffer: bytes });
      await expect.poll(() => view.locator(".own").textContent()).toContain("<img");
    }
    await isOnlyText(page);
  });

  test("from a checkpoint, its metadata and the manifest", async ({ page }) => {
    const good = readFileSync(join(root, "www/checkpoints/alibi.safetensors"));
    const length = Number(good.readBigUInt64LE(0));
    const header = JSON.parse(good.subarray(8, 8 + length).toString());
    header.__metadata__.longview = header.__metadata__.longview.replace('"kind":"alibi"', `"kind":${JSON.stringify(IMG)}`);
    expect(header.__metadata__.longview).toContain("<img");
    const text = Buffer.from(JSON.stringify(header));
    const size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(text.length));
    const body = Buffer.concat([size, text, good.subarray(8 + length)]);
    await page.route("**/alibi.safetensors", (route) => route.fulfill({ contentType: "application/octet-stream", body }));
    await page.route("**/manifest.json", async (route) => {
      const list = JSON.parse(readFileSync(join(root, "www/checkpoints/manifest.json"), "utf8"));
      for (const entry of list) entry.set = entry.seed = entry.encoding.kind = IMG;
      Object.assign(list.find(({ name }) => name === "alibi"), { size_bytes: body.length, sha256: createHash("sha256").update(body).digest("hex") });
      await route.fulfill({ json: list });
    });
    await open(page, { encoding: "alibi", engine: "cpu", length: 32, max: 64 }, "picture");
    await expect.poll(() => told(page)).toMatch(/alibi.*<img/s);
    await isOnlyText(page);
  });

  test("from a language's words", async ({ page }) => {
    let changed = 0;
    await page.route("**/pkg/chunk-zh-Hant-*.js", async (route) => {
      const response = await route.fetch();
      // Every string that is a value.
      const body = (await response.text()).replace(/(?<=[\w"]):"/g, () => {
        changed += 1;
        return `:"<img src='x' onerror='window.hacked = true'>`;
      });
      await route.fulfill({ response, body });
    });
    await open(page, { lang: "zh-Hant", engine: "cpu", length: 32, max: 32 }, "picture");
    expect(changed).toBeGreaterThan(500);
    await expect.poll(() => page.locator("h1").textContent()).toContain("<img");
    await page.evaluate(() => window.scrollTo(0, document.documentElement.scrollHeight));
    await expect.poll(async () => (await results(page)).length).toBeGreaterThan(0);
    await isOnlyText(page);
  });
});

test("nothing is ever asked of another origin", async ({ page, context }) => {
  const asked = new Set();
  context.on("request", (request) => asked.add(request.url()));
  await page.addInitScript(() => {
    window.violated = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violated.push(event.blockedURI));
  });
  await open(page, { engine: "cpu", length: 64, max: 64 });
  // Every view comes into sight, and with it what it fetches.
  for (const view of await page.locator("main > *").all()) {
    await view.evaluate((one) => one.scrollIntoView({ block: "start", behavior: "instant" }));
    await page.waitForTimeout(300);
  }
  await expect.poll(async () => (await results(page)).length).toBeGreaterThan(5);
  await page.evaluate(() => window.scrollTo(0, 0));
  await open(page, { engine: "cpu", length: 64, max: 64, lang: "zh-Hant", text: "own", seeds: "1" }, "picture");
  // Requests of workers stand in the workers' own lists, too: the driver misses some.
  const listed = [page, ...page.workers()].map((place) => place.evaluate(() => performance.getEntriesByType("resource").map(({ name }) => name)));
  for (const names of await Promise.all(listed)) for (const name of names) asked.add(name);
  expect(asked.size).toBeGreaterThan(12);
  const own = new URL(process.env.LONGVIEW_URL).origin;
  const foreign = [...asked].filter((address) => !/^(data|blob):/.test(address) && new URL(address).origin !== own);
  expect(foreign).toEqual([]);
  expect(await page.evaluate(() => window.violated)).toEqual([]);
});
