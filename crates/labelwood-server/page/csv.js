// Tables of text: CSV and TSV, read and written in the page.

/** What is wrong with a file: `reason` is the end of the name of a text, as in `sheet_quote`. */
export class TableProblem extends Error {
  constructor(reason, values = {}) {
    super(reason);
    this.reason = reason;
    this.values = values;
  }
}

/** The text of a file's bytes: UTF-8, or UTF-16 where a byte order mark says so; `bom` is the mark, to be written again. */
export function decode(bytes) {
  const starts = (...wanted) => wanted.every((byte, at) => bytes[at] === byte);
  if (starts(0x50, 0x4b, 3, 4) || starts(0xd0, 0xcf, 0x11, 0xe0)) throw new TableProblem("workbook");
  const encoding = starts(0xff, 0xfe) ? "utf-16le" : starts(0xfe, 0xff) ? "utf-16be" : "utf-8";
  let text;
  try {
    text = new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new TableProblem(bytes.includes(0) ? "binary" : "encoding");
  }
  const bom = text.startsWith("\ufeff") ? "\ufeff" : "";
  text = text.slice(bom.length);
  if (text.includes("\0")) throw new TableProblem("binary");
  return { text, bom };
}

/** What separates the columns: the one of TAB, semicolon and comma that the first line has most of, outside of quotes. */
export function sniff(text) {
  const counts = new Map([["\t", 0], [";", 0], [",", 0]]);
  let quoted = false;
  for (const character of text) {
    if (character === '"') quoted = !quoted;
    else if (!quoted && (character === "\n" || character === "\r")) {
      if ([...counts.values()].some((count) => count > 0)) break;
    } else if (!quoted && counts.has(character)) counts.set(character, counts.get(character) + 1);
  }
  let best = ",";
  for (const [separator, count] of counts) if (count > counts.get(best)) best = separator;
  return best;
}

/**
 * The records of a table, `{cells, start, end, next}`: the cells, where the record's text starts and ends,
 * and where the next one starts, after the line's end. Empty lines are no records.
 */
export function parse(text, separator) {
  const records = [];
  let at = 0;
  while (at < text.length) {
    const start = at;
    const cells = [];
    for (;;) {
      const cell = readCell(text, at, separator);
      cells.push(cell.value);
      at = cell.end;
      if (text[at] !== separator) break;
      at += 1;
    }
    const end = at;
    if (text[at] === "\r") at += 1;
    if (text[at] === "\n") at += 1;
    if (end > start) records.push({ cells, start, end, next: at });
  }
  return records;
}

/** The cell of `text` that starts at `at`, and where it ends. */
function readCell(text, at, separator) {
  let value = "";
  if (text[at] === '"') {
    const opened = at;
    at += 1;
    for (;;) {
      const quote = text.indexOf('"', at);
      if (quote < 0) throw new TableProblem("quote", { line: lineOf(text, opened) });
      value += text.slice(at, quote);
      at = quote + 1;
      if (text[at] !== '"') break;
      value += '"';
      at += 1;
    }
  }
  const rest = at;
  while (at < text.length && text[at] !== separator && text[at] !== "\n" && text[at] !== "\r") at += 1;
  return { value: value + text.slice(rest, at), end: at };
}

/** The number of the line at `at`, counted from 1. */
function lineOf(text, at) {
  return text.slice(0, at).split(/\r\n|\r|\n/).length;
}

/** `value` as a cell: in quotes where it needs them. */
export function cell(value, separator) {
  const needs = value.includes(separator) || /["\r\n]/.test(value) || value !== value.trim();
  return needs ? `"${value.replaceAll('"', '""')}"` : value;
}

/** The lines of a table with commas, as other programs read them. */
export function table(rows) {
  return rows.map((row) => row.map((value) => cell(`${value}`, ",")).join(",") + "\r\n").join("");
}

/**
 * The text of a table with further cells at the end of its records. What was there stays as it was, quotes, line ends and
 * all; records that are too short get empty cells first, so that the new columns stand under each other.
 */
export function widen(text, separator, records, width, added) {
  let result = "";
  let from = 0;
  const lineEnd = firstLineEnd(text, records);
  records.forEach((record, index) => {
    const missing = separator.repeat(Math.max(0, width - record.cells.length));
    const more = added(index).map((value) => separator + cell(value, separator)).join("");
    result += text.slice(from, record.end) + missing + more + (text.slice(record.end, record.next) || lineEnd);
    from = record.next;
  });
  return result + text.slice(from);
}

/** How the first record's line ends, for a last line that has no end. */
function firstLineEnd(text, [first]) {
  return (first && text.slice(first.end, first.next)) || "\n";
}

/** The column that looks most like text: the one with the longest cells, of those in the first records. */
export function guessText(records) {
  const lengths = [];
  for (const { cells } of records.slice(0, 200)) {
    cells.forEach((value, column) => { lengths[column] = (lengths[column] ?? 0) + value.length; });
  }
  let best = 0;
  lengths.forEach((length, column) => { if (length > lengths[best]) best = column; });
  return best;
}
