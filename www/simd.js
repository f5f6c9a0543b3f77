// Which of the engine's two modules this browser can run.

/** A module of one function whose one instruction (i8x16.relaxed_swizzle) is of relaxed SIMD. */
const RELAXED = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, // WebAssembly, version 1
  1, 5, 1, 96, 0, 1, 123, // types: () → v128
  3, 2, 1, 0, // functions: one, of that type
  10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11, // code: swizzle of two splats
]);

/** Whether this browser has relaxed SIMD, which makes the engine on the CPU faster. */
export const hasRelaxedSimd = () => WebAssembly.validate(RELAXED);
