// The two dialogs: the server's key, and help on keys.

import { button, h } from "./dom.js";
import { keep, recall } from "./memory.js";
import { t } from "./texts.js";

/** Shows a dialog until it is closed; the browser puts the focus back. */
function show(dialog, onclose) {
  dialog.addEventListener("close", () => {
    dialog.remove();
    onclose?.();
  });
  document.body.append(dialog);
  dialog.showModal();
}

/** Asks for the key of the server; null if the user has none. */
export function askForKey(wasWrong) {
  return new Promise((resolve) => {
    let given = null;
    const field = h("input", { type: "password", id: "key", autocomplete: "off", spellcheck: "false", required: true, "aria-describedby": "key-help" });
    const use = (event) => {
      event.preventDefault();
      given = field.value.trim();
      dialog.close();
    };
    const dialog = h("dialog", { "aria-labelledby": "key-title" },
      h("form", { onsubmit: use },
        h("h2", { id: "key-title" }, t("key_title")),
        wasWrong && h("p", { class: "wrong", role: "alert" }, t("key_wrong")),
        h("p", { id: "key-help" }, t("key_help")),
        h("label", { for: "key" }, t("key_label")), field,
        h("p", { class: "buttons" }, h("button", { class: "main" }, t("key_use")), button(t("cancel"), () => dialog.close()))));
    show(dialog, () => resolve(given));
    field.focus();
  });
}

const SINGLE_KEYS = "labelwood-single-keys";

/** May single keys do something? Who dictates to a computer may not want that. */
export function singleKeys() {
  return recall("localStorage", SINGLE_KEYS) !== "off";
}

/** Help on keys. */
export function keysDialog() {
  const toggle = (event) => keep("localStorage", SINGLE_KEYS, event.target.checked ? "on" : "off");
  const dialog = h("dialog", { "aria-labelledby": "keys-title" },
    h("h2", { id: "keys-title" }, t("keys_title")),
    h("dl", { class: "keys" }, t("keys_list").map(([keys, what]) => [
      h("dt", {}, keys.split(" ").map((key) => (key === "+" ? " + " : [h("kbd", {}, key), " "]))),
      h("dd", {}, what),
    ])),
    h("label", { class: "check" }, h("input", { type: "checkbox", checked: singleKeys(), onchange: toggle }), t("keys_single")),
    h("p", { class: "buttons" }, button(t("close"), () => dialog.close(), { class: "main", autofocus: true })));
  show(dialog);
}
