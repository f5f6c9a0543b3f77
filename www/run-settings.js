// What a run measures, as the laboratory takes it.
import { clean } from "../pkg/engine.js";
import { Told } from "./told.js";
import { coresUsed } from "./helpers.js";

/** Tokens scored at every length, at most. */
const SCORED_MAX = 65_536;
/** A sliding window computes T/S tokens for each that it scores. */
const SLIDING_SCORED_MAX = 4096;
const SHORTEST = 16;

/**
 * @param {{text: string, max: number, windows: string, stride: number}} want of a view
 * @param {boolean} isOnCpu whether the CPU computes
 */
export function settingsOf({ text, max, windows, stride }, isOnCpu) {
  const isSliding = windows === "sliding";
  // A stride must fit into a window.
  const shortest = isSliding ? Math.max(SHORTEST, 2 ** Math.ceil(Math.log2(stride))) : SHORTEST;
  const settings = { text, shortest, longest: Math.max(max, shortest), scored_max: isSliding ? SLIDING_SCORED_MAX : SCORED_MAX };
  // On the CPU windows are shared out among workers; a step of one would leave the others idle.
  // More than a few of the longest would keep the others waiting for their first points.
  if (isOnCpu) settings.together = Math.min(4, coresUsed(navigator.hardwareConcurrency));
  if (isSliding) settings.protocol = { sliding: { stride } };
  return settings;
}

/** A variant with what the reader has chosen for positions past a learned table. */
export function withPast(name, past) {
  const isMore = past && past !== "undefined" && /^learned\b/.test(name);
  return isMore ? `${name}${name.includes("?") ? "&" : "?"}past=${past}` : name;
}

/** What cleaning writes in ASCII; the rest of what is not ASCII it drops. */
const KEPT = /[^\x00-\x7f“”‘’—]/gu;

/** The reader's own text as it is read; notes in it how many characters were lost. */
export function ownText(own) {
  if (!own) throw new Told("problems.ownNone", {});
  const { source, isCleaned } = own;
  own.lost = isCleaned ? (source.match(KEPT)?.length ?? 0) : 0;
  return isCleaned ? clean(source) : source;
}
