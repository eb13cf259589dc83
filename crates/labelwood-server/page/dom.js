// Elements, made without HTML: what comes from outside is only ever set as text.

import { t } from "./texts.js";

/** The element `tag` with attributes, listeners (`onclick: f`) and properties (`.value: x`), and what is inside. */
export function h(tag, attributes = {}, ...inside) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith(".")) element[name.slice(1)] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...inside.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Puts `inside` in place of what is in `element`. */
export function fill(element, ...inside) {
  element.replaceChildren(...inside.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** A button with a text. */
export function button(text, onclick, attributes = {}) {
  return h("button", { type: "button", onclick, ...attributes }, text);
}

/** A bar that is full at `axis`; `style` is set by script, since the page's policy allows no style attributes. */
export function bar(value, axis, kind = "") {
  const filled = h("span", { class: "filled" });
  filled.style.inlineSize = `${Math.max(0, Math.min(1, value / axis)) * 100}%`;
  return h("span", { class: `bar ${kind}`, "aria-hidden": "true" }, filled);
}

/** Bars to both sides of a line: `{name, value, text}` of each, what speaks for to the end, what against to the start. */
export function balance(entries, attributes = {}) {
  const axis = Math.max(...entries.map(({ value }) => Math.abs(value)), 0) || 1;
  return h("ul", { class: "balance", role: "list", ...attributes }, entries.map(({ name, value, text, term }) => {
    const filled = h("span", { class: value < 0 ? "filled against" : "filled for" });
    filled.style.inlineSize = `${(Math.abs(value) / axis) * 50}%`;
    return h("li", { "data-term": term },
      h("span", { class: "term", dir: "auto" }, name),
      h("span", { class: "scale", "aria-hidden": "true" }, filled),
      h("span", { class: "number" }, text));
  }));
}

/** Says `text` to those who listen to the page. */
export function say(text) {
  const place = document.getElementById("said");
  // The same sentence twice is said twice only if it is another text.
  place.textContent = place.textContent === text ? `${text}\u00a0` : text;
}

/** A line that something went wrong, and a button to try again. */
export function trouble(text, again) {
  return h("div", { class: "trouble", role: "alert" }, h("p", {}, text), again && button(t("try_again"), again));
}

/** Gives the browser a file to keep. */
export function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** Puts `text` on the clipboard; true if the browser let it. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers have a clipboard only for https and this machine; elsewhere the old way may do.
    const area = h("textarea", { ".value": text, class: "unseen", tabindex: "-1", "aria-hidden": "true" });
    const before = document.activeElement;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before?.focus();
    return done;
  }
}
