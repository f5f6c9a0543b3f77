// axe on every view, in both themes and languages.
import AxeBuilder from "@axe-core/playwright";
import { expect, open, test } from "./fixtures.js";

const VIEWS = ["none", "learned", "sinusoidal", "rotary", "t5_bias", "alibi", "methods", "attention", "perplexity", "compare", "claims"];

async function check(page) {
  const { violations } = await new AxeBuilder({ page }).withTags(["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]).analyze();
  const serious = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  const said = serious.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join("; ")}`);
  expect(said).toEqual([]);
}

// Colours depend on the theme and names on the language, and neither on the other.
for (const view of VIEWS) {
  for (const [theme, lang] of [["light", "en"], ["dark", "zh-Hant"]]) {
    test(`${view}, ${theme}, ${lang}`, async ({ page }) => {
      await open(page, { view, theme, lang, engine: "cpu", max: 64, length: 64 }, "picture");
      const isThere = view === "claims" ? page.locator(".board [data-claim] .measure") : page.locator(".view .summary");
      await expect(isThere.first()).not.toBeEmpty();
      await check(page);
    });
  }
}

test("the whole page, with a message and a dialog", async ({ page }) => {
  await open(page, { engine: "cpu", max: 64, nonsense: 1 });
  await check(page);
  await page.locator("longview-alibi .share").click();
  await expect(page.locator("longview-alibi dialog")).toBeVisible();
  await check(page);
});

test("a phone in the dark", async ({ page }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  await open(page, { engine: "cpu", max: 64, theme: "dark" });
  await check(page);
});
