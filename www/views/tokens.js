// Which tokens stand under the pointer of an attention map, and which keys a query looks at most.

const STRONGEST = 3;
/** Tokens of a pooled cell that are written out. */
const TOKENS_MAX = 6;

const shown = (tokens) => `“${tokens.join("").replace(/\s+/g, " ")}”`;

/** A sentence after the readout: the query's token, the key's, and the strongest keys of that query. */
export function words(chart, x, y) {
  const { figure, values, geometry, view } = chart;
  const answer = view.data.attentions.main;
  const plot = geometry.plots[0];
  if (!answer?.words || !values.length || answer.length !== figure.length) return "";
  const [right, down] = [(x - plot.x) / plot.width, (y - plot.y) / plot.height];
  if (right < 0 || right >= 1 || down < 0 || down >= 1) return "";
  const { side, length } = figure;
  const [row, column] = [Math.floor(down * side), Math.floor(right * side)];
  const first = (cell) => Math.ceil((cell * length) / side);
  const tokens = (cell) => {
    const all = answer.words.slice(first(cell), Math.max(first(cell + 1), first(cell) + 1));
    return shown(all.length > TOKENS_MAX ? [...all.slice(0, TOKENS_MAX), "…"] : all);
  };
  const weights = [...values.subarray(row * side, row * side + row + 1)].map((weight, cell) => ({ weight, cell }));
  weights.sort((a, b) => b.weight - a.weight);
  const strongest = weights.slice(0, STRONGEST).map(({ weight, cell }) => `${tokens(cell)} ${view.words.number(weight, 2)}`);
  const parts = { query: tokens(row), key: column > row ? "–" : tokens(column), strongest: strongest.join(", ") };
  return view.words.say("notes.tokens", parts);
}
