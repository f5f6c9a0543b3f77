// Two browsers behind one small set of verbs: Firefox by WebDriver BiDi (Puppeteer), WebKit by WebDriver (Selenium).
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import puppeteer from "puppeteer-core";
import { Builder, By, Capabilities, Key } from "selenium-webdriver";

const SIZE = { width: 1200, height: 900 };

/** A program that the runner was given. */
function program(variable) {
  const path = process.env[variable];
  if (!path) throw new Error(`${variable} is not set: run \`cargo xtask test --browsers all\``);
  return path;
}

class Firefox {
  static async start() {
    const browser = await puppeteer.launch({ browser: "firefox", executablePath: program("LONGVIEW_FIREFOX"), headless: true, defaultViewport: SIZE });
    const firefox = new Firefox();
    firefox.browser = browser;
    firefox.page = await browser.newPage();
    firefox.errors = [];
    firefox.page.on("pageerror", (error) => firefox.errors.push(String(error)));
    firefox.page.on("console", (message) => message.type() === "error" && firefox.errors.push(message.text()));
    return firefox;
  }
  version = () => this.browser.version();
  goto = (address) => this.page.goto(address);
  /** Calls a function in the page, or in its first frame. */
  evaluate = (action, ...given) => this.page.evaluate(action, ...given);
  press = (key) => this.page.keyboard.press(key);
  screenshot = (path) => this.page.screenshot({ path });
  /** The texts of what is found in the page's first frame, which may have no origin. */
  async inFrame(query) {
    const frame = this.page.frames()[1];
    return frame ? frame.evaluate((query) => [...document.querySelectorAll(query)].map(({ textContent }) => textContent), query) : [];
  }
  close = () => this.browser.close();
}

class WebKit {
  static async start() {
    const webkit = new WebKit();
    const port = await freePort();
    const run = (command, given, more) => spawn(command, given, { stdio: "ignore", detached: true, ...more });
    // WebKitGTK has no headless mode.
    webkit.process = run("xvfb-run", ["-a", "-s", "-screen 0 1400x1100x24", program("LONGVIEW_WEBKIT_DRIVER"), `--port=${port}`]);
    const options = { binary: program("LONGVIEW_WEBKIT"), args: ["--automation"] };
    const wanted = new Capabilities({ browserName: "MiniBrowser", "webkitgtk:browserOptions": options });
    await answers(port);
    webkit.driver = await new Builder().usingServer(`http://127.0.0.1:${port}`).withCapabilities(wanted).build();
    await webkit.driver.manage().window().setRect(SIZE);
    webkit.errors = [];
    return webkit;
  }
  version = async () => (await this.driver.getCapabilities()).get("browserVersion");
  goto = (address) => this.driver.get(address);
  evaluate = (action, ...given) => this.driver.executeScript(`return (${action}).apply(null, arguments)`, ...given);
  press = (key) => this.driver.actions().sendKeys(Key[key.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase()]).perform();
  screenshot = async (path) => writeFileSync(path, Buffer.from(await this.driver.takeScreenshot(), "base64"));
  async inFrame(query) {
    await this.driver.switchTo().frame(0);
    const found = await Promise.all((await this.driver.findElements(By.css(query))).map((one) => one.getAttribute("textContent")));
    await this.driver.switchTo().defaultContent();
    return found;
  }
  async close() {
    await this.driver.quit().catch(() => {});
    // xvfb-run, its display and the driver are one group.
    process.kill(-this.process.pid);
  }
}

const freePort = () =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Waits until something answers at a port. */
async function answers(port) {
  for (let turn = 0; turn < 300; turn++) {
    if (await fetch(`http://127.0.0.1:${port}/status`).then(({ ok }) => ok, () => false)) return;
    await new Promise((done) => setTimeout(done, 100));
  }
  throw new Error("WebKit's driver does not answer");
}

/** Starts a browser: "firefox" or "webkit". */
export const start = (kind) => ({ firefox: Firefox, webkit: WebKit })[kind].start();
