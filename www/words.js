// The page's words, one file a language in locales/. Sentences have `{names}` that are filled in.
import en from "./locales/en.json";

const LOADERS = {
  en: async () => en,
  "zh-Hant": async () => (await import("./locales/zh-Hant.json")).default,
};
/** The languages, by their own names. */
export const LANGUAGES = { en: "English", "zh-Hant": "繁體中文" };

/** @type {Map<string, Promise<Words>>} */
const loaded = new Map();

/**
 * The language that fits the wishes best, in order: an address's or element's, then the browser's.
 * @param {readonly (string | null | undefined)[]} wishes
 * @returns {string}
 */
export function pick(wishes) {
  for (const wish of wishes) {
    const tag = (wish ?? "").toLowerCase();
    if (/^zh\b(?!-hans|-cn|-sg)/.test(tag)) return "zh-Hant";
    if (/^en\b/.test(tag)) return "en";
  }
  return "en";
}

/** @param {string} locale */
export function load(locale) {
  const name = Object.hasOwn(LOADERS, locale) ? locale : "en";
  if (!loaded.has(name)) {
    const words = LOADERS[name]().then((file) => new Words(name, file));
    // A chunk that could not be fetched must not leave the page without words.
    loaded.set(name, words.catch(() => new Words("en", en)));
  }
  return loaded.get(name);
}

export class Words {
  /**
   * @param {string} locale
   * @param {Record<string, any>} file
   */
  constructor(locale, file) {
    this.locale = locale;
    this.file = file;
    /** @type {Map<string, Intl.NumberFormat>} */
    this.writers = new Map();
  }

  /** The words of the charts, for the module that draws. */
  get chart() {
    return JSON.stringify(this.file.chart);
  }

  /** Whether there is a sentence at a path. */
  has(path) {
    return typeof this.find(path) === "string";
  }

  /** @returns {any} */
  find(path) {
    /** @type {any} */
    let found = this.file;
    for (const step of path.split(".")) found = found?.[step];
    return found;
  }

  /**
   * The sentence at a path such as `problems.download`, filled in.
   * @param {string} path
   * @param {Record<string, unknown>} [parts]
   * @returns {string}
   */
  say(path, parts) {
    const sentence = this.find(path);
    if (typeof sentence !== "string") return path;
    if (!parts) return sentence;
    return sentence.replace(/\{(\w+)\}/g, (whole, name) => (name in parts ? (name === "reason" ? this.because(parts[name]) : String(parts[name])) : whole));
  }

  /** A reason inside a sentence. Those that our own program gives are English, and stand in `reasons` in every language,
   * as it writes them in English; what a browser or a server says stays as it is. */
  because(reason) {
    const said = String(reason);
    if (this.locale === "en") return said;
    for (const [name, sentence] of Object.entries(en.reasons)) {
      const [first, ...rest] = sentence.split(/\{(\w+)\}/);
      const names = rest.filter((_, at) => at % 2 === 0);
      const between = [first, ...rest.filter((_, at) => at % 2)].map((text) => text.replace(/[.*+?^$()|[\]\\]/g, "\\$&"));
      const found = new RegExp(`^${between.join("(.+)")}$`, "s").exec(said);
      if (found) return this.say(`reasons.${name}`, Object.fromEntries(names.map((one, at) => [one, found[at + 1]])));
    }
    return said;
  }

  encoding(name) {
    return this.say(`chart.encoding_${name}`);
  }

  /** A number for readers: a few significant digits. */
  number(value, digits = 3) {
    if (!Number.isFinite(value)) return "–";
    return this.written(value, { maximumSignificantDigits: digits });
  }

  /** A measured number with its error: both end at the error's second digit. */
  measured(value, error) {
    if (!Number.isFinite(error) || error <= 0) return this.number(value, 4);
    const digits = Math.min(20, Math.max(0, 1 - Math.floor(Math.log10(error))));
    const how = { minimumFractionDigits: digits, maximumFractionDigits: digits };
    return `${this.written(value, how)} ± ${this.written(error, how)}`;
  }

  count(value) {
    return this.written(value, { maximumFractionDigits: 0 });
  }

  /** A number written in the language's way. What writes it is costly to make, so it is kept. */
  written(value, how) {
    const key = JSON.stringify(how);
    if (!this.writers.has(key)) this.writers.set(key, new Intl.NumberFormat(this.locale, how));
    return withMinus(this.writers.get(key).format(value));
  }

  percent(share) {
    return share > 0 && share < 1e-4 ? `< ${this.number(0.01)} %` : `${this.number(100 * share, 2)} %`;
  }
}

/** Signs of numbers as they are printed: a minus, not a hyphen. */
export const withMinus = (text) => text.replace(/(^|[^\p{L}\p{N}])-(?=\d)/gu, "$1−");
