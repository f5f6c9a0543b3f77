// The model written out, in f64 and as slowly as it reads: what the prepared weights and positions must give, for the
// test that compares them with ours.
import { prepareWeights, readCheckpoint } from "./checkpoint.js";
import { rotation, scoreBias } from "./positions.js";
import { sourcesAndTargets } from "./windows.js";

/** `row[in] · weight[in][out] + bias[out]`. */
function linear(row, weight, bias) {
  const outputs = weight.shape[1];
  return Array.from({ length: outputs }, (_, o) => row.reduce((sum, value, i) => sum + value * weight.data[i * outputs + o], bias ? bias.data[o] : 0));
}

const mean = (row) => row.reduce((a, b) => a + b, 0) / row.length;

function norm(row, weight, bias, epsilon) {
  const centre = mean(row);
  const deviation = Math.sqrt(mean(row.map((value) => (value - centre) ** 2)) + epsilon);
  return row.map((value, i) => ((value - centre) / deviation) * weight.data[i] + bias.data[i]);
}

const gelu = (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

function softmax(scores) {
  const most = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map((power) => power / sum);
}

/** A head of a row, turned; pair c is the dimensions c and c + pairs. */
function turned(head, position, turns) {
  if (!turns) return head;
  const pairs = head.length / 2;
  const at = (table, pair) => table.data[position * pairs + pair];
  return head.map((value, c) => {
    const pair = c % pairs;
    const other = c < pairs ? -head[c + pairs] : head[pair];
    return value * at(turns.cos, pair) + other * at(turns.sin, pair);
  });
}

/** The losses of one window. */
function forward({ config }, weights, bias, turns, sources, targets) {
  const { d_model: width, heads, norm_epsilon: epsilon } = config;
  const dHead = width / heads;
  let rows = Array.from(sources, (id) => Array.from(weights.embedding.data.subarray(id * width, (id + 1) * width)));
  for (const layer of weights.layers) {
    const qkv = rows.map((row) => linear(norm(row, layer.attentionNormWeight, layer.attentionNormBias, epsilon), layer.qkvWeight, layer.qkvBias));
    const part = (position, which, head) => qkv[position].slice(which * width + head * dHead, which * width + (head + 1) * dHead);
    rows = rows.map((row, i) => {
      const attended = [];
      for (let head = 0; head < heads; head++) {
        const biases = bias.data.subarray(((head % bias.shape[1]) * sources.length + i) * sources.length);
        const q = turned(part(i, 0, head), i, turns);
        const scores = rows.map((_, j) => turned(part(j, 1, head), j, turns).reduce((sum, value, c) => sum + value * q[c], biases[j]));
        const shares = softmax(scores);
        for (let c = 0; c < dHead; c++) attended.push(shares.reduce((sum, share, j) => sum + share * part(j, 2, head)[c], 0));
      }
      return linear(attended, layer.outWeight, layer.outBias).map((value, c) => row[c] + value);
    });
    rows = rows.map((row) => {
      const up = linear(norm(row, layer.mlpNormWeight, layer.mlpNormBias, epsilon), layer.upWeight, layer.upBias).map(gelu);
      return linear(up, layer.downWeight, layer.downBias).map((value, c) => row[c] + value);
    });
  }
  return rows.map((row, i) => -Math.log(softmax(linear(norm(row, weights.normWeight, weights.normBias, epsilon), weights.output))[targets[i]]));
}

export async function load(buffer) {
  const checkpoint = readCheckpoint(buffer);
  const weights = prepareWeights(checkpoint);
  return {
    about: "plain JavaScript",
    async run(tokens, windows, length) {
      const [sources, targets] = sourcesAndTargets(tokens, windows, length);
      const [bias, turns] = [scoreBias(checkpoint, length), rotation(checkpoint, length)];
      const window = (ids, w) => ids.subarray(w * length, (w + 1) * length);
      return Array.from({ length: windows }, (_, w) => forward(checkpoint, weights, bias, turns, window(sources, w), window(targets, w))).flat();
    },
  };
}
