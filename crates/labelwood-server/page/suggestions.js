// The list of suggested labels: bars against a threshold that can be moved, decisions, and one explanation at a time.

import { of, post, wasStopped } from "./api.js";
import { singleKeys } from "./dialogs.js";
import { bar, button, fill, h, say, trouble } from "./dom.js";
import { axis, labelName, score } from "./format.js";
import { t } from "./texts.js";
import { wait } from "./waiting.js";
import { why } from "./why.js";

const LISTED = [5, 10, 20, 50];

export class Suggestions {
  #shared;
  #explained;
  #back;
  #labels = [];
  #rows = [];
  #text = "";
  #open = null;
  #answers = new Map();
  #stop = null;
  #threshold = 0;

  /** `explained(explanation, label)` is called when one is opened, and with null when it is closed; `again()` when more are wanted, and
   *  `back()` when someone leaves the list for the text. */
  constructor(shared, explained, { again, back }) {
    this.#back = back;
    this.#shared = shared;
    this.#explained = explained;
    this.listed = LISTED[1];
    this.list = h("ol", { class: "suggestions", role: "list", onkeydown: (event) => this.#pressed(event) });
    this.slider = h("input", { type: "range", min: "0", step: "0.01", id: "threshold", oninput: () => this.#move(Number(this.slider.value)) });
    this.value = h("output", { for: "threshold" });
    this.note = h("p", { class: "hint" });
    this.all = button("", () => this.#acceptAll());
    this.foot = h("p", { class: "buttons" }, this.all);
    this.head = h("div", { class: "thresholds" },
      h("label", { for: "threshold" }, t("threshold")), h("span", { class: "track" }, this.slider), this.value);
    /** The choice of how many are listed, which stands beside the heading. */
    this.size = h("label", { class: "size" }, t("how_many"), h("select", {
      onchange: (event) => { this.listed = Number(event.target.value); again(); },
    }, LISTED.map((count) => h("option", { value: count, selected: count === this.listed }, `${count}`))));
    this.element = h("div", { class: "ranking" }, this.head, this.list, this.note, this.foot);
    shared.decisions.addEventListener("change", () => this.#mark());
    this.empty();
  }

  /** Another model: its threshold, and nothing of the old one. */
  changed() {
    const { model } = this.#shared;
    this.#threshold = model.threshold ?? (model.is_probability ? 0.5 : 0);
    this.empty();
  }

  empty(note = t("suggestions_empty")) {
    this.close();
    this.#labels = [];
    this.#rows = [];
    fill(this.list);
    this.head.hidden = true;
    this.foot.hidden = true;
    this.note.textContent = note;
  }

  /** Shows a prediction for `text`. */
  show(prediction, text) {
    this.close();
    this.#answers.clear();
    this.#text = text;
    this.#labels = prediction.labels;
    if (prediction.labels.length === 0) {
      this.empty(prediction.is_unknown ? t("suggestions_unknown") : t("suggestions_none"));
      say(this.note.textContent);
      return;
    }
    const { is_probability: isProbability } = this.#shared.model;
    const full = axis(prediction.labels.map((label) => label.score), isProbability);
    this.slider.max = `${full}`;
    this.slider.step = `${full / 100}`;
    this.#rows = prediction.labels.map((label, at) => this.#row(label, at, full, isProbability));
    fill(this.list, this.#rows.map(({ row }) => row));
    this.head.hidden = false;
    this.#mark();
    this.#move(this.#threshold);
    say(t("suggestions_announced", { count: this.#labels.length, above: this.#above().length }));
  }

  #row(label, at, full, isProbability) {
    const name = labelName(label);
    const { decisions } = this.#shared;
    const said = (decision) => say(t(decision === "accepted" ? "accepted_said" : decision === "rejected" ? "rejected_said" : "undecided_said", { name }));
    const decide = (decision) => said(decisions.toggle(label, decision));
    const inset = h("div", { class: "inset", id: `why-${at}`, hidden: true });
    const head = h("button", {
      type: "button", class: "name", dir: "auto", "aria-expanded": "false", "aria-controls": inset.id,
      "aria-label": t("why_name", { name, score: score(label.score, isProbability) }), onclick: () => this.#toggle(at),
    }, name);
    const accept = button(h("span", { "aria-hidden": "true" }, "✓"), () => decide("accepted"), { class: "accept", "aria-label": t("accept_name", { name }), title: t("accept") });
    const reject = button(h("span", { "aria-hidden": "true" }, "✕"), () => decide("rejected"), { class: "reject", "aria-label": t("reject_name", { name }), title: t("reject") });
    const row = h("li", { class: "suggestion" }, head, h("span", { class: "place" }, bar(label.score, full)),
      h("span", { class: "number", "aria-hidden": "true" }, score(label.score, isProbability)), h("span", { class: "decide" }, accept, reject), inset);
    return { label, row, head, accept, reject, inset, decide };
  }

  focus() {
    this.#rows[0]?.head.focus();
  }

  #above() {
    return this.#rows.filter(({ label }) => label.score >= this.#threshold);
  }

  /** Moves the threshold, a line across all bars. */
  #move(value) {
    this.#threshold = value;
    const { is_probability: isProbability } = this.#shared.model;
    this.slider.value = `${value}`;
    const text = score(value, isProbability);
    this.slider.setAttribute("aria-valuetext", text);
    this.value.textContent = text;
    this.list.style.setProperty("--threshold", `${Math.min(1, value / Number(this.slider.max)) * 100}%`);
    const above = this.#above();
    for (const { row, label } of this.#rows) row.classList.toggle("below", label.score < value);
    this.note.textContent = t("above", { count: above.length });
    this.all.textContent = t("accept_above", { count: above.length });
    this.foot.hidden = above.length === 0;
  }

  #acceptAll() {
    for (const { label } of this.#above()) if (this.#shared.decisions.of(label) === null) this.#shared.decisions.set(label, "accepted");
  }

  /** Shows the decisions without making the list anew, which would lose the focus. */
  #mark() {
    for (const { label, row, accept, reject } of this.#rows) {
      const decision = this.#shared.decisions.of(label);
      row.classList.toggle("accepted", decision === "accepted");
      row.classList.toggle("rejected", decision === "rejected");
      accept.setAttribute("aria-pressed", `${decision === "accepted"}`);
      reject.setAttribute("aria-pressed", `${decision === "rejected"}`);
    }
  }

  #toggle(at) {
    const opened = this.#open !== at;
    this.close();
    if (opened) this.#explain(at);
  }

  /** Closes the explanation, if one is open. */
  close() {
    this.#stop?.abort();
    if (this.#open === null) return;
    const { row, head, inset } = this.#rows[this.#open];
    this.#open = null;
    row.classList.remove("open");
    head.setAttribute("aria-expanded", "false");
    inset.hidden = true;
    fill(inset);
    this.#explained(null, null);
  }

  async #explain(at) {
    const { label, row, head, inset } = this.#rows[at];
    const { model, here } = this.#shared;
    this.#open = at;
    row.classList.add("open");
    head.setAttribute("aria-expanded", "true");
    inset.hidden = false;
    const stop = new AbortController();
    this.#stop = stop;
    let answer = this.#answers.get(label.id);
    if (answer === undefined) {
      const asking = wait(inset);
      const request = { text: this.#text, label: label.id };
      if (here.language) request.language = here.language;
      try {
        answer = await post(of(model.name, "explain"), request, { signal: stop.signal, waiting: asking.waiting });
        this.#answers.set(label.id, answer);
        asking.done();
      } catch (error) {
        asking.done();
        if (!wasStopped(error)) fill(inset, trouble(t("failed", { detail: error.message }), () => { this.close(); this.#explain(at); }));
        return;
      }
      if (stop.signal.aborted) return;
    }
    fill(inset, why(answer, label, this.#shared));
    this.#explained(answer, label);
  }

  #pressed(event) {
    const at = this.#rows.findIndex(({ row }) => row.contains(event.target));
    if (at < 0 || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && this.#open !== null) {
      const { head } = this.#rows[this.#open];
      this.close();
      head.focus();
      event.preventDefault();
      return;
    }
    if (event.key === "Escape") {
      this.#back();
      return;
    }
    if (event.target.closest(".inset")) return;
    const last = this.#rows.length - 1;
    const to = { ArrowDown: Math.min(last, at + 1), ArrowUp: Math.max(0, at - 1), Home: 0, End: last }[event.key];
    if (to !== undefined) {
      this.#rows[to].head.focus();
      event.preventDefault();
    } else if (singleKeys() && (event.key === "a" || event.key === "A")) this.#rows[at].decide("accepted");
    else if (singleKeys() && (event.key === "x" || event.key === "X")) this.#rows[at].decide("rejected");
  }
}
