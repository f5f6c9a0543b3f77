/**
 * A module of WebAssembly, from where it stands or from its bytes. A server that does not say what a file is only
 * makes it slower.
 * @param {string | URL | Uint8Array<ArrayBuffer>} source
 * @returns {Promise<WebAssembly.Module>}
 */
export async function compile(source) {
  if (source instanceof Uint8Array) return WebAssembly.compile(source);
  const response = await fetch(source);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  const type = response.headers.get("Content-Type") ?? "";
  if (type.startsWith("application/wasm")) return WebAssembly.compileStreaming(response);
  if (type.startsWith("text/html")) throw new Error(`the server sent a web page in the place of ${new URL(response.url).pathname.split("/").pop()}`);
  return WebAssembly.compile(await response.arrayBuffer());
}

/**
 * What to tell of a program that cannot be had: the browser's refusal has another mend than the network's.
 * @param {Error} error
 */
export function whyNot(error) {
  const reason = String(error?.message ?? error).replace(/\.$/, "");
  const isPolicy = /content security policy|\bCSP\b|unsafe-eval/i.test(reason);
  const isRefused = typeof WebAssembly === "undefined" || error instanceof WebAssembly.CompileError || error instanceof WebAssembly.LinkError;
  return { path: isPolicy ? "problems.wasmPolicy" : isRefused ? "problems.wasm" : "problems.program", parts: { reason } };
}
