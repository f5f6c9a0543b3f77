// The first answer after a cold load, and how time and memory grow with the window's length. Each figure is of a
// browser of its own.
import { gzipSync } from "node:zlib";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ENGINES, isOurs, size } from "./engines.js";
import { ROOT } from "./prepare.js";
import { fromCold } from "./runner.js";
import { median } from "./speed.js";

const MODEL = "alibi";
const FIRST = size("16x128");
const LENGTHS = ["1x512", "1x1024", "1x2048", "1x4096", "1x8192"].map(size);
/** What only ours is asked for. */
const LONGEST = size("1x16384");

/** The pages' own files and the tokens are the bench's; the rest an engine needs. */
const isEngines = (path) => !path.endsWith("index.html") && !path.endsWith("page/page.js") && !path.endsWith("tokens.bin");

function wire(sent) {
  const paths = Object.keys(sent).filter(isEngines);
  const files = paths.map((path) => readFileSync(join(ROOT, path)));
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  return { bytes: sum(files.map((file) => file.length)), gzip_bytes: sum(files.map((file) => gzipSync(file, { level: 9 }).length)), files: paths };
}

/** Milliseconds from asking for the page to the first losses, medians of `rounds` browsers; bytes over the wire. */
export async function cold(servers, { engines, rounds, patience, note }) {
  const reference = (await fromCold(servers, "ours-cpu", MODEL, FIRST, undefined, { seconds: patience })).losses;
  const results = {};
  for (let round = 0; round < rounds; round++) {
    for (const name of engines.filter((name) => !results[name]?.failure)) {
      try {
        const { first_ms, sent } = await fromCold(servers, name, MODEL, FIRST, reference, { seconds: patience });
        results[name] ??= { first_ms: [], wire: wire(sent) };
        results[name].first_ms.push(first_ms);
      } catch (error) {
        results[name] = { failure: error.message };
      }
    }
  }
  for (const [name, { failure, first_ms, wire }] of Object.entries(results)) {
    note(`${ENGINES[name].title}: ${failure ?? `${Math.round(median(first_ms))} ms, ${(wire.bytes / 1e6).toFixed(2)} MB, ${(wire.gzip_bytes / 1e6).toFixed(2)} MB gzipped`}`);
  }
  return results;
}

/** Milliseconds of a run and peak memory, by the window's length. */
export async function growth(servers, { engines, patience, note }) {
  const results = Object.fromEntries(engines.map((name) => [name, {}]));
  for (const work of [...LENGTHS, LONGEST]) {
    const reference = (await fromCold(servers, "ours-cpu", MODEL, work, undefined, { seconds: 600 })).losses;
    for (const name of engines) {
      if (work === LONGEST && !isOurs(name)) continue;
      const least = leastSeconds(results[name], work);
      if (least > patience) {
        results[name][work.text] = { failure: `not run: ${Math.round(least)} s or more` };
        continue;
      }
      try {
        const { times, peak_bytes } = await fromCold(servers, name, MODEL, work, reference, { seconds: patience, more: 2 });
        const [ms, computed_ms] = ["ms", "computed_ms"].map((clock) => Math.min(...times.map((time) => time[clock])));
        results[name][work.text] = { ms, computed_ms, peak_bytes };
        note(`${ENGINES[name].title}, ${work.text}: ${Math.round(ms)} ms, ${peak_bytes === undefined ? "–" : Math.round(peak_bytes / 1e6)} MB`);
      } catch (error) {
        results[name][work.text] = { failure: error.message };
        note(`${ENGINES[name].title}, ${work.text}: ${error.message}`);
      }
    }
  }
  return results;
}

/** At the rate of the last length, which longer ones do not reach. */
function leastSeconds(result, { length }) {
  const [text, { ms }] = Object.entries(result).findLast(([, { ms }]) => ms) ?? ["1x1", { ms: 0 }];
  return ((ms / 1000) * length) / size(text).length;
}
