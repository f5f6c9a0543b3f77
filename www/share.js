// Ways to show a view elsewhere: a link, a frame, an element.
import { folder, isOffline } from "./assets.js";
import { element } from "./dom.js";
import { PROPERTIES, unusual } from "./properties.js";

/** The property of a control, which may be given with its manner. */
export const nameOf = (control) => (typeof control === "string" ? control : control.name);

/** The properties that a view has. */
export const propertiesOf = (definition) => [
  ...new Set([...definition.controls, ...definition.charts.flatMap(({ controls }) => controls ?? [])].map(nameOf)),
];

/** `t5_bias` as a tag: `longview-t5-bias`. */
export const tagOf = (name) => `longview-${name.replaceAll("_", "-")}`;

const escape = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");

/** The page that links and frames lead to; null where there is none at an address. */
function pageAddress() {
  const isPage = document.documentElement.dataset.longview === "page";
  // A document without an address of its own is the offline file inside another page.
  if (isPage && !/^(about|data|blob):/.test(location.href)) return location.href.split(/[?#]/)[0];
  if (isPage) return "longview.html";
  const place = folder();
  return place && `${place}page.html`;
}

/** How a page of the reader's gets the elements; null where only the offline file is at hand. */
function scriptCode() {
  if (isOffline()) return null;
  const place = folder();
  // A bundler knows the package by its name.
  return place ? `<script type="module" src="${escape(`${place}longview.js`)}"></script>` : '<script type="module">import "longview";</script>';
}

/** Link, frame and element of a view as it stands; null what cannot be had here. */
export function codes(view) {
  const { name, state, definition, title } = view;
  const names = propertiesOf(definition).filter((one) => Object.hasOwn(PROPERTIES, one));
  // The reader's own text stays with the reader.
  const set = unusual(state, [...names, "lang", "theme"]).filter(([one, value]) => !(one === "text" && value === "own"));
  const page = pageAddress();
  const at = (...more) => `${page}?${new URLSearchParams([["view", name], ...set, ...more])}`;
  const height = Math.ceil(view.root.getBoundingClientRect().height / 10) * 10;
  const iframe = `<iframe src="${escape(at(["embed", "1"]))}" title="${escape(title.textContent)}" width="100%" height="${height}" style="border:0" loading="lazy" allow="clipboard-write"></iframe>`;
  const attributes = set.map(([one, value]) => ` ${one.replaceAll("_", "-")}="${escape(value)}"`).join("");
  const tag = tagOf(name);
  const script = scriptCode();
  return {
    link: page && at(),
    iframe: page && iframe,
    element: script && `${script}\n<${tag}${attributes}></${tag}>`,
  };
}

/** Opens a dialog with the codes and buttons that copy them. */
export function shareDialog(view) {
  const { words } = view;
  const all = codes(view);
  const status = element("p", { role: "status", class: "copied" });
  const part = (name) => {
    const area = element("textarea", { readonly: true, rows: name === "link" ? 2 : 4, spellcheck: "false" });
    area.value = all[name];
    const copy = element("button", {
      type: "button",
      text: words.say("share.copy"),
      "aria-label": `${words.say("share.copy")}: ${words.say(`share.${name}`)}`,
      onclick: async () => {
        area.select();
        try {
          await navigator.clipboard.writeText(area.value);
        } catch {
          // Frames may have no clipboard; the selected text can be copied by the usual keys.
          document.execCommand("copy");
        }
        status.textContent = words.say("share.copied", { what: words.say(`share.${name}`) });
      },
    });
    return element("div", { class: "share-part" }, element("label", {}, element("span", { text: words.say(`share.${name}`) }), area), copy);
  };
  const title = element("h2", { text: words.say("share.title"), id: `longview-share-${view.id}` });
  const close = element("button", { type: "button", text: words.say("share.close"), onclick: () => dialog.close() });
  const dialog = element("dialog", { class: "share-dialog", "aria-labelledby": title.id },
    title, element("p", { class: "explain", text: words.say("share.explain") }), ...Object.keys(all).filter((name) => all[name]).map(part), status, close);
  dialog.addEventListener("close", () => dialog.remove());
  view.root.append(dialog);
  dialog.showModal();
}

