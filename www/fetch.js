// Downloads that say what went wrong.
import { problems } from "./locales/en.js";

/** The page's files are far smaller; more is a mistake, and would fill the memory. */
const SIZE_BYTES_MAX = 8_000_000;

/**
 * The bytes of a file beside the page.
 * @param {URL} address
 * @returns {Promise<Uint8Array>}
 */
export async function bytes(address) {
  const file = decodeURIComponent(address.pathname.split("/").pop());
  const fail = (reason) => {
    throw new Error(problems.download(file, reason));
  };
  let response;
  try {
    response = await fetch(address);
  } catch (error) {
    fail(error.message);
  }
  if (!response.ok) fail(`${response.status} ${response.statusText || "error"}`);
  const announced = Number(response.headers.get("content-length"));
  if (announced > SIZE_BYTES_MAX) fail(problems.tooLarge(announced, SIZE_BYTES_MAX));
  const chunks = [];
  let size = 0;
  try {
    for (const reader = response.body.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) break;
      size += value.length;
      if (size > SIZE_BYTES_MAX) {
        await reader.cancel();
        fail(problems.tooLarge(size, SIZE_BYTES_MAX));
      }
      chunks.push(value);
    }
  } catch (error) {
    if (size > SIZE_BYTES_MAX) throw error;
    fail(error.message);
  }
  if (size === 0) fail(problems.emptyFile);
  const all = new Uint8Array(size);
  let at = 0;
  for (const chunk of chunks) {
    all.set(chunk, at);
    at += chunk.length;
  }
  return all;
}
