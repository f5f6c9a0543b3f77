// Downloads that say what went wrong. Errors carry the path of a sentence and its parts, so that each
// reader is told in their language.
import { Stall } from "./stall.js";
import { reason, Told } from "./told.js";

/** The page's files are far smaller; more is a mistake, and would fill the memory. */
const SIZE_BYTES_MAX = 8_000_000;

/** How a server's page begins that it sends in place of a file that it does not have. */
const WEB_PAGE = /^\s*<(!doctype|html)/i;

/** What to tell of any error. */
export const telling = (error) =>
  error?.told ?? { path: "problems.other", parts: { reason: reason(error) } };

/**
 * The bytes of a file.
 * @param {string | URL} address
 * @returns {Promise<Uint8Array>}
 */
export async function download(address) {
  const file = decodeURIComponent(new URL(address).pathname.split("/").pop());
  const stall = new Stall(file);
  return read(address, file, stall).finally(() => stall.end());
}

async function read(address, file, stall) {
  const fail = (reason) => {
    throw new Told("problems.download", { file, reason });
  };
  const tooLarge = (size) => {
    throw new Told("problems.tooLarge", { file, size: (size / 1e6).toFixed(1), limit: SIZE_BYTES_MAX / 1e6 });
  };
  const soon = async (promise) => {
    try {
      const come = await promise;
      stall.came();
      return come;
    } catch (error) {
      if (stall.error) throw stall.error;
      return fail(error.message);
    }
  };
  const response = await soon(fetch(address, { signal: stall.signal }));
  if (!response.ok) fail(`${response.status} ${response.statusText || "error"}`);
  const announced = Number(response.headers.get("content-length"));
  if (announced > SIZE_BYTES_MAX) tooLarge(announced);
  const chunks = [];
  let size = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await soon(reader.read());
    if (done) break;
    size += value.length;
    if (size > SIZE_BYTES_MAX) {
      await reader.cancel();
      tooLarge(size);
    }
    chunks.push(value);
  }
  if (chunks[0] && WEB_PAGE.test(new TextDecoder().decode(chunks[0].subarray(0, 64)))) throw new Told("problems.webPage", { file });
  if (size === 0) throw new Told("problems.emptyFile", { file });
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
