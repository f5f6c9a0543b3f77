// The position encodings of the measured models for the engines that are not ours, in plain code of their own.

/** What a key after its query gets. */
export const MASKED = -1e9;

/** A head's bias by distance, `[heads][length]`; nothing where the encoding adds none. */
export function distanceBias({ config, tensors }, length) {
  const { encoding, heads } = config;
  const table = new Float32Array(heads * length);
  const fill = (value) => {
    for (let head = 0; head < heads; head++) for (let n = 0; n < length; n++) table[head * length + n] = value(head, n);
    return table;
  };
  if (encoding.kind === "alibi") return fill((head, n) => -(2 ** ((-8 * (head + 1)) / heads)) * n);
  if (encoding.kind === "t5_bias") {
    const { buckets, max_distance: furthest } = encoding;
    const exact = buckets / 2;
    const bucket = (n) => (n < exact ? n : Math.min(buckets - 1, exact + Math.floor((Math.log(n / exact) / Math.log(furthest / exact)) * exact)));
    const scalars = tensors["relative_bias.weight"].data;
    return fill((head, n) => scalars[bucket(n) * heads + head]);
  }
  return undefined;
}

/** The causal mask with the bias in it, `[heads or 1][T][T]`. */
export function scoreBias(checkpoint, length) {
  const byDistance = distanceBias(checkpoint, length);
  const heads = byDistance ? checkpoint.config.heads : 1;
  const data = new Float32Array(heads * length * length).fill(MASKED);
  for (let head = 0; head < heads; head++) {
    for (let query = 0; query < length; query++) {
      const row = (head * length + query) * length;
      for (let key = 0; key <= query; key++) data[row + key] = byDistance ? byDistance[head * length + query - key] : 0;
    }
  }
  return { shape: [1, heads, length, length], data };
}

/** Cosines and sines of a rotary model, each `[T][d_head / 2]`; nothing for another encoding. Pair c is the
 *  dimensions c and c + d_head / 2. */
export function rotation({ config }, length) {
  const { encoding } = config;
  if (encoding.kind !== "rotary") return undefined;
  if (encoding.pairing !== "halves" || encoding.fraction !== 1) throw new Error("the bench knows rotary in whole halves only");
  const pairs = config.d_model / config.heads / 2;
  const angle = (i) => Math.floor(i / pairs) * encoding.base ** (-(i % pairs) / pairs);
  const table = (wave) => ({ shape: [length, pairs], data: Float32Array.from({ length: length * pairs }, (_, i) => wave(angle(i))) });
  return { cos: table(Math.cos), sin: table(Math.sin) };
}
