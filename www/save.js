// Taking a picture along: SVG, PNG, CSV, or the clipboard. Files carry what they show in name and metadata.
import { complete, csv, draw, fileStem, parameters, svg } from "./drawing.js";
import { element } from "./dom.js";
import { withTexts } from "./png.js";

/** Pixels a CSS px that are offered. */
const SCALES = [1, 2, 4];

/** @param {import("./chart.js").Chart} chart */
export function saveMenu(chart) {
  const { words } = chart.view;
  const menu = element("details", { class: "menu" });
  // The clipboard is given only right after the click, so what goes there waits for the numbers itself.
  const item = (label, action, isAtOnce = false) =>
    element("button", {
      type: "button",
      text: label,
      onclick: async () => {
        menu.open = false;
        try {
          if (!isAtOnce) await whole(chart);
          await action();
        } catch (error) {
          chart.view.messages.show("save", "problems.save", { reason: String(error.message ?? error) });
        }
      },
    });
  menu.append(
    element("summary", { text: words.say("tools.save") }),
    element("div", { class: "menu-items" },
      item("SVG", () => saveSvg(chart)),
      ...SCALES.map((scale) => item(`PNG ${scale}×`, async () => save(await png(chart, scale), name(chart, scale > 1 ? `@${scale}x.png` : ".png")))),
      item("CSV", () => saveCsv(chart)),
      item(words.say("tools.copyPicture"), () => copy("image/png", () => png(chart, 2), chart), true),
      item(words.say("tools.copyNumbers"), () => copy("text/plain", () => numbers(chart), chart), true),
    ),
  );
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget instanceof Node && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  return menu;
}

/** `longview-alibi-heads8-length64.svg` */
export function name(chart, ending) {
  return `${fileStem(JSON.stringify(chart.figure))}${ending}`;
}

/** A file is for paper and slides: on its own ground. */
const fileStyle = (chart, ratio) => {
  const { width, height } = chart.size();
  return JSON.stringify({ ...chart.style(width, height, ratio), background: true });
};

export const numbers = (chart) => csv(JSON.stringify(chart.figure), chart.values, chart.view.words.locale);

export const drawing = (chart) => svg(JSON.stringify(chart.figure), fileStyle(chart, 2), chart.values);

/** The picture as a PNG of `scale` pixels a CSS px. */
export async function png(chart, scale) {
  const canvas = document.createElement("canvas");
  draw(canvas, JSON.stringify(chart.figure), fileStyle(chart, scale), chart.values);
  const blob = await new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error(`${canvas.width} × ${canvas.height} pixels are too many for this browser`);
  return withTexts(new Uint8Array(await blob.arrayBuffer()), {
    Title: `Longview: ${chart.title}`,
    Description: chart.summary(),
    Comment: parameters(JSON.stringify(chart.figure)),
    Software: "Longview",
  });
}

function saveSvg(chart) {
  save(new Blob([drawing(chart)], { type: "image/svg+xml" }), name(chart, ".svg"));
}

function saveCsv(chart) {
  // The mark of UTF-8 lets spreadsheets read Chinese column names; programs do better without.
  const mark = chart.view.words.locale === "en" ? "" : "\ufeff";
  save(new Blob([mark, numbers(chart)], { type: "text/csv;charset=utf-8" }), name(chart, ".csv"));
}

/** Waits until all is there that a file is made of. */
async function whole(chart) {
  await complete();
  await chart.withNumbers();
}

/**
 * Puts what `make` makes into the clipboard. It is promised: see above.
 * @param {string} type
 * @param {() => BlobPart | Promise<BlobPart>} make
 * @param {import("./chart.js").Chart} chart
 */
async function copy(type, make, chart) {
  const made = whole(chart).then(() => make()).then((content) => new Blob([content], { type }));
  await navigator.clipboard.write([new ClipboardItem({ [type]: made })]);
}

function save(blob, file) {
  const link = element("a", { href: URL.createObjectURL(blob), download: file });
  link.click();
  // The browser has taken the file by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
