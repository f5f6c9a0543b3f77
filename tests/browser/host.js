// Pages of other people, in which Longview is embedded: a small server, each with an origin of its own.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { expect } from "@playwright/test";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
};

/**
 * Serves pages (their text by path, HTML where its ending says nothing else) and folders (by the path's beginning) until it is closed.
 * @param {{pages?: Record<string, string>, folders?: Record<string, string>, answers?: Record<string, Function>}} content
 *   an answer takes what Node's server is given, and sends what it will
 */
export async function serve({ pages = {}, folders = {}, answers = {} }) {
  const find = (path) => {
    if (Object.hasOwn(pages, path)) return { body: Buffer.from(pages[path]), type: TYPES[extname(path)] ?? TYPES[".html"] };
    const start = Object.keys(folders).find((one) => path.startsWith(one));
    if (!start) return null;
    try {
      const file = join(folders[start], normalize(path.slice(start.length)));
      return { body: readFileSync(file), type: TYPES[extname(file)] ?? "application/octet-stream" };
    } catch {
      return null;
    }
  };
  const asked = [];
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://host").pathname);
    asked.push(path);
    if (Object.hasOwn(answers, path)) return answers[path](request, response);
    const found = find(path);
    response.writeHead(found ? 200 : 404, { "Content-Type": found?.type ?? "text/plain", "Access-Control-Allow-Origin": "*" });
    response.end(found?.body ?? "no such file");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    asked,
    close: () => new Promise((done) => {
      server.closeAllConnections();
      server.close(done);
    }),
  };
}

/** A whole document around some HTML. */
export const document = (body, head = "") =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Host</title><link rel="icon" href="data:,">${head}</head><body>${body}</body></html>`;

/** Scrolls at once; a frame out of sight has no frames of animation, for which Playwright's own way would wait. */
export const goTo = (locator) => locator.evaluate((one) => one.scrollIntoView({ block: "center", behavior: "instant" }));

/** A view of which one model is measured at few lengths. */
export const RUN = '<longview-perplexity encodings="alibi" max="256" engine="cpu"></longview-perplexity>';

/** Waits until a model has been measured past its trained length, in a page or a frame. */
export async function measured(place) {
  const findings = place.locator("longview-perplexity .findings li");
  await goTo(place.locator("longview-perplexity .status"));
  await expect(findings).not.toHaveCount(0);
  await expect(findings.first()).toContainText("256");
}

/** Goes to an element's first picture, waits until it is drawn, and that there is something on it. */
export async function drawn(element) {
  await goTo(element.locator("figure.chart").first());
  const canvas = element.locator("figure.chart[data-drawn] canvas").first();
  await expect(canvas).toBeVisible();
  const colours = () =>
    canvas.evaluate((one) => {
      const { data } = one.getContext("2d").getImageData(0, 0, one.width, one.height);
      return new Set(new Uint32Array(data.buffer)).size;
    });
  await expect.poll(colours).toBeGreaterThan(8);
  return canvas;
}

/** A number that changes with a canvas's content. */
export const hash = (canvas) =>
  canvas.evaluate((one) => {
    const { data } = one.getContext("2d").getImageData(0, 0, one.width, one.height);
    let sum = 0x811c9dc5;
    for (const pixel of new Uint32Array(data.buffer)) sum = Math.imul(sum ^ pixel, 0x01000193) >>> 0;
    return sum;
  });
