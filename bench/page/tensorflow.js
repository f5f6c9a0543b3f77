// The model in TensorFlow.js, on whatever backend is set; tensorflow-wasm.js and tensorflow-webgpu.js set one.
import "@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops";
import { prepareWeights, readCheckpoint } from "./checkpoint.js";
import { rotation, scoreBias } from "./positions.js";
import { sourcesAndTargets } from "./windows.js";

const tensorOf = (tf, { shape, data }) => tf.tensor(data, shape, "float32");

export function model(tf, buffer) {
  const checkpoint = readCheckpoint(buffer);
  const { d_model: width, heads, vocabulary, norm_epsilon: epsilon } = checkpoint.config;
  const prepared = prepareWeights(checkpoint);
  const all = (weights) => Object.fromEntries(Object.entries(weights).map(([name, value]) => [name, tensorOf(tf, value)]));
  const { layers, ...rest } = prepared;
  const weights = { ...all(rest), layers: layers.map(all) };

  const norm = (x, weight, bias) => {
    const centred = x.sub(x.mean(-1, true));
    return centred.mul(centred.square().mean(-1, true).add(epsilon).rsqrt()).mul(weight).add(bias);
  };
  const linear = (a, b, bias) => tf.fused.matMul({ a, b, bias });
  const gelu = (x) => x.mul(0.5).mul(x.add(x.square().mul(x).mul(0.044715)).mul(Math.sqrt(2 / Math.PI)).tanh().add(1));
  const turn = (x, cos, sin) => {
    const [first, second] = tf.split(x, 2, -1);
    return tf.concat([first.mul(cos).sub(second.mul(sin)), first.mul(sin).add(second.mul(cos))], -1);
  };

  let of;
  let positions;
  /** The tables of a length, kept until another is asked for. */
  function prepare(length) {
    if (of === length) return positions;
    if (positions) tf.dispose(positions);
    const turns = rotation(checkpoint, length);
    positions = { bias: tensorOf(tf, scoreBias(checkpoint, length)), ...(turns && { cos: tensorOf(tf, turns.cos), sin: tensorOf(tf, turns.sin) }) };
    of = length;
    return positions;
  }

  function losses(sources, targets, windows, length) {
    const { bias, cos, sin } = prepare(length);
    const rows = windows * length;
    let x = weights.embedding.gather(tf.tensor1d(sources, "int32"));
    for (const layer of weights.layers) {
      const qkv = linear(norm(x, layer.attentionNormWeight, layer.attentionNormBias), layer.qkvWeight, layer.qkvBias);
      let [q, k, v] = tf.split(qkv, 3, 1).map((part) => part.reshape([windows, length, heads, width / heads]).transpose([0, 2, 1, 3]));
      if (cos) [q, k] = [turn(q, cos, sin), turn(k, cos, sin)];
      const attention = tf.softmax(tf.matMul(q, k, false, true).add(bias), -1);
      const attended = tf.matMul(attention, v).transpose([0, 2, 1, 3]).reshape([rows, width]);
      x = x.add(linear(attended, layer.outWeight, layer.outBias));
      const up = linear(norm(x, layer.mlpNormWeight, layer.mlpNormBias), layer.upWeight, layer.upBias);
      x = x.add(linear(gelu(up), layer.downWeight, layer.downBias));
    }
    const logits = tf.matMul(norm(x, weights.normWeight, weights.normBias), weights.output);
    const at = tf.range(0, rows, 1, "int32").mul(tf.scalar(vocabulary, "int32")).add(tf.tensor1d(targets, "int32"));
    return tf.logSumExp(logits, -1).sub(logits.reshape([rows * vocabulary]).gather(at));
  }

  return {
    about: `TensorFlow.js ${tf.version_core}, ${tf.getBackend()}`,
    async run(tokens, windows, length) {
      const [sources, targets] = sourcesAndTargets(tokens, windows, length);
      prepare(length);
      const out = tf.tidy(() => losses(sources, targets, windows, length));
      const data = await out.data();
      out.dispose();
      return data;
    },
  };
}
