// The slip: labels that are accepted for the text, to add to, copy and keep.

import { FORMS, write } from "./accepted.js";
import { button, copy, download, fill, h, say } from "./dom.js";
import { labelCode, labelName, score } from "./format.js";
import { picker } from "./picker.js";
import { t } from "./texts.js";

export class Slip {
  #shared;

  constructor(shared) {
    this.#shared = shared;
    this.list = h("ol", { class: "accepted-list", role: "list", "aria-labelledby": "accepted-title" });
    this.note = h("p", { class: "hint" }, t("accepted_empty"));
    this.form = h("select", { id: "form" }, Object.keys(FORMS).map((form) => h("option", { value: form }, t(`as_${form}`))));
    this.give = h("div", { class: "give" },
      h("label", {}, t("as"), this.form), button(t("copy"), () => this.#copy(), { class: "main" }), button(t("download"), () => this.#download()));
    this.picker = picker("add", shared, (label) => {
      shared.decisions.set({ ...label, score: null }, "accepted");
      say(t("accepted_said", { name: labelName(label) }));
    });
    this.element = h("section", { class: "slip", "aria-labelledby": "accepted-title" },
      h("h2", { id: "accepted-title" }, t("accepted")), this.note, this.list, this.picker, this.give);
    shared.decisions.addEventListener("change", () => this.#show());
    this.#show();
  }

  search() {
    this.picker.querySelector("input").focus();
  }

  #show() {
    const { decisions, model, to } = this.#shared;
    const labels = decisions.accepted();
    this.note.hidden = labels.length > 0;
    this.list.hidden = labels.length === 0;
    this.give.hidden = labels.length === 0;
    fill(this.list, labels.map((label) => {
      const name = labelName(label);
      const code = labelCode(label);
      return h("li", {},
        h("span", { class: "what" },
          h("a", { href: to({ view: "labels", label: label.id }), dir: "auto" }, name),
          code !== name && h("small", { class: "code", dir: "auto" }, code)),
        h("span", { class: "number" }, label.score === null ? t("added") : score(label.score, model.is_probability)),
        button(h("span", { "aria-hidden": "true" }, "✕"), () => this.#remove(label), { class: "reject", "aria-label": t("remove_name", { name }) }));
    }));
  }

  #remove(label) {
    const at = this.#shared.decisions.accepted().indexOf(label);
    this.#shared.decisions.set(label, null);
    say(t("undecided_said", { name: labelName(label) }));
    // The button that had the focus is gone: it goes to the next one, or to the field.
    const buttons = this.list.querySelectorAll("button");
    (buttons[Math.min(at, buttons.length - 1)] ?? this.picker.querySelector("input")).focus();
  }

  async #copy() {
    const labels = this.#shared.decisions.accepted();
    say(await copy(write(labels, this.form.value)) ? t("copied", { count: labels.length }) : t("copy_failed"));
  }

  #download() {
    const { ending, type } = FORMS[this.form.value];
    download(`${t("file_accepted")}.${ending}`, type, write(this.#shared.decisions.accepted(), this.form.value));
  }
}
