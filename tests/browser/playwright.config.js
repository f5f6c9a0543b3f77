// Started by `cargo xtask test --browser`, which serves the page and names it in LONGVIEW_URL.
import { defineConfig } from "@playwright/test";

for (const name of ["LONGVIEW_URL", "LONGVIEW_CHROMIUM", "LONGVIEW_PROGRAM"]) {
  if (!process.env[name]) throw new Error(`${name} is not set: run \`cargo xtask test --browser\``);
}

// A closed network must not slow the start, and nothing is to be fetched but the page.
const quiet = [
  "--no-first-run",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // A name that is no address of this machine: what comes from there by http is not secure.
  "--host-resolver-rules=MAP lecture.test 127.0.0.1",
];
// SwiftShader is Chromium's WebGPU adapter on machines without a GPU; the same on every machine.
const webgpu = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
// With these SwiftShader composes the pages too, and so can show what WebGPU painted. Without them its process dies of
// the first picture, which is a test of its own.
const composing = ["--enable-features=Vulkan", "--use-vulkan=swiftshader", "--use-angle=swiftshader"];
const withoutWebgpu = ["--disable-features=WebGPUService"];

const chromium = (flags) => ({
  baseURL: process.env.LONGVIEW_URL,
  launchOptions: {
    executablePath: process.env.LONGVIEW_CHROMIUM,
    args: [...quiet, ...flags],
    // Playwright passes it by default; with it there is no WebGPU.
    ignoreDefaultArgs: ["--disable-gpu"],
  },
});

// A short soak is of the CPU's engine only; a long one, asked for, is of both.
const onGpu = process.env.LONGVIEW_SOAK_MINUTES ? /(main-path|kernels|painting-fails|faults-gpu|soak)\.spec\.js/ : /(main-path|kernels|painting-fails|faults-gpu)\.spec\.js/;

export default defineConfig({
  testDir: ".",
  outputDir: "../../out/browser",
  // The same pictures on every system: the font comes with the test.
  snapshotPathTemplate: "{testDir}/looks/{arg}{ext}",
  reporter: [["list"]],
  // Two files at a time, of which one may use the GPU that is a program on all cores. What blocks a page is measured
  // with room for that.
  workers: 2,
  forbidOnly: Boolean(process.env.CI),
  // On a busy machine Chromium's SwiftShader process was once seen to stop answering; a new browser is tried
  // once, and the report calls the test flaky.
  retries: 1,
  // A hung page must end some time; no test is about speed.
  timeout: 10 * 60_000,
  expect: { timeout: Number(process.env.LONGVIEW_EXPECT_MS ?? 5 * 60_000) },
  projects: [
    { name: "webgpu", workers: 1, testMatch: onGpu, use: { engine: "gpu", textCharacters: 3000, ...chromium(webgpu) } },
    { name: "painting", workers: 1, testMatch: /painting\.spec\.js/, use: { engine: "gpu", textCharacters: 3000, ...chromium([...webgpu, ...composing]) } },
    { name: "cpu", testIgnore: /(kernels|painting|painting-fails|faults-gpu)\.spec\.js/, use: { engine: "cpu", ...chromium(withoutWebgpu) } },
  ],
});
