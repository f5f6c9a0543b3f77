// Reads the shipped checkpoints for the engines that are not ours, from the same bytes that ours gets.

/** f16 in its bits to a number. */
function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

const floats = {
  F16: (bytes) => Float32Array.from(new Uint16Array(bytes), half),
  F32: (bytes) => new Float32Array(bytes),
};

/** A safetensors file: `config` as in src/model/config.rs, and `tensors` by name, each `{ shape, data }`. */
export function readCheckpoint(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  const { __metadata__: metadata, ...entries } = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  const { config } = JSON.parse(metadata.longview);
  const tensors = {};
  for (const [name, { dtype, shape, data_offsets: offsets }] of Object.entries(entries)) {
    const [start, end] = offsets.map((offset) => 8 + size + offset);
    tensors[name] = { shape, data: floats[dtype](buffer.slice(start, end)) };
  }
  return { config, tensors };
}

/** `[out][in]` to `[in][out]`. */
function transposed({ shape: [outputs, inputs], data }) {
  const turned = new Float32Array(data.length);
  for (let o = 0; o < outputs; o++) for (let i = 0; i < inputs; i++) turned[i * outputs + o] = data[o * inputs + i];
  return { shape: [inputs, outputs], data: turned };
}

const scaled = ({ shape, data }, factor) => ({ shape, data: data.map((value) => value * factor) });

/** The weights as the other engines multiply them, `[in][out]`. What costs nothing when it is done once is done
 *  here: the embedding's scale, and the scores' in what makes q. */
export function prepareWeights({ config, tensors }) {
  if (!config.tied_output || config.activation !== "gelu_tanh" || config.smeared_keys) {
    throw new Error("the bench's models of other engines know tied outputs and GELU by tanh only");
  }
  const { d_model: d, score_scale: scale } = config;
  const one = (name) => tensors[name];
  const queryScaled = ({ shape, data }) => ({ shape, data: data.map((value, i) => (i < d * (data.length / (3 * d)) ? value * scale : value)) });
  const weights = {
    embedding: scaled(one("token_embedding.weight"), config.embedding_scale),
    output: transposed(one("token_embedding.weight")),
    normWeight: one("final_norm.weight"),
    normBias: one("final_norm.bias"),
    layers: [],
  };
  for (let index = 0; index < config.layers; index++) {
    const layer = (name) => one(`layers.${index}.${name}`);
    weights.layers.push({
      attentionNormWeight: layer("attention_norm.weight"),
      attentionNormBias: layer("attention_norm.bias"),
      qkvWeight: transposed(queryScaled(layer("attention.qkv.weight"))),
      qkvBias: queryScaled(layer("attention.qkv.bias")),
      outWeight: transposed(layer("attention.out.weight")),
      outBias: layer("attention.out.bias"),
      mlpNormWeight: layer("mlp_norm.weight"),
      mlpNormBias: layer("mlp_norm.bias"),
      upWeight: transposed(layer("mlp.up.weight")),
      upBias: layer("mlp.up.bias"),
      downWeight: transposed(layer("mlp.down.weight")),
      downBias: layer("mlp.down.bias"),
    });
  }
  return weights;
}
