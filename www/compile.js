/**
 * A module of WebAssembly, from where it stands or from its bytes. A server that does not say what a file is only
 * makes it slower.
 * @param {string | URL | Uint8Array} source
 * @returns {Promise<WebAssembly.Module>}
 */
export async function compile(source) {
  if (source instanceof Uint8Array) return WebAssembly.compile(source);
  const response = await fetch(source);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  const isKnown = response.headers.get("Content-Type")?.startsWith("application/wasm");
  return isKnown ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}
