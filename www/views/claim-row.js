// One claim: what the paper says, the button that measures it here, what was found, and what follows.
import { Chart } from "../chart.js";
import { element } from "../dom.js";
import { engine } from "../engine.js";
import { encodingOf, modelOf, title } from "../methods.js";
import { ENCODINGS, TRAINED_LENGTH } from "../properties.js";
import { withMinus } from "../words.js";
import { within } from "./common.js";
import { cost } from "./claim-cost.js";

const VERDICT_SIGNS = { holds: "✓", partly: "≈", differs: "✗", unmeasured: "…" };

/** The papers by their arXiv numbers, as they are cited in every language. */
const PAPERS = { "2108.12409": "Press et al. 2022", "2205.09921": "Chi et al. 2022", "2309.00071": "Peng et al. 2024" };
const cited = ({ url, place }) => [PAPERS[url.split("/").at(-1)], place].filter(Boolean).join(", ");

/** A word of the locale file, or what it is. */
const said = (value, words) => (value?.word ? words.say(value.word) : withMinus(String(value ?? "–")));
const parts = (all, words) => Object.fromEntries(Object.entries(all ?? {}).map(([name, value]) => [name, said(value, words)]));
const isVariant = (text) => ENCODINGS.includes(encodingOf(text));

/** A number of a finding's table, with its error where it has one. */
function cell(value, words) {
  // A length or a count is told in full.
  if (typeof value === "number") return Number.isInteger(value) ? words.count(value) : words.number(value, 4);
  if (typeof value === "string") return isVariant(value) ? title(value, words) : value;
  if (value && "value" in value) return words.measured(value.value, value.error);
  return said(value, words);
}

/** Whether anything of a table was measured: one of dashes says nothing. */
const hasNumbers = (table) => table?.rows.some((row) => row.slice(1).some((value) => value !== null));

function numbers({ columns, rows }, caption, words) {
  return element("table", {},
    element("caption", { text: caption }),
    element("thead", {}, element("tr", {}, ...columns.map((path) => element("th", { scope: "col", text: words.say(path) })))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((value, index) =>
      element(index ? "td" : "th", index ? { text: cell(value, words) } : { scope: "row", text: cell(value, words) }))))));
}

/** What a claim had to do without, in sentences: all models in one, each text and variant in its own. */
function missing(all, words) {
  const between = words.say("laboratory.listed");
  const named = (name) => (isVariant(name) ? title(name, words) : name);
  const models = all.filter(({ kind }) => kind === "model").map(({ name }) => named(name)).join(between);
  const sentences = models ? [words.say("laboratory.missing.models", { models })] : [];
  for (const { kind, name, text, lengths, variant, reason } of all) {
    if (kind === "text") sentences.push(words.say("laboratory.missing.text", { text: words.say(`texts.${name}`) }));
    const at = { lengths: lengths?.map((length) => words.count(length)).join(between) };
    if (kind === "short") sentences.push(words.say("laboratory.missing.short", { text: words.say(`texts.${text}`), ...at }));
    if (kind === "variant") sentences.push(words.say("laboratory.missing.variant", { variant: named(variant ?? ""), reason, ...at }));
  }
  return sentences.join(" ");
}

/** A finding's picture as the library's figure. */
function figureOf(picture, words) {
  const trained_length = TRAINED_LENGTH;
  // Where one model is changed in several ways, its name need not stand before each.
  const models = new Set(picture?.series?.map(({ name }) => name && modelOf(name)));
  const label = (name) => {
    const [model, between] = [title(modelOf(name), words), words.say("methods.between")];
    return models.size === 1 && name !== modelOf(name) ? title(name, words).slice(model.length + between.length) : title(name, words);
  };
  const named = ({ name, points }) => ({ encoding: name, label: label(name), points });
  switch (picture?.kind) {
    case "perplexity":
      return { figure: "perplexity", trained_length, length: trained_length, selected: picture.series[0]?.name ?? "", series: picture.series.map(named) };
    case "paired_loss":
      return { figure: "paired_loss", length: picture.length, trained_length: picture.base, encoding: picture.encoding, cell: picture.cell };
    case "speed_bars":
      return { figure: "speed_bars", groups: picture.lengths.map((length, index) => ({ length, bars: picture.series.map(({ encoding, ratios }) => ({ encoding, time: ratios[index] })) })) };
    case "copy_score":
      // The claim is of ALiBi.
      return { figure: "copy_score", trained_length, selected: "alibi-copy", series: picture.series.map(named) };
    default:
      return null;
  }
}

/** The numbers of a picture as the module takes them; made once for each finding. */
const joined = new WeakMap();
function valuesOf(picture) {
  if (!picture?.values) return null;
  // What has no error is not a number.
  const errors = picture.errors?.map((error) => error ?? NaN) ?? [];
  if (!joined.has(picture)) joined.set(picture, Float32Array.from([...picture.values, ...errors]));
  return joined.get(picture);
}

