// Steps of training, ours beside JAX's on the same cores, taking turns.
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { availableParallelism } from "node:os";
import { OUT, python, ROOT } from "./prepare.js";
import { median } from "./speed.js";

const CHECKPOINT = join(ROOT, "www/checkpoints/alibi.safetensors");
const TOKENS = join(OUT, "text.bin");
/** The first steps compile and warm up. */
const WARM = 10;
const STEPS = 40;
/** Mean losses in nats that may differ while both train: rounding grows with the steps. */
const DIFFERENCE_MAX = 0.02;

/** glibc gives memory back after every step and takes it again; JAX is twice as fast when told not to. */
const JAX_MEMORY = {
  MALLOC_MMAP_THRESHOLD_: String(2 ** 32),
  MALLOC_TRIM_THRESHOLD_: String(2 ** 34),
  MALLOC_TOP_PAD_: String(2 ** 28),
  MALLOC_ARENA_MAX: "1",
};

const run = (program, given, environment = {}) =>
  JSON.parse(
    execFileSync(program, given, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...environment }, maxBuffer: 1 << 26 }),
  );

/** Milliseconds a step of both, `rounds` times `STEPS` steps each in turn. */
export function training({ rounds, note }) {
  const ours = (...given) => run(process.env.CARGO ?? "cargo", ["run", "--release", "--quiet", "--package", "longview-trainer", "--example", "steps", "--", ...given]);
  let program;
  try {
    program = python("training/requirements.txt");
  } catch (error) {
    return { jax: { failure: `no Python with JAX: ${String(error.message).split("\n")[0]}` } };
  }
  const jax = (...given) => run(program, [join(import.meta.dirname, "training/steps.py"), ...given], JAX_MEMORY);
  const results = { ours: { ms: [], computed_ms: [] }, jax: { ms: [], computed_ms: [] } };
  for (let round = 0; round < rounds; round++) {
    const given = [CHECKPOINT, TOKENS, String(STEPS)];
    const [own, theirs] = [ours(...given), jax(...given)];
    const apart = Math.max(...own.losses.map((loss, step) => Math.abs(loss - theirs.losses[step])));
    if (!(apart <= DIFFERENCE_MAX)) throw new Error(`the losses of ours and of JAX part: by ${apart} nats`);
    results.difference = Math.max(results.difference ?? 0, apart);
    for (const clock of ["ms", "computed_ms"]) {
      results.ours[clock].push(...own[clock].slice(WARM));
      results.jax[clock].push(...theirs[clock].slice(WARM));
    }
    note(`a step: ours ${median(own.ms.slice(WARM)).toFixed(1)} ms, JAX ${median(theirs.ms.slice(WARM)).toFixed(1)} ms, losses within ${apart.toExponential(1)}`);
  }
  return { ...results, threads: availableParallelism() };
}
