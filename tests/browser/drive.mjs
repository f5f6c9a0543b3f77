import { chromium } from "@playwright/test";
const [,, query = "", out = "/tmp/shot.png", width = "1400", height = "1000", script = ""] = process.argv;
const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox","--disable-quic","--no-first-run","--disable-background-networking","--disable-component-update","--disable-sync","--disable-features=WebGPUService"], ignoreDefaultArgs: ["--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: Number(width), height: Number(height) }, colorScheme: process.env.DARK ? "dark" : "light", deviceScaleFactor: Number(process.env.DPR ?? 1), locale: process.env.LOCALE ?? "en" });
page.on("console", (m) => console.log("console:", m.type(), m.text()));
page.on("pageerror", (e) => console.log("pageerror:", e.stack));
page.on("requestfailed", (r) => console.log("failed:", r.url(), r.failure()?.errorText));
await page.goto(`http://127.0.0.1:8123/${query}`);
await page.waitForTimeout(Number(process.env.WAIT ?? 3000));
if (script) console.log(JSON.stringify(await page.evaluate(script)));
await page.waitForTimeout(Number(process.env.WAIT2 ?? 200));
if (process.env.FULL) { const h = await page.evaluate(() => document.documentElement.scrollHeight); await page.setViewportSize({ width: Number(width), height: h }); await page.waitForTimeout(Number(process.env.WAIT3 ?? 4000)); const h2 = await page.evaluate(() => document.documentElement.scrollHeight); await page.setViewportSize({ width: Number(width), height: h2 }); await page.waitForTimeout(500);}
await page.screenshot({ path: out });
await browser.close();
