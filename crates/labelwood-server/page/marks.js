// Marked words of a text.

/**
 * Cuts `text` at the ends of `marks` into pieces `{text, weight, terms}` that together are the text.
 *
 * Marks count Unicode characters and may overlap, as a pair of words does with its words: a piece has the
 * sum of the weights and all terms of the marks over it. Marks outside of the text are cut or left out.
 */
export function pieces(text, marks) {
  const starts = offsets(text);
  const length = starts.length - 1;
  const events = [];
  for (const mark of marks ?? []) {
    const start = Math.max(0, Math.trunc(mark.start));
    const end = Math.min(length, Math.trunc(mark.end));
    if (!(start < end) || !Number.isFinite(mark.weight)) continue;
    events.push({ at: start, mark, opens: true }, { at: end, mark, opens: false });
  }
  events.sort((a, b) => a.at - b.at);

  const result = [];
  const open = new Set();
  let from = 0;
  const cut = (to) => {
    if (to === from) return;
    const weight = [...open].reduce((sum, mark) => sum + mark.weight, 0);
    const terms = [...new Set([...open].map((mark) => mark.term).filter(Boolean))];
    result.push({ text: text.slice(starts[from], starts[to]), weight, terms });
    from = to;
  };
  for (const { at, mark, opens } of events) {
    cut(at);
    if (opens) open.add(mark);
    else open.delete(mark);
  }
  cut(length);
  return result;
}

/** Where each Unicode character of `text` starts in it, and at the end its length. */
function offsets(text) {
  const starts = [];
  for (let at = 0; at < text.length; at += text.codePointAt(at) > 0xffff ? 2 : 1) starts.push(at);
  starts.push(text.length);
  return starts;
}

/** The terms of marks with their weights, the strongest first. A mark has the weight of its term at all places together. */
export function terms(marks) {
  const weights = new Map();
  for (const { term, weight } of marks ?? []) {
    if (term && Number.isFinite(weight)) weights.set(term, weight);
  }
  return [...weights]
    .map(([term, weight]) => ({ term, weight }))
    .sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight) || (a.term < b.term ? -1 : 1));
}
