// The view of the vocabulary: a search, and the card of a label.

import { get, of, wasStopped } from "./api.js";
import { balance, button, fill, h, say, trouble } from "./dom.js";
import { contribution, labelCode, labelName, languageName, webAddress } from "./format.js";
import * as place from "./place.js";
import { t } from "./texts.js";
import { wait } from "./waiting.js";

const PAGE = 50;
const PAUSE = 200;

export class LabelsView {
  #shared;
  #listed = null;
  #shown = null;
  #stops = {};
  #timer = null;

  constructor(shared) {
    this.#shared = shared;
    this.field = h("input", { type: "search", id: "search", autocomplete: "off", spellcheck: "false", dir: "auto", oninput: () => this.#typed() });
    this.total = h("p", { class: "hint" });
    this.waiting = h("div");
    this.list = h("ul", { class: "vocabulary", role: "list" });
    this.more = button(t("labels_more"), () => this.#list(this.#listed.search, this.list.children.length), { hidden: true });
    this.card = h("article", { class: "card", "aria-label": t("card") });
    this.element = h("section", { class: "labels", "aria-labelledby": "labels-title" },
      h("div", { class: "finder" },
        h("h1", { id: "labels-title", tabindex: "-1" }, t("labels")),
        h("label", { for: "search" }, t("labels_search")), this.field, this.total, this.waiting, this.list, this.more),
      this.card);
  }

  changed() {
    this.#listed = null;
    this.#shown = null;
  }

  search() {
    this.field.focus();
  }

  /** Shows what the address asks for. */
  show() {
    const { search, label } = this.#shared.here;
    if (document.activeElement !== this.field) this.field.value = search;
    if (this.#listed?.search !== search) this.#list(search, 0);
    else this.#current();
    if (this.#shown !== label) this.#card(label);
    this.element.classList.toggle("has-card", label !== null);
  }

  #typed() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      // In place of the last address, so that going back does not go through every letter.
      const { here } = this.#shared;
      history.replaceState(null, "", place.write({ ...here, model: this.#shared.model.name, search: this.field.value.trim() }));
      dispatchEvent(new HashChangeEvent("hashchange"));
    }, PAUSE);
  }

  /** A call of which only the last counts. */
  #signal(what) {
    this.#stops[what]?.abort();
    this.#stops[what] = new AbortController();
    return this.#stops[what].signal;
  }

  async #list(search, offset) {
    const { model, here } = this.#shared;
    this.#listed = { search };
    const query = new URLSearchParams({ search, limit: PAGE, offset });
    if (here.language) query.set("language", here.language);
    const asking = wait(this.waiting);
    let found;
    try {
      found = await get(`${of(model.name, "labels")}?${query}`, { signal: this.#signal("list"), waiting: asking.waiting });
      asking.done();
    } catch (error) {
      if (wasStopped(error)) return;
      asking.done();
      fill(this.waiting, trouble(t("failed", { detail: error.message }), () => this.#list(search, offset)));
      return;
    }
    const entries = found.labels.map((label) => h("li", {},
      h("a", { href: this.#shared.to({ view: "labels", search, label: label.id }), "data-label": label.id, dir: "auto" }, labelName(label)),
      h("span", { class: "number" }, t("labels_rows", { count: label.count ?? 0 }))));
    if (offset === 0) fill(this.list, entries);
    else this.list.append(...entries);
    this.more.hidden = this.list.children.length >= found.total;
    if (offset > 0) entries[0]?.querySelector("a").focus();
    this.total.textContent = found.total > 0 ? t("labels_found", { count: found.total }) : t("labels_none", { search });
    say(this.total.textContent);
    this.#current();
  }

  /** Marks the label of the card in the list. */
  #current() {
    for (const link of this.list.querySelectorAll("a")) {
      if (Number(link.dataset.label) === this.#shared.here.label) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }

  async #card(id) {
    this.#shown = id;
    const moved = this.element.contains(document.activeElement) && document.activeElement !== this.field;
    if (id === null) {
      fill(this.card, h("p", { class: "hint" }, t("card_none")));
      return;
    }
    const { model, here } = this.#shared;
    const query = here.language ? `?${new URLSearchParams({ language: here.language })}` : "";
    const asking = wait(this.card);
    try {
      const label = await get(of(model.name, "labels", id) + query, { signal: this.#signal("card"), waiting: asking.waiting });
      asking.done();
      fill(this.card, this.#cardOf(label));
      if (moved) this.card.querySelector("h2").focus();
    } catch (error) {
      if (wasStopped(error)) return;
      asking.done();
      fill(this.card, this.#back(), trouble(t("failed", { detail: error.message }), () => this.#card(id)));
    }
  }

  #back() {
    return h("p", { class: "back" }, h("a", { href: this.#shared.to({ view: "labels", search: this.#shared.here.search }) }, t("card_back")));
  }

  #cardOf(label) {
    const name = labelName(label);
    const code = labelCode(label);
    const address = webAddress(code);
    const words = (label.terms ?? []).filter(({ weight }) => Number.isFinite(weight));
    const list = (title, inside) => h("section", {}, h("h3", {}, title), inside);
    const links = (labels) => h("ul", { class: "links" }, labels.map((other) => h("li", {},
      h("a", { href: this.#shared.to({ view: "labels", search: this.#shared.here.search, label: other.id }), dir: "auto" }, labelName(other)))));
    return [
      this.#back(),
      h("header", {},
        h("h2", { tabindex: "-1", dir: "auto" }, name),
        code !== name && h("p", { class: "code", dir: "auto" }, address ? h("a", { href: address, rel: "noreferrer" }, code) : code),
        h("p", { class: "hint" }, label.count > 0 ? t("card_rows", { count: label.count }) : t("card_no_rows"))),
      this.#decision(label),
      label.broader?.length > 0 && list(t("card_broader"), links(label.broader)),
      label.narrower?.length > 0 && list(t("card_narrower"), links(label.narrower)),
      label.names?.length > 0 && list(t("card_names"), this.#names(label.names)),
      words.length > 0 && list(t("card_words"), balance(words.map(({ term, weight }) => ({ name: term, value: weight, text: contribution(weight) })))),
      label.examples?.length > 0 && list(t("card_examples"), this.#examples(label.examples)),
    ];
  }

  /** Names by language, the preferred ones first. */
  #names(names) {
    const languages = new Map();
    for (const entry of names) {
      const language = entry.language ?? "";
      languages.set(language, [...(languages.get(language) ?? []), entry]);
    }
    return h("dl", { class: "names" }, [...languages].map(([language, entries]) => [
      h("dt", {}, language ? languageName(language) : t("card_no_language")),
      entries.sort((a, b) => Number(b.preferred ?? false) - Number(a.preferred ?? false))
        .map(({ name, preferred }) => h("dd", { class: preferred ? "preferred" : "", lang: language || null, dir: "auto" }, name)),
    ]));
  }

  #examples(examples) {
    return h("ul", { class: "rows" }, examples.map(({ row, terms }) => h("li", {}, t("card_example", { row: row + 1 }), " ",
      h("small", { dir: "auto" }, terms?.length > 0 ? terms.join(" · ") : t("card_no_text")))));
  }

  #decision(label) {
    const { decisions } = this.#shared;
    const toggle = button(t("card_accept"), () => {
      decisions.toggle({ id: label.id, code: label.code, name: label.name, score: null }, "accepted");
      show();
    });
    const show = () => {
      const accepted = decisions.of(label) === "accepted";
      toggle.setAttribute("aria-pressed", `${accepted}`);
    };
    show();
    return h("p", { class: "buttons" }, toggle);
  }
}
