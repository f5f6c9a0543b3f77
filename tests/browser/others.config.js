// Started by `cargo xtask test --browsers all`: the main path in browsers that are not Chromium, each driven by its own
// protocol, so only Playwright's runner is used.
import { defineConfig } from "@playwright/test";

export default defineConfig({
  testDir: "others",
  // The other configuration takes what ends in .spec.js.
  testMatch: "main-path.js",
  outputDir: "../../out/others",
  reporter: [["list"]],
  workers: 1,
  retries: 1,
  timeout: 10 * 60_000,
  expect: { timeout: Number(process.env.LONGVIEW_EXPECT_MS ?? 2 * 60_000) },
  projects: ["firefox", "webkit"].map((name) => ({ name, use: { browserKind: name } })),
});
