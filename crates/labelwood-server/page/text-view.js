// The view of one text: the text, the labels that are suggested for it, and those that are accepted.

import { of, post, wasStopped } from "./api.js";
import { button, fill, h, trouble } from "./dom.js";
import { labelName } from "./format.js";
import { markedText } from "./marked-text.js";
import { Slip } from "./slip.js";
import { Suggestions } from "./suggestions.js";
import { t } from "./texts.js";
import { wait } from "./waiting.js";

const narrow = matchMedia("(max-width: 60rem)");

export class TextView {
  #shared;
  #asked = null;
  #stop = null;

  constructor(shared) {
    this.#shared = shared;
    this.area = h("textarea", {
      id: "text", dir: "auto", spellcheck: "false", "aria-labelledby": "text-title", "aria-describedby": "text-hint",
      oninput: () => this.#edited(), onpaste: () => setTimeout(() => this.suggest()),
      onkeydown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          this.suggest(true);
        }
      },
    });
    this.marked = h("div", { class: "marked", dir: "auto", tabindex: "0", role: "region", hidden: true });
    this.legend = h("p", { class: "legend", hidden: true });
    this.count = h("span", { class: "count" });
    this.editButton = button(t("edit"), () => this.#edit(), { hidden: true });
    this.askButton = button(t("suggest"), () => this.suggest(), { class: "main", "aria-keyshortcuts": "Control+Enter" });
    this.waiting = h("div");
    this.stale = h("p", { class: "stale", hidden: true }, t("text_changed"), " ", button(t("again"), () => this.suggest()));
    this.suggestions = new Suggestions(shared, (explanation, label) => this.#show(explanation, label), {
      again: () => { if (this.#asked !== null) this.suggest(); },
      back: () => this.area.focus(),
    });
    this.slip = new Slip(shared);
    this.element = h("section", { class: "desk", "aria-labelledby": "desk-title" },
      h("h1", { id: "desk-title", class: "unseen", tabindex: "-1" }, t("view_text")),
      h("section", { class: "sheet", "aria-labelledby": "text-title" },
        h("h2", { id: "text-title" }, t("text")),
        h("p", { id: "text-hint", class: "hint" }, t("text_hint")),
        this.area, this.marked, this.legend,
        h("p", { class: "buttons" }, this.askButton, this.editButton, button(t("next_text"), () => this.#next()), this.count)),
      h("section", { class: "suggested", "aria-labelledby": "suggestions-title" },
        h("div", { class: "top" }, h("h2", { id: "suggestions-title" }, t("suggestions")), this.suggestions.size), this.stale, this.waiting, this.suggestions.element),
      this.slip.element);
    this.#edited();
  }

  /** Another model or another language of names. */
  changed() {
    const reads = this.#shared.model.reads_text !== false;
    this.askButton.disabled = !reads;
    this.suggestions.changed();
    fill(this.waiting, !reads && h("p", {}, t("reads_vectors")));
    if (reads && this.#asked !== null) this.suggest();
    else this.suggestions.empty();
  }

  show() {}

  search() {
    this.slip.search();
  }

  /** Asks for labels of what stands in the field; `going` puts the focus to them, unless one writes on meanwhile. */
  async suggest(going = false) {
    const text = this.area.value;
    if (text.trim() === "" || this.#shared.model.reads_text === false) {
      this.area.focus();
      return;
    }
    this.#stop?.abort();
    const stop = new AbortController();
    this.#stop = stop;
    this.suggestions.close();
    const asking = wait(this.waiting);
    const { model, here } = this.#shared;
    const request = { texts: [text], k: this.suggestions.listed, threshold: 0 };
    if (here.language) request.language = here.language;
    try {
      const { predictions: [prediction] } = await post(of(model.name, "predict"), request, { signal: stop.signal, waiting: asking.waiting });
      asking.done();
      this.#asked = text;
      this.suggestions.show(prediction, text);
      if (going && this.area.value === text) this.suggestions.focus();
    } catch (error) {
      if (wasStopped(error)) return;
      asking.done();
      this.suggestions.empty();
      fill(this.waiting, trouble(t("failed", { detail: error.message }), () => this.suggest()));
    } finally {
      this.#edited();
    }
  }

  #edited() {
    const text = this.area.value;
    this.count.textContent = text === "" ? "" : t("characters", { count: [...text].length });
    this.stale.hidden = this.#asked === null || this.#asked === text;
  }

  /** Shows the text with the marks of an explanation, or the field again if there is none. */
  #show(explanation, label) {
    // On a narrow screen the text is far from the list; the explanation has it there.
    const shown = explanation !== null && !narrow.matches;
    this.area.hidden = shown;
    this.marked.hidden = !shown;
    this.legend.hidden = !shown;
    this.editButton.hidden = !shown;
    if (!shown) return;
    const name = labelName(label);
    this.marked.setAttribute("aria-label", t("why_marked", { name }));
    this.legend.textContent = t("why_legend", { name });
    const marks = explanation.labels?.[0]?.marks ?? [];
    fill(this.marked, markedText(explanation.text ?? this.#asked, marks));
    this.marked.querySelector("mark")?.scrollIntoView({ block: "nearest" });
  }

  #edit() {
    this.suggestions.close();
    this.area.focus();
  }

  /** Clears the text and what was decided about it. */
  #next() {
    this.#stop?.abort();
    this.area.value = "";
    this.#asked = null;
    this.suggestions.empty();
    this.#shared.decisions.clear();
    fill(this.waiting);
    this.#edited();
    this.area.focus();
  }
}
