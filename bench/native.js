// Our CPU engine beside candle and burn, natively on one thread, for orientation.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ROOT } from "./prepare.js";

/** `{ engine: { size: { ms, difference } } }` of one model. Builds the peers first, which takes minutes. */
export function native({ model, sizes, rounds }) {
  const manifest = join(import.meta.dirname, "native/Cargo.toml");
  const given = [model, sizes.map(({ text }) => text).join(), String(rounds)];
  const printed = execFileSync(process.env.CARGO ?? "cargo", ["run", "--release", "--quiet", "--manifest-path", manifest, "--", ...given], {
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, RAYON_NUM_THREADS: "1" },
  });
  const results = {};
  for (const [size, rows] of Object.entries(JSON.parse(printed))) {
    for (const { engine, ...found } of rows) (results[engine] ??= {})[size] = found;
  }
  return results;
}
