import { Stall } from "./stall.js";
import { reason, Told } from "./told.js";

/**
 * A module of WebAssembly, from where it stands or from its bytes. A server that does not say what a file is only
 * makes it slower.
 * @param {string | URL | Uint8Array<ArrayBuffer>} source
 * @returns {Promise<WebAssembly.Module>}
 */
export async function compile(source) {
  if (source instanceof Uint8Array) return WebAssembly.compile(source);
  const file = new URL(source).pathname.split("/").pop();
  const stall = new Stall(file);
  try {
    const response = await fetch(source, { signal: stall.signal });
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
    const type = response.headers.get("Content-Type") ?? "";
    if (type.startsWith("text/html")) throw new Told("problems.webPage", { file }, `the server sent a web page in the place of ${file}`);
    follow(response.clone(), () => stall.came());
    return type.startsWith("application/wasm") ? await WebAssembly.compileStreaming(response) : await WebAssembly.compile(await response.arrayBuffer());
  } catch (error) {
    // Aborted, a module that is compiled as it comes tells only that it was.
    throw stall.error ?? error;
  } finally {
    stall.end();
  }
}

/** Calls back at each piece that comes. */
async function follow(response, came) {
  const reader = response.body.getReader();
  try {
    while (!(await reader.read()).done) came();
  } catch {
    // Who wants the content is told.
  }
}

/**
 * What to tell of a program that cannot be had: the browser's refusal has another mend than the network's.
 * @param {Error} error
 */
export function whyNot(error) {
  if (error instanceof Told) return error.told;
  const why = reason(error);
  // A refused connection names the policy too.
  const isPolicy = /wasm|unsafe-eval/i.test(why) && /content security policy|\bCSP\b|unsafe-eval/i.test(why);
  const isRefused = typeof WebAssembly === "undefined" || error instanceof WebAssembly.CompileError || error instanceof WebAssembly.LinkError;
  return { path: isPolicy ? "problems.wasmPolicy" : isRefused ? "problems.wasm" : "problems.program", parts: { reason: why } };
}
