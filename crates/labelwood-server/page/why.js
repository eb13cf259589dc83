// Why a label is suggested, as the server's explanation has it. Every field may be missing, since each algorithm says
// what it can.

import { balance, h } from "./dom.js";
import { amount, contribution, labelName, probability, score } from "./format.js";
import { markedText } from "./marked-text.js";
import { terms } from "./marks.js";
import { t } from "./texts.js";

const WORDS = 12;
const STEPS = 12;

/** What is shown under a label: its words, how the score comes about, and what each part says. */
export function why(answer, label, shared) {
  const explained = answer.labels?.[0] ?? {};
  const words = terms(explained.marks).slice(0, WORDS);
  const isProbability = explained.is_probability ?? shared.model.is_probability;
  const unknown = [...new Set((answer.unknown ?? []).map(({ term }) => term))];
  return [
    h("p", { class: "lead" }, explained.rank
      ? t("why_rank", { score: score(explained.score, isProbability), rank: explained.rank, labels: t("labels_count", { count: shared.model.labels }) })
      : t("why_unranked", { score: score(explained.score ?? label.score, isProbability) })),
    [explained.note, answer.note].filter(Boolean).map((note) => h("p", {}, note)),
    // Where the text is not beside the list, which the style sheet knows.
    h("div", { class: "marked-here", dir: "auto", tabindex: "0", role: "group", "aria-label": t("why_marked", { name: labelName(label) }) },
      markedText(answer.text ?? "", explained.marks)),
    heading(t("why_words")),
    words.length > 0
      ? balance(words.map(({ term, weight }) => ({ name: term, term, value: weight, text: contribution(weight) })), { "aria-label": t("why_words"), ...lighting() })
      : h("p", {}, t("why_no_words")),
    unknown.length > 0 && h("p", { class: "hint", dir: "auto" }, t("why_words_unknown", { words: unknown.slice(0, WORDS).join(", ") })),
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
  const facts = [
    number(part.score) && score(part.score, isProbability),
    number(part.weight) && t("why_part_weight", { weight: contribution(part.weight) }),
  ].filter(Boolean);
  return h("details", { class: "part" },
    h("summary", {}, t("why_part", { part: part.part ?? part.kind ?? "" }), facts.length > 0 && h("span", { class: "number" }, facts.join(", "))),
    kind(part), contributions(part), names(part.names), steps(part.steps), leaves(part.leaves), rows(part.rows));
}

/** How a part of this kind goes about it. */
function kind(part) {
  const sentences = {
    linear: () => t("why_kind_linear", { count: part.trees ?? 1 }),
    forest: () => number(part.trees) && t("why_kind_forest", { trees: part.trees, voting: part.voting ?? 0 }),
    names: () => number(part.found) && t("why_kind_names", { count: part.found }),
    neighbours: () => number(part.neighbours) && t("why_kind_neighbours", { neighbours: part.neighbours, having: part.having ?? 0 }),
    ranker: () => t("why_kind_ranker"),
    counts: () => number(part.rows) && t("why_kind_counts", { count: part.rows }),
    none: () => t("why_kind_none"),
  };
  const sentence = Object.hasOwn(sentences, part.kind) && sentences[part.kind]();
  return sentence && h("p", { class: "hint" }, sentence);
}

/** The terms of a part with what each adds, what all others add, and what it starts from. */
function contributions({ terms: found, rest, bias }) {
  const entries = (found ?? []).map(({ term, feature, contribution: value }) => ({ name: term ?? `#${feature}`, term, value }));
  if (number(rest?.contribution)) entries.push({ name: t("why_rest"), value: rest.contribution });
  if (number(bias)) entries.push({ name: t("why_bias"), value: bias });
  const shown = entries.filter(({ value }) => number(value)).map((entry) => ({ ...entry, text: contribution(entry.value) }));
  return shown.length > 0 && balance(shown, lighting());
}

function names(found) {
  if (!(found?.length > 0)) return null;
  return [heading(t("why_names")), h("ul", {}, found.map(({ name }) => h("li", { dir: "auto" }, name)))];
}

/** The classifiers on the paths to the label, with how probable each makes it. */
function steps(found) {
  const shown = (found ?? []).filter(({ log_probability: log }) => number(log));
  if (shown.length === 0) return null;
  return h("ul", { class: "how" },
    shown.slice(0, STEPS).map(({ tree, level, labels, children, log_probability: log }) => h("li", {},
      t("why_step", { tree: tree + 1, step: level + 1, children, labels: t("labels_count", { count: labels }) }),
      h("span", { class: "number" }, probability(Math.exp(log))))),
    shown.length > STEPS && h("li", {}, t("why_rest_steps", { count: shown.length - STEPS })));
}

/** The leaves of a forest in which training rows have the label. */
function leaves(found) {
  if (!(found?.length > 0)) return null;
  return h("ul", { class: "how" }, found.map((leaf) => h("li", {},
    t("why_leaf", { rows: t("rows_count", { count: leaf.rows }), having: leaf.having }),
    leaf.labels?.length > 0 && [h("br"), h("small", { dir: "auto" }, t("why_leaf_labels", { labels: leaf.labels.map(labelName).join("; ") }))])));
}

/** Training rows that look like the text. */
function rows(found) {
  if (!(found?.length > 0)) return null;
  const name = (row) => t("card_example", { row: row.row + 1 });
  const shared = (row) => (row.terms ?? []).map(({ term, feature }) => term ?? `#${feature}`).join(" · ");
  const words = (row) => row.words?.length > 0 ? row.words.join(" · ") : shared(row) && t("why_row_shares", { words: shared(row) });
  return [heading(t("why_rows")), h("ul", { class: "rows" }, found.map((row) => h("li", {},
    h("span", { dir: "auto" }, [name(row), words(row)].filter(Boolean).join(" · ")),
    h("small", { dir: "auto" }, [
      row.has_label === true ? t("why_row_has") : row.has_label === false ? t("why_row_not") : null,
      number(row.similarity) && t("why_similarity", { value: probability(row.similarity) }),
      row.labels?.length > 0 && row.labels.map((label) => (typeof label === "object" ? labelName(label) : `${label}`)).join("; "),
    ].filter(Boolean).join(" · ")))))];
}
