// Growing the length by itself, from L/4 to the longest and back.
import { element } from "./dom.js";
import { PROPERTIES, TRAINED_LENGTH, nearestStop, stops } from "./properties.js";

const ALL = stops(PROPERTIES.length);
/** Each stop is seen this long; eight stops make a doubling. */
const STEP_MS = 110;
/** With reduced motion the length jumps from one power of two to the next, slowly. */
const CALM_STEP_MS = 1200;
const CALM_STOPS = 8;

/** Makes a button that starts and stops a player. */
export function playButton(player, words) {
  const icon = element("span", { "aria-hidden": true });
  const word = element("span", { class: "word" });
  const button = element("button", {
    type: "button",
    class: "play",
    onclick: () => {
      if (player.isPlaying) player.stop();
      else player.start();
      show();
    },
  }, icon, " ", word);
  const show = () => {
    icon.textContent = player.isPlaying ? "■" : "▶";
    word.textContent = words.say(player.isPlaying ? "tools.stop" : "tools.play");
    button.setAttribute("aria-label", word.textContent);
  };
  player.ended = show;
  show();
  return button;
}

export class Player {
  /** @param {(length: number) => void} show */
  constructor(show) {
    this.show = show;
    this.ended = () => {};
    this.timer = null;
  }

  get isPlaying() {
    return this.timer !== null;
  }

  start() {
    const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const step = isCalm ? CALM_STOPS : 1;
    const first = nearestStop(ALL, TRAINED_LENGTH / 4);
    let at = first;
    let direction = step;
    this.show(ALL[at]);
    this.timer = setInterval(() => {
      // What nobody sees need not move.
      if (document.hidden) return;
      if (at + direction > ALL.length - 1) direction = -step;
      at += direction;
      if (at < first) return this.stop();
      this.show(ALL[at]);
    }, isCalm ? CALM_STEP_MS : STEP_MS);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.ended();
  }
}
