// What stands in the place of a view whose program cannot be had: a picture that the same program made, and the
// reason. Fetched only then.
import { bytes, isOffline } from "./assets.js";
import { element } from "./dom.js";

/** Written out, as in assets.js; `cargo xtask pictures` makes them. */
const PICTURES = {
  none: () => new URL("./assets/none.svg", import.meta.url),
  learned: () => new URL("./assets/learned.svg", import.meta.url),
  sinusoidal: () => new URL("./assets/sinusoidal.svg", import.meta.url),
  rotary: () => new URL("./assets/rotary.svg", import.meta.url),
  t5_bias: () => new URL("./assets/t5_bias.svg", import.meta.url),
  alibi: () => new URL("./assets/alibi.svg", import.meta.url),
  methods: () => new URL("./assets/methods.svg", import.meta.url),
  perplexity: () => new URL("./assets/perplexity.svg", import.meta.url),
};
/** What the live models come to. */
const OF_MODELS = "perplexity";

/** The name of a view's picture; the offline file carries few. */
function pictureOf(view) {
  const isThere = Object.hasOwn(PICTURES, view) && !(isOffline() && bytes(`${view}.svg`) === null);
  return isThere ? view : OF_MODELS;
}

function addressOf(name) {
  if (!isOffline()) return PICTURES[name]().href;
  return `data:image/svg+xml,${encodeURIComponent(new TextDecoder().decode(bytes(`${name}.svg`)))}`;
}

/**
 * @param {string} name of the view
 * @param {import("./words.js").Words} words
 * @param {{path: string, parts: Record<string, any>} | null} problem null where it is told elsewhere
 */
export function still(name, words, problem) {
  const title = words.say(`views.${name}.title`);
  const picture = pictureOf(name);
  const image = element("img", { src: addressOf(picture), alt: words.say(`views.${picture}.title`) });
  Object.assign(image.style, { maxWidth: "100%", height: "auto" });
  return element("section", { class: "view still", "data-view": name, "aria-label": title, lang: words.locale },
    element("header", { class: "view-head" }, element("h2", { text: title })),
    ...(problem ? [element("p", { class: "messages", role: "alert", text: words.say(problem.path, problem.parts) })] : []),
    element("p", { class: "explain", text: words.say(`views.${name}.explain`) }),
    element("figure", {}, image, element("figcaption", { text: words.say("status.still") })));
}
