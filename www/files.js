// The worker's files: from an address, from the page that carries them, or from the browser's cache. Models are
// compared with the manifest, and kept by their hash, so that each is fetched once.
import { download } from "./download.js";
import { Told } from "./told.js";

/** Models by hash; another version of a model is another entry. */
const CACHE = "longview-models";
/** A cache's keys are addresses; nothing is ever asked of this one. */
const keyOf = (sha256) => `https://longview.invalid/${sha256}`;

export class Files {
  /** @param {(message: Record<string, any>) => void} post tells the page */
  constructor(post) {
    this.post = post;
    /** Addresses by name; empty in the offline file, whose page gives bytes. */
    this.places = {};
    /** The folder of the models without an address of their own. */
    this.folder = null;
    /** Resolve what the page was asked for. */
    this.waiting = new Map();
    this.manifest = null;
  }

  /** The bytes of a file, by its name. */
  async read(name) {
    if (this.places[name]) return download(this.places[name]);
    if (this.folder && name.endsWith(".safetensors")) return download(new URL(name, this.folder)).catch(elsewhere(name));
    const given = new Promise((resolve) => this.waiting.set(name, resolve));
    this.post({ kind: "need", name });
    const bytes = await given;
    this.waiting.delete(name);
    if (!bytes) throw new Told(Object.keys(this.places).length ? "problems.notInPackage" : "problems.notCarried", { file: name });
    return bytes;
  }

  /** Takes what the page was asked for. */
  take({ name, bytes }) {
    this.waiting.get(name)?.(bytes);
  }

  /** What is known of all models, by name; empty where the manifest cannot be had: models are then used as they come. */
  models() {
    const told = (bytes) => new Map(JSON.parse(new TextDecoder().decode(bytes)).map((model) => [model.name, model]));
    if (!this.manifest) {
      this.manifest = this.read("manifest.json").then(told).catch(() => new Map());
      this.manifest.then(forgetOthers);
    }
    return this.manifest;
  }

  /** The hashes of all models by name; null where what is loaded cannot be compared with them. */
  async hashes() {
    const models = await this.models();
    return self.crypto?.subtle && models.size ? Object.fromEntries([...models].map(([name, model]) => [name, model.sha256])) : null;
  }

  /** A model: its bytes, and their hash where this browser computes one. */
  async model(name) {
    const file = `${name}.safetensors`;
    const known = (await this.models()).get(name);
    const kept = await keptBytes(known);
    if (kept) return { bytes: kept, hash: known.sha256 };
    const bytes = await this.read(file);
    if (!known) return { bytes, hash: await sha256(bytes) };
    if (bytes.length < known.size_bytes) throw new Told("problems.truncated", { file, size: bytes.length, whole: known.size_bytes });
    const hash = await sha256(bytes);
    if (hash !== null && hash !== known.sha256) throw new Told("problems.hash", { file, hash: hash.slice(0, 8), wanted: known.sha256.slice(0, 8) });
    // Without a hash nothing says what would be kept.
    if (hash !== null) await keep(known, bytes);
    return { bytes, hash };
  }
}

/** A folder without a model is a package that carries only the usual ones. */
const elsewhere = (file) => (error) => {
  throw error.told?.parts.reason?.startsWith("404") ? new Told("problems.notInPackage", { file }) : error;
};

/** In hexadecimal; null where browsers do not compute it, which is outside of https and this machine. */
async function sha256(bytes) {
  if (!self.crypto?.subtle) return null;
  const digest = new Uint8Array(await self.crypto.subtle.digest("SHA-256", bytes));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

// Storage may be missing, denied or full: the file is then fetched again the next time, and that is all.

async function keptBytes(known) {
  try {
    if (!known) return null;
    const found = await (await self.caches.open(CACHE)).match(keyOf(known.sha256));
    if (!found) return null;
    const bytes = new Uint8Array(await found.arrayBuffer());
    return (await sha256(bytes)) === known.sha256 ? bytes : null;
  } catch {
    return null;
  }
}

async function keep({ sha256: hash }, bytes) {
  try {
    await (await self.caches.open(CACHE)).put(keyOf(hash), new Response(bytes));
  } catch {
    // See above.
  }
}

/** Lets go of models that were kept and have since been trained anew. */
async function forgetOthers(models) {
  if (models.size === 0) return;
  try {
    const cache = await self.caches.open(CACHE);
    const current = new Set([...models.values()].map(({ sha256: hash }) => keyOf(hash)));
    for (const { url } of await cache.keys()) if (!current.has(url)) await cache.delete(url);
  } catch {
    // See above.
  }
}
