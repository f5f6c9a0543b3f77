// What it costs to measure claims.
import { engine } from "../engine.js";

/** What a claim's models weigh that are not here yet. */
const bytesToFetch = (claims) =>
  [...new Set(claims.flatMap(({ models }) => models))]
    .filter((name) => !engine.loaded.has(name))
    .reduce((sum, name) => sum + (engine.models.get(name)?.size_bytes ?? 0), 0);

/** What it costs, in words: seconds where the speed is known, and what is fetched. */
export function cost(claims, words) {
  const { board } = engine;
  const isAll = claims.length > 1 && board.running.size === 0 && Number.isFinite(board.secondsOfAll);
  const seconds = isAll ? [board.secondsOfAll] : claims.map(({ id }) => board.seconds.get(id));
  const bytes = bytesToFetch(claims);
  const parts = [];
  if (seconds.every(Number.isFinite)) parts.push(words.say("laboratory.about", { time: duration(seconds.reduce((sum, one) => sum + one, 0), words) }));
  if (bytes) parts.push(words.say("laboratory.fetches", { size: words.number(bytes / 1e6, 2) }));
  return parts.join(words.say("methods.between"));
}

function duration(seconds, words) {
  if (seconds < 90) return words.say("laboratory.seconds", { count: words.count(Math.max(1, Math.ceil(seconds))) });
  return words.say("laboratory.minutes", { count: words.number(seconds / 60, 2) });
}
