// Starts the engine's worker, from where it stands or from a copy.
import { address, bytes, isOffline } from "./assets.js";
import { download } from "./download.js";

/** The worker's script where it starts from a copy: helpers start from the same. */
let script = null;

/** Starts the worker; the only place that knows how. Its script is of one piece and no module. */
export async function makeWorker() {
  const place = !isOffline() ? address("worker.js") : null;
  if (place?.origin === location.origin && self.origin !== "null") return new Worker(place);
  // From another origin, in a sandboxed frame and in the offline file only a script of our own may start as a
  // worker, and it may import nothing: a copy of the whole.
  script ??= bytes("worker.js") ?? (await download(place));
  const copy = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const worker = new Worker(copy);
  // It has read the copy by its first message or failure.
  for (const event of ["message", "error"]) worker.addEventListener(event, () => URL.revokeObjectURL(copy), { once: true });
  return worker;
}
