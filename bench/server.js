// Serves the repository on this machine and notes what was asked for.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".json": "application/json",
  ".wasm": "application/wasm",
};
/** With these a page may share memory between threads. */
const ISOLATED = {
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "cross-origin-resource-policy": "same-origin",
};

/** Starts a server of `folder`; `sent` has the path and bytes of every file since it was last emptied. */
export async function serve(folder, isolated) {
  const sent = new Map();
  const server = createServer(async (request, response) => {
    const path = normalize(decodeURIComponent(request.url.split("?")[0]));
    const file = path.endsWith("/") ? `${path}index.html` : path;
    try {
      const body = await readFile(join(folder, file));
      sent.set(file, body.length);
      response.writeHead(200, {
        "content-type": TYPES[extname(file)] ?? "application/octet-stream",
        "content-length": body.length,
        // Every load is a first one.
        "cache-control": "no-store",
        ...(isolated ? ISOLATED : {}),
      });
      response.end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { address: `http://127.0.0.1:${server.address().port}/`, sent, close: () => server.close() };
}
