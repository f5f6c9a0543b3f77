// Tokens per second: all engines in one browser, taking turns.
import { launch } from "./chromium.js";
import { ENGINES } from "./engines.js";
import { Loaded } from "./runner.js";

/** A run longer than this is measured once: its check is its time. */
const SLOW_MS = 8_000;

/** Measures every engine with every size, for one model. `note` is told of each figure as it comes. Gives
 *  `{ engine: { size: { ms: [], computed_ms: [], difference } or { failure } } }`. */
export async function speed(servers, { model, engines, sizes, rounds, patience, note }) {
  const browser = await launch(servers.plain.address);
  const results = Object.fromEntries(engines.map((name) => [name, {}]));
  const fail = (name, work, failure) => {
    results[name][work.text] = { failure };
    note(`${ENGINES[name].title}, ${work.text}: ${failure}`);
  };
  const add = (name, work, { ms, computed_ms }) => {
    results[name][work.text].ms.push(ms);
    if (computed_ms !== undefined) results[name][work.text].computed_ms.push(computed_ms);
  };
  const pages = {};
  try {
    const judge = await Loaded.open(browser, servers, "ours-cpu", model, 600);
    const references = {};
    for (const work of sizes) references[work.text] = (await judge.check(work)).losses;
    await judge.close();
    for (const name of engines) {
      try {
        pages[name] = await Loaded.open(browser, servers, name, model, patience);
      } catch (error) {
        for (const work of sizes) fail(name, work, error.message);
      }
    }
    for (const work of sizes) {
      const fast = [];
      for (const name of engines.filter((name) => pages[name])) {
        const least = leastSeconds(results[name], sizes, work);
        if (least > patience) {
          fail(name, work, `not run: ${Math.round(least)} s or more`);
          continue;
        }
        try {
          const { difference } = await pages[name].check(work, references[work.text]);
          // The first run compiled and made tables: this one warms up, and tells how long one takes.
          const warm = await pages[name].time(work);
          results[name][work.text] = { difference, ms: [], computed_ms: [] };
          if (warm.ms > SLOW_MS) add(name, work, warm);
          else fast.push(name);
        } catch (error) {
          fail(name, work, error.message);
          await pages[name].close();
          // What failed once may have left its page in any state.
          pages[name] = await Loaded.open(browser, servers, name, model, patience).catch(() => undefined);
          if (!pages[name]) for (const later of sizes.slice(sizes.indexOf(work) + 1)) fail(name, later, "did not start again");
        }
      }
      for (let round = 0; round < rounds; round++) {
        // Each round begins with another engine, so that none always follows the same one.
        for (const offset of fast.keys()) {
          const name = fast[(round + offset) % fast.length];
          add(name, work, await pages[name].time(work));
        }
      }
      for (const name of engines) {
        const { ms, difference } = results[name][work.text] ?? {};
        if (!ms) continue;
        const rate = (work.windows * work.length * 1000) / median(ms);
        note(`${ENGINES[name].title}, ${work.text}: ${Math.round(rate)} tokens/s, ${ms.length} runs, off by ${difference.toExponential(0)}`);
      }
    }
    return results;
  } finally {
    await browser.close();
  }
}

/** What a run would take at the rate of the last smaller size: attention only makes it slower. */
function leastSeconds(result, sizes, work) {
  const before = sizes.slice(0, sizes.indexOf(work)).findLast(({ text }) => result[text]?.ms?.length > 0);
  if (!before || before.length > work.length) return 0;
  return ((median(result[before.text].ms) / 1000) * (work.windows * work.length)) / (before.windows * before.length);
}

export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
