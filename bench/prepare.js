// Makes what the measured pages load: bundled adapters, the text's tokens, and the models as ONNX graphs.
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { build } from "esbuild";

export const ROOT = resolve(import.meta.dirname, "..");
export const OUT = join(ROOT, "out/bench");
const ADAPTERS = ["ours", "ours-workers", "onnxruntime", "jax", "tensorflow-wasm", "tensorflow-webgpu"];

/** Bundles the adapters into out/bench/page/, as their libraries are shipped: minified. */
export async function bundle() {
  await build({
    entryPoints: ADAPTERS.map((name) => join(import.meta.dirname, "page", `${name}.js`)),
    outdir: join(OUT, "page"),
    bundle: true,
    minify: true,
    format: "esm",
    // onnxruntime-web is loaded at run time, as it is.
    external: ["/bench/*"],
    logLevel: "error",
  });
}

/** Writes the held-out text in tokens as u32: all of it, and for the pages the first `count`. */
export async function writeTokens(count) {
  const script = join(OUT, "engine.mjs");
  await build({ entryPoints: [join(ROOT, "out/checks/engine.js")], outfile: script, bundle: true, format: "esm", logLevel: "error" });
  const { default: init, tokens } = await import(script);
  await init({ module_or_path: readFileSync(join(ROOT, "out/checks/engine_bg.wasm")) });
  const ids = tokens(readFileSync(join(ROOT, "www/checkpoints/tokenizer.json")), readFileSync(join(ROOT, "www/texts/persuasion.txt"), "utf8"));
  if (ids.length < count) throw new Error(`the text has ${ids.length} tokens, ${count} are needed`);
  writeFileSync(join(OUT, "text.bin"), ids);
  writeFileSync(join(OUT, "tokens.bin"), ids.subarray(0, count));
}

/** A Python with the packages that `requirements` (a path in bench/) names, in a folder of its own.
 *  Throws where there is none. */
export function python(requirements) {
  const folder = join(OUT, requirements.split("/")[0], "venv");
  const program = join(folder, process.platform === "win32" ? "Scripts/python.exe" : "bin/python");
  const list = join(import.meta.dirname, requirements);
  const stamp = join(folder, "installed.txt");
  const wanted = readFileSync(list, "utf8");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return program;
  const base = process.platform === "win32" ? "python" : "python3";
  console.error(`» installing ${wanted.trim().split("\n").join(", ")} into ${folder}`);
  const options = { stdio: ["ignore", "ignore", "inherit"] };
  execFileSync(base, ["-m", "venv", folder], options);
  execFileSync(program, ["-m", "pip", "install", "--quiet", "--requirement", list], options);
  writeFileSync(stamp, wanted);
  return program;
}

/** Writes the models as ONNX graphs, with plain and with fused attention, where they are older than what they are
 *  made from. */
export function exportModels(models) {
  mkdirSync(join(OUT, "onnx"), { recursive: true });
  const script = join(import.meta.dirname, "onnx/export.py");
  for (const model of models) {
    for (const attention of ["plain", "fused"]) {
      const [from, to] = [join(ROOT, `www/checkpoints/${model}.safetensors`), join(OUT, `onnx/${model}-${attention}.onnx`)];
      const age = Math.max(statSync(from).mtimeMs, statSync(script).mtimeMs);
      if (existsSync(to) && statSync(to).mtimeMs > age) continue;
      execFileSync(python("onnx/requirements.txt"), [script, from, to, "--attention", attention], { stdio: ["ignore", "inherit", "inherit"] });
    }
  }
}