export class Row {
  constructor({ id, number, source }, view) {
    const { words } = view;
    this.id = id;
    this.view = view;
    const say = (path) => words.say(`board.claims.${id}.${path}`);
    const name = say("title");
    this.button = element("button", { type: "button", class: "measure", onclick: () => {
      const { board } = engine;
      if (board.running.has(id)) board.cancel(id);
      else board.measure(id);
    } });
    this.forget = element("button", { type: "button", class: "quiet", text: words.say("laboratory.forget"), "aria-label": `${words.say("laboratory.forget")}: ${name}`, onclick: () => engine.board.forget([id]) });
    this.bar = element("progress", { max: 1, value: 0, "aria-label": `${words.say("status.progress")}: ${name}` });
    this.cost = element("p", { class: "cost" });
    this.verdict = element("p", { class: "verdict" });
    this.sentence = element("p", { class: "finding" });
    this.missing = element("p", { class: "problem" });
    this.rule = element("p", { class: "cost", text: say("rule") });
    this.transfers = words.has(`board.claims.${id}.transfers`) ? element("p", { class: "cost", text: say("transfers") }) : null;
    this.tables = element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${name}: ${words.say("tools.table")}` });
    this.pictures = element("div", { class: "charts" });
    this.details = element("details", { class: "numbers", ontoggle: () => this.fill() },
      element("summary", { text: words.say("laboratory.details") }), this.rule, ...(this.transfers ? [this.transfers] : []), this.tables, this.pictures);
    this.name = name;
    const link = element("a", { href: source.url, target: "_blank", rel: "noreferrer", text: cited(source) });
    // Two rows: numbers and picture have the whole width.
    this.element = element("tbody", { role: "rowgroup", "data-claim": id },
      element("tr", { role: "row" },
        element("th", { scope: "row", role: "rowheader" },
          element("strong", { text: `${number}. ${name}` }), element("p", { text: say("claim") }), element("p", { class: "cost" }, `${words.say("laboratory.source")} `, link)),
        element("td", { role: "cell" }, element("div", { class: "board-tools" }, this.button, this.forget), this.bar, this.cost),
        element("td", { role: "cell" }, this.verdict, this.sentence, this.missing)),
      element("tr", { role: "row", class: "more" }, element("td", { role: "cell", colspan: 3 }, this.details)));
  }

  get finding() {
    return engine.board.findings.get(this.id);
  }

  show(claim) {
    const { words } = this.view;
    const { board } = engine;
    const { id, finding } = this;
    const say = (target, text) => target.textContent === text || (target.textContent = text);
    const isRunning = board.running.has(id);
    const progress = board.progress.get(id) ?? 0;
    const action = isRunning ? "cancel" : progress >= 1 ? "measured" : progress > 0 ? "resume" : "measure";
    say(this.button, words.say(`laboratory.${action}`));
    this.button.setAttribute("aria-label", `${words.say(`laboratory.${action}`)}: ${this.name}`);
    // On a text that is too short, or without any of its models, there is nothing to measure.
    const isImpossible = claim.operations === 0 && !isRunning;
    this.button.disabled = action === "measured" || isImpossible;
    this.forget.hidden = progress === 0 || isRunning;
    this.bar.value = progress;
    this.bar.hidden = !isRunning && (progress === 0 || progress >= 1);
    say(this.cost, progress >= 1 || isImpossible ? "" : cost([claim], words));
    const verdict = finding?.verdict ?? "unmeasured";
    this.element.dataset.verdict = verdict;
    say(this.verdict, `${VERDICT_SIGNS[verdict]} ${words.say(`board.verdicts.${verdict}`)}`);
    const path = `board.claims.${id}.sentence.${verdict}`;
    say(this.sentence, finding && words.has(path) ? words.say(path, parts(finding.parts, words)) : "");
    say(this.missing, missing(finding?.missing ?? [], words));
    this.fill();
  }

  /** Table and picture are made when they are looked at. */
  fill() {
    const { finding, view } = this;
    if (!this.details.open || !finding) return;
    const { words } = view;
    const text = JSON.stringify([finding.table, finding.heads, finding.paper]);
    if (text !== this.filled) {
      this.filled = text;
      this.tables.replaceChildren(
        ...(hasNumbers(finding.table) ? [numbers(finding.table, words.say("laboratory.here"), words)] : []),
        ...(finding.heads ? [numbers(finding.heads, words.say("laboratory.heads"), words)] : []),
        ...(finding.paper?.rows.length ? [numbers(finding.paper, words.say("laboratory.paper"), words)] : []));
    }
    this.tables.hidden = this.tables.childElementCount === 0;
    if (!this.chart && finding.picture) {
      this.chart = new Chart({
        id: `claim-${this.id}`,
        title: this.name,
        // Names of many curves stand above them.
        height: (width) => Math.max(within(260, 0.6, 380)(width), this.finding?.picture?.series?.length > 6 ? 440 : 0),
        figure: () => figureOf(this.finding?.picture, words),
        values: () => valuesOf(this.finding?.picture),
      }, view);
      view.charts.push(this.chart);
      this.pictures.append(this.chart.element);
    }
    this.chart?.show(figureOf(finding.picture, words), valuesOf(finding.picture));
  }
}
