// What may go wrong with a GPU: the run goes on, what was measured stays, and one quiet line says so.
import { expect, inWorkers, open, results, state, test, told } from "./fixtures.js";

const MAX = 128;
const LENGTHS = [16, 32, 64, 128];
const run = { view: "perplexity", encodings: "rotary,alibi", engine: "gpu", max: MAX };
const attention = { view: "attention", engine: "gpu", length: 32, max: MAX };

const status = (page) => page.locator(".view .engine");
const engine = (page) => status(page).getAttribute("data-engine");

/** Keeps the devices that a worker opens where a test finds them. */
function keepDevices() {
  self.devices = [];
  const { requestDevice } = GPUAdapter.prototype;
  GPUAdapter.prototype.requestDevice = async function (...given) {
    const device = await requestDevice.apply(this, given);
    self.devices.push(device);
    return device;
  };
}
const destroy = (page) => page.workers()[0].evaluate(() => self.devices.at(-1).destroy());

/** Counts the tokens that the engine computes: who begins anew computes more. */
const count = (page) =>
  page.evaluate(() => {
    const { engine } = window.longview;
    window.computed = 0;
    const take = engine.take.bind(engine);
    engine.take = (message) => {
      if (message.kind === "points") window.computed += message.tokens;
      take(message);
    };
  });

/** Waits until the run is done; every length has the same tokens, and none was computed twice. */
async function finished(page) {
  const done = () => page.evaluate(() => [...window.longview.engine.runs.values()].some((one) => one.isFinished));
  await expect.poll(done).toBe(true);
  const points = await results(page);
  expect(points).toHaveLength(2 * LENGTHS.length);
  expect(new Set(points.map(({ tokens }) => tokens)).size).toBe(1);
  for (const { perplexity } of points) expect(perplexity).toBeGreaterThan(10);
  return points;
}

/** Opens a run, and gives what is measured when some of it is. */
async function begun(page) {
  await open(page, run);
  await count(page);
  await expect.poll(async () => (await results(page)).length).toBeGreaterThan(1);
  expect(await engine(page)).toBe("gpu");
  return results(page);
}

/** No point is lost, nor does one rest on fewer tokens. */
async function keeps(page, before) {
  const now = await results(page);
  for (const { encoding, length, tokens } of before) {
    const point = now.find((one) => one.encoding === encoding && one.length === length);
    expect(point?.tokens, `${encoding} at ${length}`).toBeGreaterThanOrEqual(tokens);
  }
}

