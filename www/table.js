// The table of a picture's numbers.
import { element } from "./dom.js";

/**
 * @param {{columns: string[], rows: string[][], total: number}} found its rows may be the first of more
 * @param {import("./words.js").Words} words
 */
export function tableElement({ columns, rows, total }, words) {
  const made = element("table");
  if (rows.length < total) {
    made.append(element("caption", { text: words.say("tools.tableCut", { shown: words.count(rows.length), total: words.count(total) }) }));
  }
  made.append(
    element("thead", {}, element("tr", {}, ...columns.map((column) => element("th", { scope: "col", text: column })))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((cell, index) => element(index ? "td" : "th", { text: cell, scope: index ? false : "row" }))))),
  );
  return made;
}
