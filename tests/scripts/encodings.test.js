// The encodings that the library has, and those that the page offers, are the same; what is missing is named, with the
// place for it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ENCODINGS, NEWCOMERS } from "../../www/properties.js";

const text = (path) => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const list = /\nencodings! \{\n([\s\S]*?)\n\}/.exec(text("src/encoding/mod.rs"))[1];
const names = [...list.matchAll(/= "([a-z0-9_]+)",/g)].map(([, name]) => name);

test("the page offers every encoding of the library", () => {
  assert.ok(names.length >= 10, "the list in src/encoding/mod.rs is not where this test looks for it");
  for (const name of names) assert.ok(ENCODINGS.includes(name), `the page does not offer ${name}: put it into NEWCOMERS in www/properties.js, or take it out of the list in src/encoding/mod.rs`);
  for (const name of ENCODINGS) assert.ok(names.includes(name), `the page offers ${name}, which src/encoding/mod.rs does not list`);
});

test("every encoding's model is one that every copy of the page carries", () => {
  const [places, models] = [text("www/assets.js"), text("www/checkpoints/manifest.json")];
  for (const name of names) {
    assert.ok(models.includes(`"name":"${name}"`), `there is no model of ${name}: name it in trainer/src/grid.rs, and train it by \`cargo xtask train --only ${name}\``);
    assert.ok(places.includes(`"${name}.safetensors": () => new URL("./assets/${name}.safetensors", import.meta.url)`), `www/assets.js has no line for ${name}.safetensors: write one like that of alibi.safetensors`);
  }
});

test("of every later encoding a sentence is said in every language", () => {
  for (const locale of ["en", "zh-Hant"]) {
    const { newcomers } = JSON.parse(text(`www/locales/${locale}.json`)).notes;
    for (const name of NEWCOMERS) assert.ok(newcomers[name], `www/locales/${locale}.json says nothing of ${name}: write it at "notes", "newcomers", "${name}"`);
  }
});
