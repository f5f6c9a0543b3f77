// Matrix products of the engines beside kernels that do nothing else, at the shipped models' shapes.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { gpu, launch } from "./chromium.js";
import { OUT } from "./prepare.js";

/** `out[m][n] = a[m][k] · b[k][n]`: q, k and v; attention's output; the MLP's two; the vocabulary. */
const SHAPES = [
  { name: "q, k, v", m: 2048, k: 96, n: 288 },
  { name: "out", m: 2048, k: 96, n: 96 },
  { name: "up", m: 2048, k: 96, n: 384 },
  { name: "down", m: 2048, k: 384, n: 96 },
  { name: "vocabulary", m: 2048, k: 96, n: 512 },
];
/** Products in one turn, so that neither the clock's steps nor the wait for a GPU's end count. */
const REPEATS = 8;

/** Builds the kernels with and without relaxed SIMD. */
function build() {
  const folder = join(OUT, "limits");
  mkdirSync(folder, { recursive: true });
  const target = join(folder, "target");
  for (const [name, features, flags] of [
    ["simd128", [], "+simd128"],
    ["relaxed", ["--features", "relaxed"], "+simd128,+relaxed-simd"],
  ]) {
    const given = ["build", "--release", "--quiet", "--target", "wasm32-unknown-unknown", "--target-dir", target];
    const manifest = ["--manifest-path", join(import.meta.dirname, "limits/wasm/Cargo.toml")];
    execFileSync(process.env.CARGO ?? "cargo", [...given, ...manifest, ...features], {
      stdio: "inherit",
      env: { ...process.env, CARGO_ENCODED_RUSTFLAGS: `-Ctarget-feature=${flags}` },
    });
    copyFileSync(join(target, "wasm32-unknown-unknown/release/longview_bench_limits.wasm"), join(folder, `${name}.wasm`));
  }
}

const gigaflops = ({ m, k, n }, ms) => (2e-6 * m * k * n) / ms;

/** Of every shape: ours and all variants in GFLOP/s, each by its fastest turn: a limit is what can be reached. */
export async function limits(servers, { rounds, note }) {
  build();
  const browser = await launch(servers.plain.address);
  const results = [];
  try {
    const page = await browser.newPage();
    page.on("pageerror", (error) => note(String(error)));
    await page.goto(`${servers.isolated.address}bench/limits/index.html`);
    await page.waitForSelector("html[data-ready]", { state: "attached" });
    const rates = (shape, times) => Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, gigaflops(shape, Math.min(...ms))]));
    for (const shape of SHAPES) {
      const cpu = rates(shape, await page.evaluate((given) => window.cpuLimits(...given), [shape, 2 * rounds, REPEATS]));
      let webgpu;
      if (gpu()) webgpu = rates(shape, await page.evaluate((given) => window.gpuLimits(...given), [shape, rounds, REPEATS / 2]));
      results.push({ ...shape, cpu, webgpu });
      note(`${shape.name}: ${summary(cpu)}${webgpu ? `; WebGPU ${summary(webgpu)}` : ""}`);
    }
    return results;
  } finally {
    await browser.close();
  }
}

/** The fastest variant whose name begins so: `[name, GFLOP/s]`. */
export const best = (rates, prefix = "") =>
  Object.entries(rates)
    .filter(([name]) => name !== "ours" && name.startsWith(prefix))
    .reduce((most, entry) => (entry[1] > most[1] ? entry : most), ["none", 0]);

function summary(rates) {
  const [name, most] = best(rates, rates["simd128 2 × 16"] ? "simd128" : "");
  return `ours ${rates.ours.toFixed(1)} GFLOP/s, best ${most.toFixed(1)} (${name}): ${Math.round((100 * rates.ours) / most)} %`;
}
