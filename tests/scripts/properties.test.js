// The state in an address, under made-up input: whatever stands there, a whole state comes out, every value in it
// is one that its control could give, and written and read again it is the same. fast-check makes the input up,
// by a seed, and shrinks what fails.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { PROPERTIES, SETTINGS, format, numbers, parse, read, stops, usual } from "../../www/properties.js";

const ALL = { ...PROPERTIES, ...SETTINGS };
const NAMES = Object.keys(ALL);
const seed = Number(process.env.LONGVIEW_SEED ?? 20261130);
const runs = { seed, numRuns: Number(process.env.LONGVIEW_RUNS ?? 3000) };
const check = (property) => fc.assert(property, runs);

/** Words that readers and attackers type. */
const word = fc.constantFrom(
  "", "0", "1", "-1", "1e308", "-0", "NaN", "Infinity", "0x10", "1_000", " 8 ", "8.5", "2^-3", "1/0", "0/0", "2^(8)", "2^99999", "true", "null",
  "alibi", "rotary,alibi", "alibi,alibi", "__proto__", "constructor", "toString", "hasOwnProperty", "own", "sliding",
  "<img src=x onerror=alert(1)>", "javascript:alert(1)", "\u0000", "\ud800", "%", "%zz", "&&", "==", "😀", "٣", "１２",
);
const value = fc.oneof(word, fc.string({ unit: "binary" }), fc.integer().map(String), fc.double().map(String), fc.array(word, { maxLength: 12 }).map((all) => all.join(",")));
const name = fc.oneof({ weight: 8, arbitrary: fc.constantFrom(...NAMES) }, word, fc.string());

/** Whether a property may have a value. */
function fits(property, held) {
  const { kind, low, high, step = 1, choices, most } = property;
  switch (kind) {
    case "switch":
      return typeof held === "boolean";
    case "whole":
      return Number.isInteger(held) && held >= low && held <= high && held % step === 0;
    case "choice":
      return choices.includes(held);
    case "names":
      return typeof held === "string" && held.split(",").every((one) => choices.includes(one)) && new Set(held.split(",")).size === held.split(",").length;
    case "wholes": {
      const all = held.split(",").map(Number);
      return all.length <= most && all.every((one) => Number.isInteger(one) && one >= low && one <= high);
    }
    default:
      return typeof held === "string";
  }
}

function assertWhole(state) {
  assert.deepEqual(Object.keys(state).sort(), [...NAMES].sort());
  for (const [key, property] of Object.entries(ALL)) assert.ok(fits(property, state[key]), `${key} is ${JSON.stringify(state[key])}`);
}

test("any text of any property gives a value that its control could give, or the usual one and a problem", () => {
  check(fc.property(fc.constantFrom(...NAMES), value, (key, text) => {
    const { value: held, problem } = read(key, text);
    assert.ok(fits(ALL[key], held), `${key}=${text} became ${JSON.stringify(held)}`);
    if (problem) {
      assert.match(problem.path, /^problems\.\w+$/);
      assert.equal(typeof problem.parts.name, "string");
    }
  }));
});

test("any address gives a whole state, and nothing else", () => {
  check(fc.property(fc.array(fc.tuple(name, value), { maxLength: 12 }), (pairs) => {
    const query = new URLSearchParams(pairs).toString();
    const { state, problems } = parse(query);
    assertWhole(state);
    assert.ok(problems.length <= pairs.length);
    assert.equal({}.polluted, undefined);
    assert.equal(Object.getPrototypeOf(state), Object.prototype);
  }));
});

test("any bytes as an address give a whole state", () => {
  check(fc.property(fc.string({ unit: "binary", maxLength: 400 }), (query) => assertWhole(parse(query).state)));
});

test("a state that was written is read again as it was, without a problem", () => {
  check(fc.property(fc.array(fc.tuple(fc.constantFrom(...NAMES), value), { maxLength: 16 }), (pairs) => {
    const { state } = parse(new URLSearchParams(pairs).toString());
    const written = format(state);
    const again = parse(written);
    // A lone half of a pair of UTF-16 is no text: an address holds U+FFFD for it.
    const plain = Object.fromEntries(Object.entries(state).map(([key, held]) => [key, typeof held === "string" ? held.toWellFormed() : held]));
    assert.deepEqual(again.state, plain, written);
    assert.deepEqual(again.problems, [], written);
    assert.equal(format(again.state), written);
  }));
});

test("the usual state is written as nothing", () => {
  assert.equal(format(usual()), "");
  assertWhole(usual());
});

test("a list of slopes, in whatever form, gives one number an item, and takes no long time", () => {
  const item = fc.oneof(fc.double().map((number) => [String(number), number + 0]), fc.integer({ min: 1, max: 99 }).map((n) => [`1/${n}`, 1 / n]), fc.integer({ min: -60, max: 60 }).map((n) => [`2^${n}`, 2 ** n]), fc.integer({ min: -60, max: 60 }).map((n) => [`2^(${n})`, 2 ** n]));
  const between = fc.constantFrom(",", " ", "\n", ", ", ";", "\t", "],[");
  check(fc.property(fc.array(item, { minLength: 1, maxLength: 80 }), between, (items, gap) => {
    assert.deepEqual(numbers(items.map(([text]) => text).join(gap)), items.map(([, number]) => number));
  }));
  check(fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (text) => {
    const start = performance.now();
    assert.ok(numbers(text).every((one) => typeof one === "number"));
    assert.ok(performance.now() - start < 1000);
  }));
  // Texts on which a careless expression would take for ever.
  for (const text of [`${"1".repeat(100_000)}/`, "-".repeat(100_000), `2^(${"9".repeat(100_000)}`, " ,".repeat(100_000), ".".repeat(100_000) + "/1"]) {
    const start = performance.now();
    numbers(text);
    assert.ok(performance.now() - start < 1000, text.slice(0, 20));
  }
});

test("every slider has stops within its range, in order, with both ends", () => {
  for (const [key, property] of Object.entries(ALL).filter(([, { kind }]) => kind === "whole")) {
    const all = stops(property);
    assert.ok(all.every((one, index) => fits(property, one) || property.scale === "log" || property.stops), key);
    assert.ok(all.every((one, index) => index === 0 || one > all[index - 1]), key);
    assert.equal(all.at(-1), property.high, key);
  }
});
