// A Chromium for measuring, and the memory of its processes.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { chromium } from "playwright-core";

const FLAGS = [
  "--enable-unsafe-webgpu",
  "--no-first-run",
  "--disable-quic",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const SOFTWARE = "--use-webgpu-adapter=swiftshader";

const start = (more) =>
  chromium.launch({
    executablePath: process.env.LONGVIEW_CHROMIUM,
    args: [...FLAGS, ...more],
    // Playwright passes it by default; with it there is no WebGPU.
    ignoreDefaultArgs: ["--disable-gpu"],
  });

let more;
let adapter;

/** Starts a browser: on the machine's own GPU where there is one, else on SwiftShader. */
export async function launch(address) {
  if (more) return start(more);
  for (const flags of [[], [SOFTWARE]]) {
    const browser = await start(flags);
    const page = await browser.newPage();
    // WebGPU is offered to secure pages only; 127.0.0.1 is one.
    await page.goto(address);
    adapter = await page.evaluate(async () => {
      const found = await navigator.gpu?.requestAdapter();
      return found && [found.info.vendor, found.info.architecture, found.info.description].filter(Boolean).join(" ");
    });
    await page.close();
    if (adapter || flags.length > 0) {
      more = flags;
      return browser;
    }
    await browser.close();
  }
}

/** The WebGPU adapter's name, once a browser was launched; nothing where there is none. */
export const gpu = () => adapter;

/** The ids of a browser's processes that run pages, and of the one that drives the GPU. */
export async function processes(browser) {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send("SystemInfo.getProcessInfo");
  await session.detach();
  return processInfo.filter(({ type }) => type === "renderer" || type === "GPU");
}

/** Milliseconds that all threads of processes have computed so far; nothing where the system does not tell. Unlike a
 *  clock it leaves out what other programs on the machine took. */
export function computedMs(ids) {
  let sum = 0;
  for (const id of ids) {
    try {
      for (const thread of readdirSync(`/proc/${id}/task`)) {
        sum += Number(readFileSync(`/proc/${id}/task/${thread}/schedstat`, "utf8").split(" ")[0]) / 1e6;
      }
    } catch {
      // Another system; or a spare process of the browser's that has ended, which computed nothing.
      if (process.platform !== "linux") return undefined;
    }
  }
  return sum;
}

/** Forgets the processes' largest sizes so far (Linux). */
export function forgetPeaks(ids) {
  for (const id of ids) {
    try {
      writeFileSync(`/proc/${id}/clear_refs`, "5");
    } catch {
      // Another system, or a process that has ended.
    }
  }
}

/** The sum of the largest resident sizes of processes in bytes; nothing where the system does not tell. */
export function peakBytes(ids) {
  let sum = 0;
  for (const id of ids) {
    try {
      sum += Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${id}/status`, "utf8"))[1]) * 1024;
    } catch {
      if (process.platform !== "linux") return undefined;
    }
  }
  return sum;
}
