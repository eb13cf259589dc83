// A field that finds a label of the vocabulary by a part of its name: a combobox with a list.

import { get, of, wasStopped } from "./api.js";
import { fill, h, say } from "./dom.js";
import { labelCode, labelName } from "./format.js";
import { t } from "./texts.js";

const SHOWN = 8;
const PAUSE = 150;

/** The field with its list; `picked(label)` is called with what was chosen. */
export function picker(id, shared, picked) {
  const list = h("ul", { id: `${id}-list`, role: "listbox", "aria-label": t("add_label"), hidden: true });
  const input = h("input", {
    id, type: "text", role: "combobox", autocomplete: "off", spellcheck: "false", dir: "auto", placeholder: t("add_hint"),
    "aria-expanded": "false", "aria-controls": list.id, "aria-autocomplete": "list",
  });
  let labels = [];
  let active = -1;
  let timer = null;
  let asked = null;

  const close = () => {
    clearTimeout(timer);
    asked?.abort();
    list.hidden = true;
    fill(list);
    labels = [];
    activate(-1);
    input.setAttribute("aria-expanded", "false");
  };
  const activate = (index) => {
    active = index;
    [...list.querySelectorAll("[role=option]")].forEach((option, at) => option.setAttribute("aria-selected", `${at === index}`));
    const option = document.getElementById(`${id}-${index}`);
    if (option) input.setAttribute("aria-activedescendant", option.id);
    else input.removeAttribute("aria-activedescendant");
    option?.scrollIntoView({ block: "nearest" });
  };
  const pick = (index) => {
    const label = labels[index];
    input.value = "";
    close();
    input.focus();
    picked(label);
  };
  const offer = (found) => {
    labels = found.labels;
    const more = found.total - labels.length;
    fill(list,
      labels.map((label, at) => h("li", {
        id: `${id}-${at}`, role: "option", "aria-selected": "false",
        // Before the field loses the focus, which closes the list.
        onmousedown: (event) => { event.preventDefault(); pick(at); },
      }, h("span", { dir: "auto" }, labelName(label)), h("small", { dir: "auto" }, labelCode(label) === labelName(label) ? "" : labelCode(label)))),
      labels.length === 0 && h("li", { class: "note", role: "option", "aria-disabled": "true", "aria-selected": "false" }, t("add_none")),
      more > 0 && h("li", { class: "note", role: "option", "aria-disabled": "true", "aria-selected": "false" }, t("add_more", { count: more })));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    activate(labels.length > 0 ? 0 : -1);
    say(labels.length > 0 ? t("add_found", { count: found.total }) : t("add_none"));
  };
  const search = async () => {
    asked?.abort();
    asked = new AbortController();
    const query = new URLSearchParams({ search: input.value.trim(), limit: SHOWN });
    if (shared.here.language) query.set("language", shared.here.language);
    try {
      offer(await get(`${of(shared.model.name, "labels")}?${query}`, { signal: asked.signal }));
    } catch (error) {
      if (!wasStopped(error)) say(error.message);
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    if (input.value.trim() === "") close();
    else timer = setTimeout(search, PAUSE);
  });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && labels.length > 0) {
      event.preventDefault();
      activate((active + step + labels.length) % labels.length);
    } else if (event.key === "Enter" && active >= 0) {
      event.preventDefault();
      pick(active);
    } else if (event.key === "Escape" && !list.hidden) {
      event.preventDefault();
      close();
    }
  });
  return h("div", { class: "picker" }, h("label", { for: id }, t("add_label")), input, list);
}
