// A text with marked words, as elements.

import { h } from "./dom.js";
import { pieces } from "./marks.js";

/** The pieces of a text, the marked ones as such: the stronger, the more colour. */
export function markedText(text, marks) {
  const cut = pieces(text, marks);
  const strongest = Math.max(...cut.map(({ weight }) => Math.abs(weight)), 0) || 1;
  return cut.map(({ text: piece, weight, terms }) => {
    if (terms.length === 0) return piece;
    const mark = h("mark", { class: weight < 0 ? "against" : "for", "data-terms": JSON.stringify(terms) }, piece);
    mark.style.setProperty("--strength", `${Math.round((15 + 85 * Math.abs(weight) / strongest))}%`);
    return mark;
  });
}
