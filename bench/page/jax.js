// The model in jax-js: `device=wasm` or `webgpu`. Arrays are used up by what they are given to; `.ref` keeps one.
import { defaultDevice, init, jit, nn, numpy as np } from "@jax-js/jax";
import { prepareWeights, readCheckpoint } from "./checkpoint.js";
import { rotation, scoreBias } from "./positions.js";
import { sourcesAndTargets } from "./windows.js";

const arrayOf = ({ shape, data }) => np.array(new Float32Array(data)).reshape(shape);
const all = (weights) => Object.fromEntries(Object.entries(weights).map(([name, value]) => [name, arrayOf(value)]));
const again = (tree) => (Array.isArray(tree) ? tree.map(again) : tree.ref ?? Object.fromEntries(Object.entries(tree).map(([name, value]) => [name, again(value)])));

export async function load(buffer, { device }) {
  const devices = await init(device);
  if (!devices.includes(device)) throw new Error(`jax-js has no device ${device} here`);
  defaultDevice(device);
  const checkpoint = readCheckpoint(buffer);
  const { d_model: width, heads, norm_epsilon: epsilon } = checkpoint.config;
  const { layers, ...rest } = prepareWeights(checkpoint);
  const weights = { ...all(rest), layers: layers.map(all) };

  const norm = (x, weight, bias) => nn.standardize(x, -1, { epsilon }).mul(weight).add(bias);
  const turn = (x, cos, sin) => {
    const [first, second] = np.split(x, 2, -1);
    return np.concatenate([first.ref.mul(cos.ref).sub(second.ref.mul(sin.ref)), first.mul(sin).add(second.mul(cos))], -1);
  };

  const forward = jit((weights, positions, sources, targets) => {
    const [windows, length] = sources.shape;
    let x = np.take(weights.embedding, sources, 0);
    for (const layer of weights.layers) {
      const normed = norm(x.ref, layer.attentionNormWeight, layer.attentionNormBias);
      const qkv = np.matmul(normed, layer.qkvWeight).add(layer.qkvBias).reshape([windows, length, 3, heads, width / heads]);
      let [q, k, v] = np.split(qkv, 3, 2).map((part) => part.reshape([windows, length, heads, width / heads]));
      if (positions.cos) [q, k] = [q, k].map((part) => turn(part, positions.cos.ref, positions.sin.ref));
      const scores = np.einsum("bqhd,bkhd->bhqk", q, k).add(positions.bias.ref);
      const attended = np.einsum("bhqk,bkhd->bqhd", nn.softmax(scores, -1), v).reshape([windows, length, width]);
      x = x.add(np.matmul(attended, layer.outWeight).add(layer.outBias));
      const up = np.matmul(norm(x.ref, layer.mlpNormWeight, layer.mlpNormBias), layer.upWeight).add(layer.upBias);
      x = x.add(np.matmul(nn.gelu(up, { approximate: true }), layer.downWeight).add(layer.downBias));
    }
    const logits = np.matmul(norm(x, weights.normWeight, weights.normBias), weights.output);
    const chosen = np.takeAlongAxis(logits.ref, targets.reshape([windows, length, 1]), -1).reshape([windows, length]);
    return nn.logsumexp(logits, -1).sub(chosen);
  });

  let of;
  let positions;
  function prepare(length) {
    if (of === length) return positions;
    const turns = rotation(checkpoint, length);
    // `[T][1][pairs]`, beside `[B][T][H][pairs]`.
    const across = ({ shape: [rows, pairs], data }) => arrayOf({ shape: [rows, 1, pairs], data });
    positions = { bias: arrayOf(scoreBias(checkpoint, length)), ...(turns && { cos: across(turns.cos), sin: across(turns.sin) }) };
    of = length;
    return positions;
  }

  return {
    about: `jax-js, ${device}`,
    async run(tokens, windows, length) {
      const [sources, targets] = sourcesAndTargets(tokens, windows, length);
      const ids = (data) => np.array(data, { dtype: np.int32 }).reshape([windows, length]);
      const out = forward(again(weights), again(prepare(length)), ids(sources), ids(targets));
      return out.data();
    },
  };
}
