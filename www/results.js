// What was measured, kept while the reader looks elsewhere.
import { ENCODINGS, TRAINED_LENGTH } from "./state.js";
import * as words from "./locales/en.js";

export class Results {
  constructor() {
    this.clear();
  }

  clear() {
    /** @type {Map<string, {length: number, perplexity: number, standard_error: number | null, tokens: number}[]>} */
    this.points = new Map();
    this.undefined = new Set();
    /** Encodings whose points past L are a guess: a learned table with its last row repeated. */
    this.guessed = new Set();
    this.scored = 0;
  }

  forget(encoding) {
    this.points.delete(encoding);
    this.undefined.delete(encoding);
    this.guessed.delete(encoding);
  }

  take({ encoding, points, isUndefined, past }) {
    this.points.set(encoding, points);
    if (isUndefined) this.undefined.add(encoding);
    if (encoding === "learned" && past === "last") this.guessed.add(encoding);
  }

  /** All points, one an encoding and length, for tests and tables. */
  all() {
    return [...this.points].flatMap(([encoding, points]) => points.map((point) => ({ encoding, ...point })));
  }

  /** As the perplexity figure takes them. */
  series() {
    return ENCODINGS.filter((name) => this.points.get(name)?.length).map((name) => ({
      encoding: name,
      note: this.guessed.has(name) ? words.lastRowNote : null,
      points: this.points.get(name),
    }));
  }

  /** One sentence an encoding: what happened past L. */
  findings() {
    const sentences = [];
    for (const name of ENCODINGS) {
      const points = this.points.get(name) ?? [];
      const atTrained = points.find(({ length }) => length === TRAINED_LENGTH);
      const last = points.at(-1);
      if (this.undefined.has(name)) {
        sentences.push({ name, sentence: words.findingUndefined(words.titles[name], TRAINED_LENGTH) });
      } else if (atTrained && last && last.length > TRAINED_LENGTH) {
        const ratio = last.perplexity / atTrained.perplexity;
        sentences.push({ name, ratio, sentence: words.finding(words.titles[name], atTrained.perplexity, last.length, ratio) });
      }
    }
    return sentences;
  }

  /** Fills a table with every number. */
  fill(table) {
    table.replaceChildren();
    const points = this.all();
    if (!points.length) return;
    const lengths = [...new Set(points.map(({ length }) => length))].sort((a, b) => a - b);
    const tokens = Math.max(...points.map((point) => point.tokens));
    table.createCaption().textContent = words.table.caption(tokens);
    const head = table.createTHead().insertRow();
    const cell = (row, text, scope) => {
      const element = document.createElement(scope ? "th" : "td");
      if (scope) element.scope = scope;
      element.textContent = text;
      row.append(element);
    };
    cell(head, words.table.length, "col");
    const names = ENCODINGS.filter((name) => this.points.has(name));
    for (const name of names) cell(head, words.titles[name], "col");
    const body = table.createTBody();
    for (const length of lengths) {
      const row = body.insertRow();
      cell(row, length === TRAINED_LENGTH ? `${length} = L` : String(length), "row");
      for (const name of names) {
        const point = this.points.get(name).find((one) => one.length === length);
        const isUndefined = !point && this.undefined.has(name) && length > TRAINED_LENGTH;
        const error = point?.standard_error == null ? "" : ` ± ${words.inColumn(point.standard_error)}`;
        cell(row, point ? `${words.inColumn(point.perplexity)}${error}` : isUndefined ? words.table.undefined : words.table.none);
      }
    }
  }
}