test("a device that is lost in the middle of a run is opened anew, then the CPU goes on; nothing is measured twice", async ({ page }) => {
  await inWorkers(page, keepDevices);
  const before = await begun(page);
  await destroy(page);
  await expect.poll(() => told(page)).toMatch(/^The GPU failed \(.*lost.*\) and was opened anew; what was measured is kept/);
  expect(await page.locator(".messages p").count(), "one line").toBe(1);
  await keeps(page, before);
  expect(await page.workers()[0].evaluate(() => self.devices.length)).toBe(2);
  await expect(status(page)).toHaveAttribute("data-engine", "gpu");
  await destroy(page);
  await expect.poll(() => told(page)).toMatch(/^The GPU failed \(.*\); what was measured is kept, .* on the CPU/);
  expect(await page.locator(".messages p").count()).toBe(1);
  await expect(status(page)).toHaveAttribute("data-engine", "cpu");
  await expect(status(page)).toContainText(/CPU runs the models: the GPU failed \(/);
  const points = await finished(page);
  const tokens = points[0].tokens * points.length;
  const computed = await page.evaluate(() => window.computed);
  expect(computed, "a step that is done is done once").toBeLessThanOrEqual(tokens);
  expect(await state(page)).toMatchObject({ ...run, max: MAX });
});

test("a device that is lost while nothing runs is told at once, and the next picture comes all the same", async ({ page }) => {
  await inWorkers(page, keepDevices);
  await open(page, attention);
  const sides = () => page.evaluate(() => [...window.longview.engine.attentions.values()].map(({ length }) => length));
  await expect.poll(sides).toEqual([32]);
  const idle = () => page.evaluate(() => window.longview.engine.loading === null);
  await expect.poll(idle).toBe(true);
  await destroy(page);
  await expect.poll(() => told(page)).toMatch(/opened anew/);
  await expect(status(page)).toHaveAttribute("data-engine", "gpu");
  expect(await sides()).toEqual([32]);
  await page.locator('longview-attention [data-control="length"] input').press("PageUp");
  await expect.poll(async () => (await sides())[0]).toBeGreaterThan(32);
});

test("a GPU process that crashes in the middle of a run costs the run nothing", async ({ page, browser }) => {
  const before = await begun(page);
  const session = await browser.newBrowserCDPSession();
  await session.send("Browser.crashGpuProcess");
  await expect.poll(() => told(page)).toMatch(/^The GPU failed/);
  await keeps(page, before);
  await finished(page);
});

test("an adapter that gives no device leads to the CPU, and the reason is said", async ({ page }) => {
  await inWorkers(page, () => {
    GPUAdapter.prototype.requestDevice = () => Promise.reject(new DOMException("no device today", "OperationError"));
  });
  await open(page, run);
  await expect(status(page)).toHaveAttribute("data-engine", "cpu");
  await expect(status(page)).toContainText(/CPU runs the models: the adapter gives no device.*no device today/);
  await finished(page);
});

test("a buffer for which there is no memory leads to the CPU in the middle of a run", async ({ page }) => {
  await inWorkers(page, () => {
    // The scope says so of every buffer that is made once models run, which the self-check's have not been.
    const { pushErrorScope, popErrorScope } = GPUDevice.prototype;
    const scopes = [];
    GPUDevice.prototype.pushErrorScope = function (filter) {
      scopes.push(filter);
      return pushErrorScope.call(this, filter);
    };
    GPUDevice.prototype.popErrorScope = async function () {
      const filter = scopes.pop();
      const found = await popErrorScope.call(this);
      return self.isFull && filter === "out-of-memory" ? new GPUOutOfMemoryError("no memory left") : found;
    };
  });
  await open(page, { ...run, max: 16 });
  await expect.poll(async () => (await results(page)).length).toBe(2);
  const before = await results(page);
  await page.workers()[0].evaluate(() => (self.isFull = true));
  for (let i = 0; i < 3; i++) await page.locator('[data-control="max"] input').press("PageUp");
  const { max } = await state(page);
  expect(max).toBeGreaterThan(16);
  await expect.poll(() => told(page)).toMatch(/GPU failed \(.*memory.*on the CPU/i);
  await expect(status(page)).toHaveAttribute("data-engine", "cpu");
  await expect.poll(async () => (await results(page)).length).toBe(2 * (Math.floor(Math.log2(max)) - 3));
  await page.locator('[data-control="max"] input').press("Home");
  await expect.poll(async () => (await state(page)).max).toBe(16);
  await keeps(page, before);
});

// The self-check can fail for real: of the built program one kernel is made wrong, as it is handed to the browser.
// tests/gpu.rs breaks every kernel.
const WRONG = [
  ["embed", "(row % p.length) * p.d", "(row % p.length + 1u) * p.d"],
  ["linear", "k < p.inputs;", "k + 1u < p.inputs;"],
  ["rotate", "a * cosine - b * sine", "a * cosine + b * sine"],
  ["attention", "s0 += vec4<f32>(bias[", "s0 -= vec4<f32>(bias["],
  ["nll", "chosen += part.z", "chosen = part.z"],
  ["capture_attention", "/ f32(queries)", ""],
];

/** Alters the shader of a kernel; counts how often, so that a line that is gone is noticed. */
function breakKernel(kernel, right, wrong) {
  self.broken = 0;
  const { createShaderModule } = GPUDevice.prototype;
  GPUDevice.prototype.createShaderModule = function (descriptor) {
    let { code } = descriptor;
    if (descriptor.label === kernel && code.includes(right)) {
      self.broken += 1;
      code = code.replace(right, wrong);
    }
    return createShaderModule.call(this, { ...descriptor, code });
  };
}

test("a kernel that computes wrongly is found at the start, and the CPU runs the models", async ({ page }) => {
  test.slow();
  await inWorkers(page, breakKernel, ...WRONG[0]);
  await open(page, run);
  await expect(status(page)).toHaveAttribute("data-engine", "cpu");
  await expect(status(page)).toContainText(/in the self-check .* was off by .* is allowed/);
  expect(await page.workers()[0].evaluate(() => self.broken)).toBeGreaterThan(0);
  await finished(page);
});

for (const [kernel, right, wrong] of WRONG.slice(1)) {
  test(`the self-check sees ${kernel} with “${wrong}” for “${right}”`, async ({ page }) => {
    await page.goto("tests/browser/empty.html");
    const found = await page.evaluate(async ([source, ...parts]) => {
      const script = await (await fetch("/pkg/worker.js")).text();
      const first = `(${source})(${parts.map((part) => JSON.stringify(part)).join(", ")});
        addEventListener("message", ({ data }) => data.kind === "broken" && postMessage({ kind: "broken", broken: self.broken }));\n`;
      const worker = new Worker(URL.createObjectURL(new Blob([first, script], { type: "text/javascript" })));
      const places = { "engine.wasm": new URL("/pkg/engine_bg.wasm", location.href).href };
      const heard = (kind) => new Promise((resolve) => worker.addEventListener("message", ({ data }) => data.kind === kind && resolve(data)));
      const verdict = heard("verdict");
      worker.postMessage({ kind: "start", engine: "gpu", places, models: null });
      const told = (await verdict).verdict;
      const answer = heard("broken");
      worker.postMessage({ kind: "broken" });
      const { broken } = await answer;
      worker.terminate();
      return { ...told, broken };
    }, [String(breakKernel), kernel, right, wrong]);
    expect(found.broken, "the line is there").toBeGreaterThan(0);
    expect(found, found.message).toMatchObject({ engine: "cpu", reason: "differs" });
    expect(found.max_difference).not.toBeLessThan(1e-5);
  });
}

test("a shader that does not compile leads to the CPU, and the reason is said", async ({ page }) => {
  await inWorkers(page, breakKernel, "rotate", "a * cosine - b * sine", "a * no_such_name");
  await open(page, run);
  await expect(status(page)).toHaveAttribute("data-engine", "cpu");
  await expect(status(page)).toContainText(/failed the self-check \(.*no_such_name/);
  await finished(page);
});
