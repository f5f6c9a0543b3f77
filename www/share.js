// Ways to show a view elsewhere: a link, a frame, an element.
import { element } from "./dom.js";
import { PROPERTIES, format, unusual } from "./properties.js";

/** The properties that a view has. */
export const propertiesOf = (definition) => [...new Set(definition.controls.map((control) => control.name ?? control))];

/** `t5_bias` as a tag: `longview-t5-bias`. */
export const tagOf = (name) => `longview-${name.replaceAll("_", "-")}`;

const escape = (text) => text.replace(/&/g, "&amp;").replace(/"/g, "&quot;").replace(/</g, "&lt;");

/** The page that embeds come from: this one, or where the elements were loaded from. */
function pageAddress() {
  if (document.documentElement.dataset.longview === "page") return new URL(location.pathname, location.href).href;
  return new URL("../index.html", import.meta.url).href;
}

/** Link, frame and element of a view as it stands. */
export function codes(view) {
  const { name, state, definition, title } = view;
  const names = propertiesOf(definition).filter((one) => Object.hasOwn(PROPERTIES, one));
  const page = pageAddress();
  const shown = [...names, "lang", "theme"];
  const link = `${page}?${new URLSearchParams([["view", name], ...unusual(state, shown)])}`;
  const height = Math.ceil(view.root.getBoundingClientRect().height / 10) * 10;
  const frame = `${page}?${new URLSearchParams([["view", name], ...unusual(state, shown), ["embed", "1"]])}`;
  const iframe = `<iframe src="${escape(frame)}" title="${escape(title.textContent)}" width="100%" height="${height}" style="border:0" loading="lazy" allow="clipboard-write"></iframe>`;
  const attributes = unusual(state, shown).map(([one, value]) => ` ${one.replaceAll("_", "-")}="${escape(value)}"`).join("");
  const script = new URL("pkg/longview.js", page).href;
  const tag = tagOf(name);
  const code = `<script type="module" src="${escape(script)}"></script>\n<${tag}${attributes}></${tag}>`;
  return { link, iframe, element: code };
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
    title, element("p", { class: "explain", text: words.say("share.explain") }), part("link"), part("iframe"), part("element"), status, close);
  dialog.addEventListener("close", () => dialog.remove());
  view.root.append(dialog);
  dialog.showModal();
}

export { format };
