// What readers take away: the package, the site, the offline file, the examples.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, root, test } from "./fixtures.js";
import { RUN, document, drawn, measured, serve } from "./host.js";

test.use({ textCharacters: 0 });

const out = (...parts) => join(root, "out", ...parts);
const PACKAGE = out("pack/node_modules/longview");
const servers = [];
const start = async (content) => {
  const server = await serve(content);
  servers.push(server);
  return server;
};
test.afterEach(async () => {
  for (const server of servers.splice(0)) await server.close();
});

test.describe("the package as npm packs it", () => {
  test.beforeAll(() => {
    rmSync(out("pack"), { recursive: true, force: true });
    mkdirSync(PACKAGE, { recursive: true });
    const file = execFileSync("npm", ["pack", "--silent", "--pack-destination", out("pack"), join(root, "pkg")], { encoding: "utf8" }).trim();
    execFileSync("tar", ["-xzf", out("pack", file), "-C", PACKAGE, "--strip-components=1"]);
  });

  const importing = (address) => document(`<longview-alibi heads="4"></longview-alibi>${RUN}`, `<script type="module">import ${JSON.stringify(address)};</script>`);

  test("it is imported from another path", async ({ page }) => {
    const host = await start({ pages: { "/deep/in/page.html": importing("/node_modules/longview/longview.js") }, folders: { "/node_modules/longview/": PACKAGE } });
    await page.goto(`${host.origin}/deep/in/page.html`);
    await drawn(page.locator("longview-alibi"));
    await measured(page);
  });

  test("it is imported from another origin", async ({ page }) => {
    const other = await start({ folders: { "/cdn/longview@0/": PACKAGE } });
    const host = await start({ pages: { "/page.html": importing(`${other.origin}/cdn/longview@0/longview.js`) } });
    await page.goto(`${host.origin}/page.html`);
    await drawn(page.locator("longview-alibi"));
    await measured(page);
    // The page that its links lead to is there too.
    await page.locator("longview-alibi .share").click();
    const link = await page.locator("longview-alibi .share-dialog textarea").first().inputValue();
    await page.goto(link);
    await drawn(page.locator("longview-alibi"));
    expect(await page.evaluate(() => window.longview.state().heads)).toBe(4);
  });

  test("Vite bundles it", async ({ page }) => {
    const project = out("vite");
    rmSync(project, { recursive: true, force: true });
    cpSync(PACKAGE, join(project, "node_modules/longview"), { recursive: true });
    writeFileSync(join(project, "package.json"), '{"name": "host", "private": true, "type": "module"}');
    writeFileSync(join(project, "main.js"), 'import "longview";\n');
    writeFileSync(join(project, "index.html"), document(`<longview-alibi heads="4"></longview-alibi>${RUN}<script type="module" src="/main.js"></script>`));
    execFileSync(process.execPath, [join(root, "tests/browser/node_modules/vite/bin/vite.js"), "build", "--base", "./", "--logLevel", "warn"], { cwd: project });
    const host = await start({ folders: { "/base/": join(project, "dist") } });
    await page.goto(`${host.origin}/base/index.html`);
    await drawn(page.locator("longview-alibi"));
    await measured(page);
    // There is no page at an address to link to, and the script has the package's name.
    await page.locator("longview-alibi .share").click();
    const codes = page.locator("longview-alibi .share-dialog textarea");
    await expect(codes).toHaveCount(1);
    await expect(codes).toHaveValue(/import "longview".*<longview-alibi heads="4">/s);
  });
});

test("the site works under any path", async ({ page }) => {
  const host = await start({ folders: { "/some/base/": out("site") } });
  await page.goto(`${host.origin}/some/base/index.html?view=perplexity&encodings=alibi&max=256&engine=cpu`);
  await drawn(page.locator("longview-perplexity"));
  await measured(page);
  expect(host.asked.filter((path) => !path.startsWith("/some/base/"))).toEqual([]);
});

test.describe("the offline file", () => {
  const FILE = out("longview.html");
  const view = "view=perplexity&encodings=alibi&max=256&engine=cpu";

  test("it opens from a disk, runs a model, and asks the network for nothing", async ({ page }) => {
    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.route(/^https?:/, (route) => route.abort());
    await page.goto(`${pathToFileURL(FILE)}?${view}`);
    await drawn(page.locator("longview-perplexity"));
    await measured(page);
    expect(asked.filter((url) => !/^(file|blob|data):/.test(url))).toEqual([]);
    expect(asked.filter((url) => url.startsWith("file:"))).toHaveLength(1);
    // The same words from the other language's file, which stands inside too.
    await page.goto(`${pathToFileURL(FILE)}?${view}&lang=zh-Hant`);
    await drawn(page.locator("longview-perplexity"));
    await expect(page.locator("longview-perplexity h2")).toContainText(/\p{Script=Han}/u);
    // Link and frame; an element needs a script that is nowhere.
    await page.locator("longview-perplexity .share").click();
    await expect(page.locator("longview-perplexity .share-dialog textarea")).toHaveCount(2);
  });

  test("it works in a sandboxed frame, by its text and by its address", async ({ page }) => {
    const host = await start({ pages: { "/page.html": document("") }, folders: { "/files/": out() } });
    await page.goto(`${host.origin}/page.html`);
    const put = (attributes) =>
      page.evaluate((given) => {
        const frame = Object.assign(document.createElement("iframe"), given, { width: 1000, height: 700 });
        document.body.append(frame);
      }, attributes);
    await put({ sandbox: "allow-scripts", src: `/files/longview.html?${view}&embed=1` });
    const framed = page.frameLocator("iframe").nth(0);
    await measured(framed);
    await page.evaluate(() => document.querySelector("iframe").remove());
    await put({ sandbox: "allow-scripts", srcdoc: readFileSync(FILE, "utf8") });
    const written = page.frameLocator("iframe").nth(0);
    await drawn(written.locator("longview-alibi"));
    await written.locator("longview-attention").scrollIntoViewIfNeeded();
    await expect(written.locator("longview-attention .engine")).toHaveAttribute("data-engine", "cpu");
    await drawn(written.locator("longview-attention"));
  });
});

