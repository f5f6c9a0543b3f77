import { METHOD_CONTROLS, changed, encodingOf, modelsOf, seedOf, title, trainedOf } from "../methods.js";
import { PROPERTIES, TRAINED_LENGTH } from "../properties.js";
import { coloured, element } from "../dom.js";
import { trained_length, within } from "./common.js";

/** The models that are shown, and the changed one beside the plain one. */
const names = (state) => {
  const models = modelsOf(state);
  // The encoding that the reader looks at belongs to the usual choice; one that was made otherwise is kept to.
  if (state.encodings === PROPERTIES.encodings.usual && state.models !== "heads" && state.models !== "lengths" && !models.includes(state.encoding)) models.push(state.encoding);
  const variant = changed(state);
  return models.includes(variant) || !models.includes(state.encoding) ? models : [...models, variant];
};
/** The one that is drawn strong: the chosen encoding's, as it is changed. */
const chosen = (state) => {
  const all = names(state);
  const variant = changed(state);
  return [variant, state.encoding].find((name) => all.includes(name)) ?? all[0];
};
const order = (state) => {
  const all = [...new Set([chosen(state), ...names(state)])];
  return state.seeds ? [...all, ...modelsOf(state).map(seedOf)] : all;
};

/** So many windows side by side are drawn. */
const WINDOWS_SHOWN = 4;

/** The measured length nearest to the state's. */
function measuredLength({ length }, run) {
  const lengths = run?.lengths ?? [];
  return lengths.reduce((best, one) => (Math.abs(Math.log(one / length)) < Math.abs(Math.log(best / length)) ? one : best), lengths[0] ?? TRAINED_LENGTH);
}

const positionsWanted = (state, run) => ({ encoding: chosen(state), length: measuredLength(state, run) });

/** One sentence an encoding: what happened past L. */
function findings(view) {
  const { words } = view;
  const list = element("ul", { class: "findings" });
  const show = (state, { run }) => {
    const items = (run?.findings(names(state)) ?? []).map(({ name, isUndefined, at, value, length }) => {
      const encoding = title(name, words);
      if (isUndefined) return [name, words.say("findings.undefined", { encoding, trained: trainedOf(name) })];
      const ratio = value / at;
      const parts = { encoding, at: words.number(at), value: words.number(value), length: words.count(length), ratio: words.number(ratio) };
      return [name, words.say(ratio > 1.05 ? "findings.leaves" : "findings.holds", parts)];
    });
    const text = JSON.stringify(items);
    if (list.dataset.text === text) return;
    list.dataset.text = text;
    list.replaceChildren(...items.map(([name, sentence]) => coloured(encodingOf(name), element("li", { text: sentence }))));
  };
  return { element: list, show };
}

/** @type {import("./index.js").ViewDefinition} */
export default {
  controls: [{ name: "encoding", chips: true }, "models", "encodings", "seeds", "length", ...METHOD_CONTROLS, "ratio", "text", "past", "windows", "stride", "max"],
  needsEngine: true,
  charts: [
    {
      id: "perplexity",
      wide: true,
      height: within(320, 0.46, 520),
      figure: (state, { run, words }) => ({
        figure: "perplexity",
        trained_length,
        length: state.length,
        selected: chosen(state),
        series: run?.series(names(state), words, state.seeds) ?? [],
        undefined: [...(run?.undefined ?? [])].filter((name) => names(state).includes(name)),
        ratio: state.ratio,
      }),
    },
    {
      id: "windows",
      wide: true,
      height: within(300, 0.36, 420),
      // Both ways of cutting, over a few windows: what one costs is seen beside the other.
      figure: ({ length, stride }) => ({ figure: "windows", protocol: "both", length, stride: Math.min(stride, length), tokens: Math.max(WINDOWS_SHOWN * length, 64), trained_length }),
    },
    {
      id: "position",
      titleParts: (state, words) => ({ encoding: title(chosen(state), words) }),
      height: within(260, 0.6, 400),
      figure: (state, { run }) => {
        const { encoding, length } = positionsWanted(state, run);
        return { figure: "position_loss", trained_length: trainedOf(encoding), encoding: encodingOf(encoding), length };
      },
      values: (state, { run }) => {
        const { encoding, length } = positionsWanted(state, run);
        return run?.positions.get(`${encoding}|${length}`) ?? null;
      },
    },
    {
      id: "paper",
      controls: ["paper", "protocol"],
      height: within(260, 0.6, 400),
      figure: ({ paper, protocol, encoding }) => ({ figure: "paper", trained: Number(paper), protocol, selected: encoding }),
    },
  ],
  extra: findings,
  data: (state) => ({ run: { text: state.text, past: state.past, max: state.max, windows: state.windows, stride: state.stride, order: order(state) }, positionsOf: positionsWanted }),
  notes: (state, { run, words }) => [
    ...(changed(state) === state.encoding ? [] : [["notes.changed", { variant: title(changed(state), words), encoding: words.encoding(state.encoding) }]]),
    ...(state.windows === "sliding" ? [["notes.sliding", { stride: words.count(state.stride), length: words.count(state.length), cost: words.number(Math.max(1, state.length / state.stride)) }]] : []),
    ["notes.perplexity", { tokens: run?.scored ? words.count(run.scored) : "–", text: words.say(`texts.${run?.text ?? "persuasion"}`) }],
  ],
};
