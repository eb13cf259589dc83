// Why a label is suggested, as the server's explanation has it. Every field may be missing, since each algorithm says
// what it can.

import { balance, h } from "./dom.js";
import { contribution, labelName, score } from "./format.js";
import { markedText } from "./marked-text.js";
import { terms } from "./marks.js";
import { t } from "./texts.js";

const WORDS = 12;

/** What is shown under a label: its words, how the score comes about, and what each part says. */
export function why(answer, label, shared) {
  const explained = answer.labels?.[0] ?? {};
  const words = terms(explained.marks).slice(0, WORDS);
  const isProbability = explained.is_probability ?? shared.model.is_probability;
  return [
    h("p", { class: "lead" }, explained.rank
      ? t("why_rank", { score: score(explained.score, isProbability), rank: explained.rank, labels: t("labels_count", { count: shared.model.labels }) })
      : t("why_unranked", { score: score(explained.score ?? label.score, isProbability) })),
    // Where the text is not beside the list, which the style sheet knows.
    h("div", { class: "marked-here", dir: "auto", tabindex: "0", role: "group", "aria-label": t("why_marked", { name: labelName(label) }) }, markedText(answer.text ?? "", explained.marks)),
    heading(t("why_words")),
    words.length > 0
      ? balance(words.map(({ term, weight }) => ({ name: term, term, value: weight, text: contribution(weight) })), { "aria-label": t("why_words"), ...lighting() })
      : h("p", {}, t("why_no_words")),
    explained.how?.length > 0 && [heading(t("why_how")), h("ol", { class: "how" }, explained.how.map(step))],
    (explained.parts ?? []).map((part) => partDetails(part, isProbability)),
    h("p", {}, h("a", { href: shared.to({ view: "labels", label: label.id }) }, t("why_card"))),
  ];
}

function heading(text) {
  return h("h3", {}, text);
}

/** One step of how the score comes about: a sentence, or what it is and its value. */
function step(entry) {
  if (typeof entry === "string") return h("li", {}, entry);
  return h("li", {}, h("span", { dir: "auto" }, entry.what ?? ""), number(entry.value) && h("span", { class: "number" }, amount(entry.value)));
}

function number(value) {
  return typeof value === "number" && Number.isFinite(value);
}

/** A number of which it is not known whether it is a probability: with two digits if it could be one. */
function amount(value) {
  return score(value, value >= 0 && value <= 1).replace("-", "−");
}

/** Marks the words of the text that belong to the term under the pointer. */
function lighting() {
  const light = (event) => {
    const term = event.type === "mouseleave" ? null : event.target.closest("[data-term]")?.dataset.term;
    for (const mark of document.querySelectorAll("mark[data-terms]")) {
      mark.classList.toggle("lit", term !== null && JSON.parse(mark.dataset.terms).includes(term));
    }
  };
  return { onmouseover: light, onmouseleave: light };
}

/** What one part says, folded away. */
function partDetails(part, isProbability) {
  const kind = t("why_kinds")[part.kind];
  const said = [t("why_part", { part: part.part ?? part.kind ?? "" })];
  const facts = [
    number(part.score) && score(part.score, isProbability),
    number(part.weight) && t("why_part_weight", { weight: amount(part.weight) }),
  ].filter(Boolean);
  const inside = [kind && h("p", { class: "hint" }, kind), contributions(part), names(part.names), steps(part.steps), rows(part.rows)];
  return h("details", { class: "part" },
    h("summary", {}, said, facts.length > 0 && h("span", { class: "number" }, facts.join(", "))), inside);
}

/** The terms of a part with what each adds, what all others add, and what it starts from. */
function contributions({ terms: found, rest, bias }) {
  const entries = (found ?? []).map(({ term, feature, contribution: value }) => ({ name: term ?? `#${feature}`, term, value }));
  if (number(rest?.contribution ?? rest)) entries.push({ name: t("why_rest"), value: rest.contribution ?? rest });
  if (number(bias)) entries.push({ name: t("why_bias"), value: bias });
  const shown = entries.filter(({ value }) => number(value)).map((entry) => ({ ...entry, text: contribution(entry.value) }));
  return shown.length > 0 && balance(shown, lighting());
}

function names(found) {
  if (!(found?.length > 0)) return null;
  return [heading(t("why_names")), h("ul", {}, found.map(({ name }) => h("li", { dir: "auto" }, name)))];
}

function steps(found) {
  if (!(found?.length > 0)) return null;
  return [heading(t("why_steps")), h("ol", { class: "how" }, found.map((entry) => step(
    typeof entry === "object" ? { what: entry.what ?? entry.name ?? entry.node ?? "", value: entry.sum ?? entry.value ?? entry.score } : `${entry}`)))];
}

/** Training rows that look like the text. */
function rows(found) {
  if (!(found?.length > 0)) return null;
  return [heading(t("why_rows")), h("ul", { class: "rows" }, found.map((row) => h("li", {},
    h("q", { dir: "auto" }, row.text ?? t("card_example", { row: row.id ?? row.row })),
    h("small", {}, [
      row.has_label === true ? t("why_row_has") : row.has_label === false ? t("why_row_not") : null,
      number(row.similarity) && t("why_similarity", { value: score(row.similarity, false) }),
      row.labels?.length > 0 && row.labels.map((label) => (typeof label === "object" ? labelName(label) : `${label}`)).join("; "),
    ].filter(Boolean).join(" · ")))))];
}
