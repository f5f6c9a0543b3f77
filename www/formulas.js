// The formula of each view in MathML, which browsers draw themselves.
import { element } from "./dom.js";

const FORMULAS = {
  none: `<math display="block"><mrow><msub><mi>s</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><mo>=</mo><mfrac><mrow><msub><mi>q</mi><mi>i</mi></msub><mo>·</mo><msub><mi>k</mi><mi>j</mi></msub></mrow><msqrt><mi>d</mi></msqrt></mfrac><mspace width="1em"/><mtext>for</mtext><mspace width="0.4em"/><mi>j</mi><mo>≤</mo><mi>i</mi></mrow></math>`,
  learned: `<math display="block"><mrow><msub><mi>x</mi><mi>p</mi></msub><mo>=</mo><mi>E</mi><mo>[</mo><msub><mtext>token</mtext><mi>p</mi></msub><mo>]</mo><mo>+</mo><mi>P</mi><mo>[</mo><mi>p</mi><mo>]</mo><mo>,</mo><mspace width="1em"/><mi>p</mi><mo>&lt;</mo><mi>L</mi></mrow></math>`,
  sinusoidal: `<math display="block"><mrow><mi>P</mi><mo>[</mo><mi>p</mi><mo>,</mo><mn>2</mn><mi>c</mi><mo>]</mo><mo>=</mo><mi>sin</mi><mfrac><mi>p</mi><msup><mi>b</mi><mrow><mn>2</mn><mi>c</mi><mo>/</mo><mi>d</mi></mrow></msup></mfrac><mo>,</mo><mspace width="0.6em"/><mi>P</mi><mo>[</mo><mi>p</mi><mo>,</mo><mn>2</mn><mi>c</mi><mo>+</mo><mn>1</mn><mo>]</mo><mo>=</mo><mi>cos</mi><mfrac><mi>p</mi><msup><mi>b</mi><mrow><mn>2</mn><mi>c</mi><mo>/</mo><mi>d</mi></mrow></msup></mfrac></mrow></math>`,
  rotary: `<math display="block"><mrow><msub><mi>s</mi><mrow><mi>m</mi><mi>n</mi></mrow></msub><mo>=</mo><mfrac><mrow><mo>(</mo><msub><mi>R</mi><mi>m</mi></msub><mi>q</mi><mo>)</mo><mo>·</mo><mo>(</mo><msub><mi>R</mi><mi>n</mi></msub><mi>k</mi><mo>)</mo></mrow><msqrt><mi>d</mi></msqrt></mfrac><mo>,</mo><mspace width="0.8em"/><msub><mi>θ</mi><mi>c</mi></msub><mo>=</mo><msup><mi>b</mi><mrow><mo>−</mo><mn>2</mn><mi>c</mi><mo>/</mo><mi>d</mi></mrow></msup></mrow></math>`,
  t5_bias: `<math display="block"><mrow><msub><mi>s</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><mo>=</mo><mfrac><mrow><msub><mi>q</mi><mi>i</mi></msub><mo>·</mo><msub><mi>k</mi><mi>j</mi></msub></mrow><msqrt><mi>d</mi></msqrt></mfrac><mo>+</mo><msub><mi>b</mi><mi>h</mi></msub><mo>[</mo><mtext>bucket</mtext><mo>(</mo><mi>i</mi><mo>−</mo><mi>j</mi><mo>)</mo><mo>]</mo></mrow></math><math display="block"><mrow><mtext>bucket</mtext><mo>(</mo><mi>n</mi><mo>)</mo><mo>=</mo><mo>{</mo><mtable columnalign="left"><mtr><mtd><mi>n</mi></mtd><mtd><mi>n</mi><mo>&lt;</mo><mi>B</mi><mo>/</mo><mn>2</mn></mtd></mtr><mtr><mtd><mi>min</mi><mo>(</mo><mi>B</mi><mo>−</mo><mn>1</mn><mo>,</mo><mfrac><mi>B</mi><mn>2</mn></mfrac><mo>+</mo><mo>⌊</mo><mfrac><mrow><mi>ln</mi><mo>(</mo><mn>2</mn><mi>n</mi><mo>/</mo><mi>B</mi><mo>)</mo></mrow><mrow><mi>ln</mi><mo>(</mo><mn>2</mn><mi>D</mi><mo>/</mo><mi>B</mi><mo>)</mo></mrow></mfrac><mfrac><mi>B</mi><mn>2</mn></mfrac><mo>⌋</mo><mo>)</mo></mtd><mtd><mtext>else</mtext></mtd></mtr></mtable></mrow></math>`,
  alibi: `<math display="block"><mrow><msub><mi>s</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><mo>=</mo><mfrac><mrow><msub><mi>q</mi><mi>i</mi></msub><mo>·</mo><msub><mi>k</mi><mi>j</mi></msub></mrow><msqrt><mi>d</mi></msqrt></mfrac><mo>−</mo><msub><mi>m</mi><mi>h</mi></msub><mo>(</mo><mi>i</mi><mo>−</mo><mi>j</mi><mo>)</mo><mo>,</mo><mspace width="0.8em"/><msub><mi>m</mi><mi>h</mi></msub><mo>=</mo><msup><mn>2</mn><mrow><mo>−</mo><mn>8</mn><mo>(</mo><mi>h</mi><mo>+</mo><mn>1</mn><mo>)</mo><mo>/</mo><mi>H</mi></mrow></msup></mrow></math>`,
  attention: `<math display="block"><mrow><msub><mi>a</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><mo>=</mo><munder><mi>softmax</mi><mrow><mi>j</mi><mo>≤</mo><mi>i</mi></mrow></munder><mo>(</mo><msub><mi>s</mi><mrow><mi>i</mi><mi>j</mi></mrow></msub><mo>)</mo></mrow></math>`,
  perplexity: `<math display="block"><mrow><mi>PPL</mi><mo>(</mo><mi>T</mi><mo>)</mo><mo>=</mo><mi>exp</mi><mo>(</mo><mfrac><mn>1</mn><mi>N</mi></mfrac><munderover><mo>∑</mo><mrow><mi>t</mi><mo>=</mo><mn>1</mn></mrow><mi>N</mi></munderover><mo>−</mo><mi>ln</mi><mi>p</mi><mo>(</mo><msub><mi>x</mi><mi>t</mi></msub><mo>|</mo><mtext>window</mtext><mo>)</mo><mo>)</mo></mrow></math>`,
};

/** A view's formula, for readers and screen readers; null where it has none. */
export function formula(name, words) {
  if (!Object.hasOwn(FORMULAS, name)) return null;
  const box = element("div", { class: "formula", role: "group", "aria-label": words.say("tools.formula"), tabindex: 0 });
  // Constants of this file, parsed by the HTML parser, which knows MathML.
  box.innerHTML = FORMULAS[name];
  return box;
}
