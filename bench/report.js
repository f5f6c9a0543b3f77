// Keeps what was measured in out/bench/results.json and makes tables of it.
import { cpus } from "node:os";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gpu } from "./chromium.js";
import { ENGINES, isOurs, MODELS, ours } from "./engines.js";
import { best } from "./limits.js";
import { OUT } from "./prepare.js";
import { median } from "./speed.js";

const FILE = join(OUT, "results.json");
const read = () => (existsSync(FILE) ? JSON.parse(readFileSync(FILE, "utf8")) : {});

/** Replaces what is new of one part's results of one model; the others stay, so that a long run can be made in pieces:
 *  of engines that are compared with each other, all together. */
export function keep(part, model, results) {
  const all = read();
  const machine = { date: new Date().toISOString(), cores: cpus().length, processor: cpus()[0].model.trim(), gpu: gpu() ?? "none" };
  const before = (all[part] ??= {})[model]?.results;
  all[part][model] = { machine, results: Array.isArray(results) ? results : { ...before, ...results } };
  writeFileSync(FILE, `${JSON.stringify(all, undefined, 1)}\n`);
}

const number = (value) => Math.round(value).toLocaleString("en-US");
const row = (cells) => `| ${cells.join(" | ")} |`;
const table = (head, rows) => [row(head), row(head.map((_, i) => (i ? "---:" : "---"))), ...rows.map(row)].join("\n");
const tokensOf = (text) => text.split("x").reduce((a, b) => a * b, 1);
/** A failure in a cell: what it says first, whole in results.json. */
const short = (failure) => (failure.length > 80 ? `${failure.slice(0, 77).trimEnd()}…` : failure).replaceAll("|", "/");
const rate = (text, found, clock = "ms") => (tokensOf(text) * 1000) / median(found[clock]);

/** A cell: tokens per second, and how many times as fast ours is. */
function speedCell(results, name, text, clock) {
  const found = results[name]?.[text];
  if (!found) return "";
  if (found.failure) return short(found.failure);
  const own = results[ours(name)]?.[text];
  const ratio = isOurs(name) || !own?.ms ? "" : ` (${(rate(text, own, clock) / rate(text, found, clock)).toFixed(2)})`;
  return `${number(rate(text, found, clock))}${ratio}${found.ms.length === 1 ? " ¹" : ""}`;
}

/** By which time an engine is told: by the clock; or, for one thread and for a GPU that is a program, by what its
 *  processes computed, which other programs on the machine disturb less. */
function clockOf({ gpu }, name) {
  const isSoftware = /swiftshader|llvmpipe|lavapipe|basic render/i.test(gpu);
  const { group } = ENGINES[name];
  return group === "WASM, 1 thread" || (group === "WebGPU" && isSoftware) ? "computed_ms" : "ms";
}

function speedTable([model, { machine, results }]) {
  const sizes = [...new Set(Object.values(results).flatMap(Object.keys))];
  const head = ["", ...sizes.map((text) => text.replace("x", " × "))];
  const rows = (names, clock) => names.map((name) => [ENGINES[name].title, ...sizes.map((text) => speedCell(results, name, text, clock))]);
  const measured = Object.keys(results);
  const parts = [`${MODELS[model]}, tokens/s (in brackets: how many times as fast ours is; ¹ one run):`, table(head, rows(measured, "ms"))];
  const isCounted = (name) => Object.values(results[name]).every(({ ms, computed_ms }) => !ms || computed_ms?.length === ms.length);
  const counted = measured.filter((name) => clockOf(machine, name) === "computed_ms");
  if (counted.length > 0 && counted.every(isCounted)) parts.push("The same by the time that the engine's processes computed, on whatever core:", table(head, rows(counted, "computed_ms")));
  return parts.join("\n\n");
}

function coldTable({ results }) {
  const rows = Object.entries(results).map(([name, { failure, first_ms, wire }]) =>
    failure
      ? [ENGINES[name].title, short(failure), "", ""]
      : [ENGINES[name].title, number(median(first_ms)), ...[wire.bytes, wire.gzip_bytes].map((bytes) => (bytes / 1e6).toFixed(2))],
  );
  return `First losses (16 × 128, ALiBi) after a cold load:\n\n${table(["", "ms", "MB", "MB gzipped"], rows)}`;
}

