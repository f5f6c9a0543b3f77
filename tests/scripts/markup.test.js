// The page's scripts put text into elements, and never parse it: what would turn text into markup or code stands
// in no script of ours, but for the one place that has constants.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const www = new URL("../../www/", import.meta.url);
const PARSES = /\.(inner|outer)HTML\b|insertAdjacentHTML|document\.write|createContextualFragment|parseFromString|setHTML|srcdoc|\beval\(|new Function\b|javascript:|set(Timeout|Interval)\(\s*["'`]/g;

test("no script parses text as markup or code", () => {
  const scripts = [...readdirSync(www), ...readdirSync(new URL("views/", www)).map((name) => `views/${name}`)].filter((name) => name.endsWith(".js"));
  assert.ok(scripts.length > 40);
  const found = scripts.flatMap((name) => [...readFileSync(new URL(name, www), "utf8").matchAll(PARSES)].map(([what]) => `${name}: ${what}`));
  assert.deepEqual(found, ["formulas.js: .innerHTML"]);
});

test("that one place gets constants of its own file", () => {
  const script = readFileSync(new URL("formulas.js", www), "utf8");
  assert.match(script, /box\.innerHTML = FORMULAS\[name\];/);
  const constants = /const FORMULAS = \{([\s\S]*?)\n\};/.exec(script)[1];
  assert.doesNotMatch(constants, /\$\{/);
});
