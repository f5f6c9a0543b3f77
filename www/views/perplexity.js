import { TRAINED_LENGTH } from "../properties.js";
import { element } from "../dom.js";
import { trained_length, within } from "./common.js";

const names = ({ encodings }) => encodings.split(",");
/** The encoding that is drawn strong: the chosen one, where it is shown. */
const chosen = (state) => (names(state).includes(state.encoding) ? state.encoding : names(state)[0]);
const order = (state) => [state.encoding, ...names(state)].filter((name, index, all) => names(state).includes(name) && all.indexOf(name) === index);

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
      const encoding = words.encoding(name);
      if (isUndefined) return [name, words.say("findings.undefined", { encoding, trained: TRAINED_LENGTH })];
      const ratio = value / at;
      const parts = { encoding, at: words.number(at), value: words.number(value), length: words.count(length), ratio: words.number(ratio) };
      return [name, words.say(ratio > 1.05 ? "findings.leaves" : "findings.holds", parts)];
    });
    const text = JSON.stringify(items);
    if (list.dataset.text === text) return;
    list.dataset.text = text;
    list.replaceChildren(...items.map(([name, sentence]) => element("li", { "data-encoding": name, text: sentence })));
  };
  return { element: list, show };
}

export default {
  controls: [{ name: "encoding", chips: true }, "encodings", "length", "ratio", "text", "past", "max"],
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
        series: run?.series(names(state), words.say("findings.lastRow")) ?? [],
        undefined: [...(run?.undefined ?? [])].filter((name) => names(state).includes(name)),
        ratio: state.ratio,
      }),
    },
    {
      id: "position",
      height: within(260, 0.6, 400),
      figure: (state, { run }) => ({ figure: "position_loss", trained_length, ...positionsWanted(state, run) }),
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
  data: (state) => ({ run: { text: state.text, past: state.past, max: state.max, order: order(state) }, positionsOf: positionsWanted }),
  notes: (_, { run, words }) => [["notes.perplexity", { tokens: run?.scored ? words.count(run.scored) : "–", text: words.say(`texts.${run?.text ?? "persuasion"}`) }]],
};