function growthTable({ machine, results }) {
  const sizes = [...new Set(Object.values(results).flatMap(Object.keys))];
  const cell = (name, found) => {
    if (!found) return "";
    if (found.failure) return short(found.failure);
    const memory = found.peak_bytes === undefined ? "–" : number(found.peak_bytes / 1e6);
    return `${number(found[clockOf(machine, name)] ?? found.ms)} ms, ${memory} MB`;
  };
  const rows = Object.entries(results).map(([name, result]) => [ENGINES[name].title, ...sizes.map((text) => cell(name, result[text]))]);
  return `One window of ALiBi: time of a run (what the processes computed, for one thread and for a GPU that is a program) and peak of resident memory above an empty page:\n\n${table(["", ...sizes.map((text) => `T = ${text.slice(2)}`)], rows)}`;
}

function limitsTable({ results }) {
  const share = (rates, prefix) => {
    if (!rates) return ["", "", ""];
    const [name, most] = best(rates, prefix);
    return [rates.ours.toFixed(1), `${most.toFixed(1)} (${name})`, `${Math.round((100 * rates.ours) / most)} %`];
  };
  const rows = results.map(({ name, m, k, n, cpu, webgpu }) => [`${name}: ${m} × ${k} × ${n}`, ...share(cpu, "simd128"), best(cpu, "relaxed")[1].toFixed(1), ...share(webgpu, "")]);
  const head = ["", "CPU", "best simd128 kernel", "share", "relaxed SIMD", "WebGPU", "best WGSL variant", "share"];
  return `Matrix products in GFLOP/s, ours beside the best kernel that does nothing else:\n\n${table(head, rows)}`;
}

function nativeTable([model, { results }]) {
  const sizes = Object.keys(Object.values(results)[0]);
  const [own] = Object.values(results);
  const isCounted = Object.values(results).every((result) => Object.values(result).every(({ computed_ms }) => computed_ms?.length > 0));
  const reached = (result, text) => rate(text, result[text], isCounted ? "computed_ms" : "ms");
  const cell = (result, text) => `${number(reached(result, text))}${result === own ? "" : ` (${(reached(own, text) / reached(result, text)).toFixed(2)})`}`;
  const rows = Object.entries(results).map(([name, result]) => [name, ...sizes.map((text) => cell(result, text))]);
  return `${MODELS[model]} natively on one thread, tokens/s${isCounted ? ", by the time that the program computed" : ""}:\n\n${table(["", ...sizes.map((text) => text.replace("x", " × "))], rows)}`;
}

function trainingLine({ results: { ours: own, jax, threads, difference } }) {
  if (jax.failure) return `Training: ${jax.failure}`;
  const pair = (clock) => {
    const [a, b] = [median(own[clock]), median(jax[clock])];
    return `ours ${a.toFixed(1)} ms, JAX ${b.toFixed(1)} ms (${(b / a).toFixed(2)})`;
  };
  const computed = own.computed_ms?.length > 0 ? `; by what all threads computed, ${pair("computed_ms")}` : "";
  return `A step of training (16 × 128 tokens, ALiBi, ${threads} cores): ${pair("ms")}${computed}; losses within ${difference.toExponential(0)}.`;
}

/** All tables, in Markdown. */
export function markdown(all) {
  const parts = [];
  for (const entry of Object.entries(all.speed ?? {})) parts.push(speedTable(entry));
  if (all.cold) parts.push(coldTable(all.cold.alibi));
  if (all.growth) parts.push(growthTable(all.growth.alibi));
  if (all.limits) parts.push(limitsTable(all.limits.shapes));
  for (const entry of Object.entries(all.native ?? {})) parts.push(nativeTable(entry));
  if (all.training) parts.push(trainingLine(all.training.alibi));
  return parts.join("\n\n");
}

export function print() {
  const text = markdown(read());
  writeFileSync(join(OUT, "results.md"), `${text}\n`);
  console.log(text);
}