test.describe("the examples", () => {
  const EXAMPLES = join(root, "www/examples");
  let host;
  test.beforeEach(async () => {
    host = await start({ folders: { "/site/www/examples/reveal/": join(root, "tests/browser/node_modules/reveal.js/dist"), "/site/": out("site") } });
  });

  test("a plain page", async ({ page }) => {
    await page.goto(`${host.origin}/site/www/examples/plain.html`);
    for (const name of ["alibi", "rotary", "perplexity"]) {
      await page.locator(`longview-${name}`).scrollIntoViewIfNeeded();
      await drawn(page.locator(`longview-${name}`));
    }
    const frame = page.locator("iframe");
    await frame.scrollIntoViewIfNeeded();
    await drawn(page.frameLocator("iframe").locator("longview-t5-bias"));
    // Its height follows what is inside.
    const inside = () => page.frames()[1].evaluate(() => Math.ceil(document.documentElement.getBoundingClientRect().height));
    await expect.poll(async () => (await frame.boundingBox()).height - (await inside())).toBe(0);
    expect(await inside()).toBeGreaterThan(720);
  });

  test("slides of reveal.js", async ({ page }) => {
    await page.goto(`${host.origin}/site/www/examples/reveal.html`);
    const shown = () => page.evaluate(() => [...document.querySelectorAll(".slides > section")].findIndex((slide) => slide.classList.contains("present")));
    await expect.poll(shown).toBe(0);
    expect(await page.locator("longview-alibi [data-drawn]").count(), "drawn before its slide is shown").toBe(0);
    await page.keyboard.press("ArrowRight");
    await expect.poll(shown).toBe(1);
    await drawn(page.locator("longview-alibi"));
    // Inside a control the arrow keys move the control.
    await page.locator("longview-alibi input[type=range]").first().press("ArrowRight");
    await expect.poll(() => page.locator("longview-alibi").evaluate((element) => element.state.heads)).toBe(9);
    expect(await shown()).toBe(1);
    await page.evaluate(() => document.querySelector("longview-alibi").blur());
    await page.keyboard.press("ArrowRight");
    await expect.poll(shown).toBe(2);
    await expect(page.locator("longview-perplexity .findings li")).not.toHaveCount(0);
    await page.keyboard.press("ArrowRight");
    await drawn(page.frameLocator("iframe").locator("longview-rotary"));
  });

  test("a notebook and a Markdown page name what exists", async ({ page }) => {
    const notebook = JSON.parse(readFileSync(join(EXAMPLES, "notebook.ipynb"), "utf8"));
    expect(notebook.nbformat).toBe(4);
    const source = notebook.cells.filter(({ cell_type }) => cell_type === "code").map((cell) => cell.source.join("")).join("\n");
    expect(notebook.cells.every(({ id, source: lines }) => id && Array.isArray(lines))).toBe(true);
    const markdown = readFileSync(join(EXAMPLES, "quarto.qmd"), "utf8");
    const addresses = [...source.matchAll(/\{SITE\}(\/[^"]+)"/g), ...markdown.matchAll(/"\.\.\/\.\.(\/[^"]+)"/g)].map(([, address]) => address);
    expect(addresses).toHaveLength(4);
    for (const address of addresses) {
      expect((await page.request.get(`${host.origin}/site${address}`)).status(), address).toBe(200);
      if (!address.includes("?")) continue;
      await page.goto(`${host.origin}/site${address}`);
      // Every parameter is known and every value is possible.
      const view = new URL(address, host.origin).searchParams.get("view");
      await drawn(page.locator(`longview-${view}`));
      await expect(page.locator("#messages")).toBeEmpty();
    }
    const tags = [...`${source}${markdown}`.matchAll(/<(longview-[\w-]+)/g)].map(([, tag]) => tag);
    expect(tags.length).toBeGreaterThan(1);
    await page.goto(`${host.origin}/site/index.html`);
    for (const tag of tags) expect(await page.evaluate((name) => Boolean(customElements.get(name)), tag), tag).toBe(true);
    expect(readdirSync(EXAMPLES).sort()).toEqual(["notebook.ipynb", "plain.html", "quarto.qmd", "reveal.html"]);
  });
});
