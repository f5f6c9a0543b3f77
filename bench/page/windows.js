/** Tokens `[windows][T + 1]` as sources and targets, each `[windows][T]`. */
export function sourcesAndTargets(tokens, windows, length) {
  const take = (offset) => {
    const part = new Int32Array(windows * length);
    for (let w = 0; w < windows; w++) {
      const start = w * (length + 1) + offset;
      part.set(tokens.subarray(start, start + length), w * length);
    }
    return part;
  };
  return [take(0), take(1)];
}
