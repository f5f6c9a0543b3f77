// How every view looks, against committed pictures: wide and narrow, light and dark, at one and two pixels a CSS px.
// `cargo xtask test --browser -- looks --update-snapshots` makes them anew; look at what changed before committing.
import { readFileSync } from "node:fs";
import { expect, open, root, test } from "./fixtures.js";

const VIEWS = ["none", "learned", "sinusoidal", "rotary", "t5_bias", "alibi", "methods", "attention", "perplexity", "compare", "claims"];
const SCREENS = [
  { name: "wide", width: 900, deviceScaleFactor: 1 },
  { name: "narrow", width: 400, deviceScaleFactor: 2 },
];

const font = (subset, weight) => ({
  weight: String(weight),
  data: readFileSync(`${root}tests/browser/node_modules/@fontsource/inter/files/inter-${subset}-${weight}-normal.woff2`).toString("base64"),
  range: { latin: "U+0-2FF, U+2000-206F, U+2191, U+2193, U+2212", greek: "U+370-3FF" }[subset],
});
const FONTS = ["latin", "greek"].flatMap((subset) => [font(subset, 400), font(subset, 700)]);

/** One font on every machine: the page's first choice is Inter, which is given here. */
async function giveFont(page) {
  await page.addInitScript((fonts) => {
    for (const { weight, data, range } of fonts) {
      const face = new FontFace("Inter", Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0)), { weight, unicodeRange: range });
      document.fonts.add(face);
      face.load();
    }
  }, FONTS);
}

for (const { name, width, deviceScaleFactor } of SCREENS) {
  test.describe(name, () => {
    test.use({ viewport: { width, height: 800 }, deviceScaleFactor });
    for (const theme of ["light", "dark"]) {
      for (const view of VIEWS) {
        test(`${view}, ${theme}`, async ({ page }) => {
          await giveFont(page);
          await open(page, { view, theme, engine: "cpu", max: 256, length: 256, embed: 1 }, "picture");
          const element = page.locator(`longview-${view.replace("_", "-")}`);
          // The line about the engine and what measuring a claim costs tell a speed, which differs at every run;
          // formulas take the system's font for mathematics.
          await element.evaluate(({ shadowRoot }) => {
            const hidden = new CSSStyleSheet();
            hidden.replaceSync(".engine, .formula, .board-tools .cost, .board td > .cost { display: none !important; }");
            shadowRoot.adoptedStyleSheets = [...shadowRoot.adoptedStyleSheets, hidden];
          });
          if (view === "claims") await element.locator("[data-claim] summary").first().click();
          // Pictures are drawn when they are near, so all of the page is brought into view.
          const grow = async () => page.setViewportSize({ width, height: await page.evaluate(() => Math.ceil(document.documentElement.scrollHeight)) });
          await grow();
          const isComplete = () => element.evaluate(({ view: shown }) => {
            // The element stands before its view has come.
            if (!shown) return false;
            const { run } = shown.data;
            const attentions = Object.values(shown.data.attentions);
            const wantsWeights = shown.definition.data?.(shown.state).weights ?? [];
            const wantsBiases = shown.definition.data?.(shown.state).biases ?? [];
            const isFound = (!run || run.isFinished) && attentions.every(Boolean) && wantsWeights.every((one) => shown.data.weights.has(one)) &&
              wantsBiases.every(({ variant, length }) => shown.data.biases.has(`${variant}|${length}`));
            const hasPositions = !run || !shown.definition.data(shown.state).positionsOf || run.positions.size > 0;
            return isFound && hasPositions && shown.charts.every((chart) => !chart.figure || (!chart.isStale && chart.sentence.textContent));
          });
          await expect.poll(async () => {
            // What arrives makes the page longer.
            await grow();
            return isComplete();
          }).toBe(true);
          await grow();
          await page.waitForTimeout(500);
          await expect(element).toHaveScreenshot(`${view}-${theme}-${name}.png`, { maxDiffPixelRatio: 0.01, threshold: 0.15, animations: "disabled", caret: "hide" });
        });
      }
    }
  });
}
