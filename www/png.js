// Text in PNG files (PNG specification, 11.3.3: iTXt), so that a picture says what it shows.

const CRC = new Uint32Array(256).map((_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? 0xedb88320 ^ (byte >>> 1) : byte >>> 1;
  return byte;
});
const crc = (bytes) => ~bytes.reduce((sum, byte) => CRC[(sum ^ byte) & 255] ^ (sum >>> 8), ~0) >>> 0;

/** Length of the signature and of the header chunk, which comes first. */
const HEAD_BYTES = 8 + 25;

/**
 * The file with texts put in after its header.
 * @param {Uint8Array<ArrayBuffer>} png
 * @param {Record<string, string>} texts by keyword
 */
export function withTexts(png, texts) {
  const chunks = Object.entries(texts).map(([keyword, text]) => {
    // Keyword, no compression, no language, no translated keyword, then UTF-8.
    const data = new TextEncoder().encode(`iTXt${keyword}\0\0\0\0\0${text}`);
    const chunk = new Uint8Array(data.length + 8);
    const view = new DataView(chunk.buffer);
    view.setUint32(0, data.length - 4);
    chunk.set(data, 4);
    view.setUint32(data.length + 4, crc(data));
    return chunk;
  });
  return new Blob([png.subarray(0, HEAD_BYTES), ...chunks, png.subarray(HEAD_BYTES)], { type: "image/png" });
}
