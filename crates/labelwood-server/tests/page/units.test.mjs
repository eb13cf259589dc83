// The page's pure functions: `node --test`.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { write } from "../../page/accepted.js";
import { TableProblem, cell, decode, guessText, parse, sniff, table, widen } from "../../page/csv.js";
import { Decisions } from "../../page/decisions.js";
import { amount, axis, contribution, labelCode, labelName, languageName, probability, score, webAddress } from "../../page/format.js";
import { Labelling } from "../../page/labelling.js";
import { pieces, terms } from "../../page/marks.js";
import * as place from "../../page/place.js";
import { keys, t } from "../../page/texts.js";

const bytes = (...parts) => Uint8Array.from(parts.flatMap((part) => (typeof part === "string" ? [...new TextEncoder().encode(part)] : [part])));
const cells = (text, separator = ",") => parse(text, separator).map((record) => record.cells);
const reason = (wanted) => (error) => error instanceof TableProblem && error.reason === wanted;

test("a table of plain cells is read", () => {
  assert.deepEqual(cells("a,b\n1,2\n"), [["a", "b"], ["1", "2"]]);
});

test("quoted cells may hold separators, quotes and line ends", () => {
  assert.deepEqual(cells('"a;b";"say ""yes""";"two\r\nlines"\r\nx;;\r\n', ";"), [["a;b", 'say "yes"', "two\r\nlines"], ["x", "", ""]]);
});

test("what follows a closing quote belongs to the cell", () => {
  assert.deepEqual(cells('"Faust" in one volume,2'), [["Faust in one volume", "2"]]);
});

test("empty lines are no records, and any line end will do", () => {
  assert.deepEqual(cells("a\r\n\r\nb\rc\n\nd"), [["a"], ["b"], ["c"], ["d"]]);
});

test("a quote that is never closed is refused with its line", () => {
  assert.throws(() => parse('a,b\n"c\nd,e\n', ","), (error) => reason("quote")(error) && error.values.line === 2);
});

test("the separator is the one of which the first line has most outside of quotes", () => {
  assert.equal(sniff("a,b,c\n"), ",");
  assert.equal(sniff("a;b\n1,2,3;4\n"), ";");
  assert.equal(sniff('"x,y,z";b\n'), ";");
  assert.equal(sniff("a\tb;c\td\n"), "\t");
  assert.equal(sniff("only one column\n"), ",");
});

test("UTF-8 is read with and without a byte order mark, UTF-16 with one", () => {
  assert.deepEqual(decode(bytes("ä")), { text: "ä", bom: "" });
  assert.deepEqual(decode(bytes(0xef, 0xbb, 0xbf, "ä")), { text: "ä", bom: "\ufeff" });
  assert.deepEqual(decode(Uint8Array.of(0xff, 0xfe, 0xe4, 0)), { text: "ä", bom: "\ufeff" });
  assert.deepEqual(decode(Uint8Array.of(0xfe, 0xff, 0, 0xe4)), { text: "ä", bom: "\ufeff" });
});

test("other encodings, workbooks and other files are told apart", () => {
  assert.throws(() => decode(bytes("Caf", 0xe9, "s")), reason("encoding"));
  assert.throws(() => decode(bytes("PK", 3, 4, 0, 0)), reason("workbook"));
  assert.throws(() => decode(Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0)), reason("workbook"));
  assert.throws(() => decode(bytes(0x89, "PNG", 0, 0xff)), reason("binary"));
  assert.throws(() => decode(bytes("a", 0, "b")), reason("binary"));
});

test("a cell gets quotes only where it needs them", () => {
  assert.equal(cell("plain", ";"), "plain");
  assert.equal(cell("a;b", ";"), '"a;b"');
  assert.equal(cell('say "yes"', ","), '"say ""yes"""');
  assert.equal(cell(" x", ","), '" x"');
  assert.equal(cell("two\nlines", ","), '"two\nlines"');
});

test("a table gets columns and keeps all else byte for byte", () => {
  const text = 'id;"title"\r\n1;"say ""yes"""\r\n\r\n2\r\n3;x';
  const records = parse(text, ";");
  const wide = widen(text, ";", records, 2, (record) => [record === 0 ? "new" : `a;${record}`]);
  assert.equal(wide, 'id;"title";new\r\n1;"say ""yes""";"a;1"\r\n\r\n2;;"a;2"\r\n3;x;"a;3"\r\n');
});

test("what is written is read again, whatever it is", () => {
  const odd = ["", '"', '""', ",", ";", "\n", "\r\n", " ", "=1+1", "ä|ö", "'", '<img src=x onerror="x">', "\u{1f600}"];
  const rows = odd.map((first, at) => ["row", first, odd[(at * 5 + 3) % odd.length], "end"]);
  assert.deepEqual(cells(table(rows)), rows);
});

test("the column with the longest cells is taken for the text", () => {
  assert.equal(guessText(parse("1,a long title,x\n2,another long title,y\n", ",")), 1);
});

test("pieces of a text add up to it, and overlapping marks to sums", () => {
  const found = pieces("the old mill", [
    { start: 4, end: 7, term: "old", weight: 1 },
    { start: 4, end: 12, term: "old mill", weight: 0.5 },
    { start: 8, end: 12, term: "mill", weight: -2 },
  ]);
  assert.deepEqual(found, [
    { text: "the ", weight: 0, terms: [] },
    { text: "old", weight: 1.5, terms: ["old", "old mill"] },
    { text: " ", weight: 0.5, terms: ["old mill"] },
    { text: "mill", weight: -1.5, terms: ["old mill", "mill"] },
  ]);
});

test("marks count characters, not halves of them", () => {
  const text = "\u{1f600}\u{20000} tree";
  assert.deepEqual(pieces(text, [{ start: 3, end: 7, term: "tree", weight: 1 }]).map((piece) => piece.text), ["\u{1f600}\u{20000} ", "tree"]);
});

test("marks outside of the text or upside down do no harm", () => {
  const marks = [
    { start: -5, end: 1, term: "a", weight: 1 }, { start: 2, end: 99, term: "c", weight: 1 }, { start: 7, end: 9, term: "x", weight: 1 },
    { start: 2, end: 1, term: "y", weight: 1 }, { start: 0, end: 3, term: "z", weight: NaN }, { start: NaN, end: 3, term: "z", weight: 1 },
  ];
  assert.deepEqual(pieces("abc", marks).map((piece) => [piece.text, piece.terms]), [["a", ["a"]], ["b", []], ["c", ["c"]]]);
  assert.deepEqual(pieces("", marks), []);
  assert.deepEqual(pieces("abc", null), [{ text: "abc", weight: 0, terms: [] }]);
});

test("terms are listed once, the strongest first", () => {
  const marks = [{ term: "b", weight: 1 }, { term: "a", weight: -3 }, { term: "b", weight: 1 }, { term: null, weight: 9 }];
  assert.deepEqual(terms(marks), [{ term: "a", weight: -3 }, { term: "b", weight: 1 }]);
});

test("probabilities have two digits, and what is unsure is not written as sure", () => {
  assert.equal(probability(0.876), "0.88");
  assert.equal(probability(0.001), "<0.01");
  assert.equal(probability(0.9999), ">0.99");
  assert.equal(probability(0), "0.00");
  assert.equal(probability(1), "1.00");
});

test("other scores have two digits that count, and a missing one a dash", () => {
  assert.equal(score(37.456, false), "37");
  assert.equal(score(0.03456, false), "0.035");
  assert.equal(score(undefined, true), "–");
  assert.equal(contribution(-1.234), "−1.2");
  assert.equal(contribution(0.5), "+0.5");
});

test("amounts are written as what they seem to be", () => {
  assert.deepEqual([1234, -2, 0.456, 0.9999, -1.5, 2.345].map(amount), ["1,234", "−2", "0.46", ">0.99", "−1.50", "2.35"]);
});

test("bars are full at 1 for probabilities and else at the best score", () => {
  assert.equal(axis([0.2, 0.1], true), 1);
  assert.equal(axis([20, -3], false), 20);
  assert.equal(axis([-3], false), 1);
});

test("a label without a name has its code, and without a code its number", () => {
  assert.equal(labelName({ id: 3, code: "c", name: "n" }), "n");
  assert.equal(labelName({ id: 3, code: "c", name: null }), "c");
  assert.equal(labelName({ id: 3 }), "#3");
  assert.equal(labelCode({ id: 3, name: "n" }), "n");
});

test("only addresses of the web can be followed", () => {
  assert.equal(webAddress("https://example.org/1"), "https://example.org/1");
  for (const other of ["javascript:alert(1)", " https://example.org", "data:text/html,x", "https://a b", null, 3]) assert.equal(webAddress(other), null);
});

test("languages have names, and unknown codes themselves", () => {
  assert.equal(languageName("de"), "German");
  assert.equal(languageName("!"), "!");
});

test("accepted labels are written in all forms", () => {
  const labels = [{ id: 1, code: "http://x/1", name: 'a, "b"', score: 0.5 }, { id: 2, code: "http://x/2", name: "c", score: null }];
  assert.equal(write(labels, "codes"), "http://x/1\nhttp://x/2\n");
  assert.equal(write(labels, "names"), 'a, "b"\nc\n');
  assert.equal(write(labels, "csv"), 'code,name,score\r\nhttp://x/1,"a, ""b""",0.5\r\nhttp://x/2,c,\r\n');
  assert.deepEqual(JSON.parse(write(labels, "json")), [{ code: "http://x/1", name: 'a, "b"', score: 0.5 }, { code: "http://x/2", name: "c", score: null }]);
});

test("a place is written into the address and read again", () => {
  const here = { model: "a & b", view: "labels", language: "de", label: 0, search: "ü #1" };
  assert.deepEqual(place.read(place.write(here)), here);
  assert.deepEqual(place.read(""), { model: null, view: "text", language: null, label: null, search: "" });
  assert.equal(place.read("#view=elsewhere&label=-1").view, "text");
  assert.equal(place.read("#label=1e9").label, null);
});

test("decisions are toggled, kept in order and told", () => {
  const decisions = new Decisions();
  let told = 0;
  decisions.addEventListener("change", () => { told += 1; });
  const [a, b] = [{ code: "a" }, { code: "b" }];
  assert.equal(decisions.toggle(a, "accepted"), "accepted");
  assert.equal(decisions.toggle(b, "accepted"), "accepted");
  assert.equal(decisions.toggle(a, "rejected"), "rejected");
  assert.deepEqual(decisions.accepted(), [b]);
  assert.equal(decisions.toggle(a, "rejected"), null);
  assert.equal(told, 4);
});

test("the text of a row is that of its chosen columns", () => {
  const table = new Labelling({ name: "x.csv", text: "a,b,c\n1,two,three\n4\n", bom: "" }, ",");
  table.columns = [1, 2];
  assert.deepEqual(table.rows.map((row) => table.textOf(row)), ["two three", ""]);
});

test("texts get their values, and counts their plural", () => {
  assert.equal(t("rows_count", { count: 1 }), "1 row");
  assert.equal(t("rows_count", { count: 1234 }), "1,234 rows");
  assert.equal(t("accept_name", { name: "$& {name}" }), "Accept $& {name}");
  assert.throws(() => t("no such text"));
});

test("each text is used, and each text that is used is there", () => {
  const folder = new URL("../../page/", import.meta.url);
  const code = readdirSync(folder).filter((name) => name.endsWith(".js") && name !== "texts.js").map((name) => readFileSync(new URL(name, folder), "utf8")).join("\n");
  // Names that are put together: the rest is one of these.
  const made = /^(view|as|sheet_(encoding|workbook|binary|quote|empty|large))/;
  assert.deepEqual(keys.filter((key) => !made.test(key) && !code.includes(`"${key}"`)), []);
  const used = [...code.matchAll(/\bt\("(\w+)"/g)].map(([, key]) => key);
  assert.deepEqual(used.filter((key) => !keys.includes(key)), []);
});

test("nothing in the page makes elements of text, or styles and scripts in place", () => {
  const folder = new URL("../../page/", import.meta.url);
  for (const name of readdirSync(folder)) {
    const text = readFileSync(new URL(name, folder), "utf8");
    assert.doesNotMatch(text, /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\bstyle="|\son\w+="/, name);
    if (name !== "mark.svg") assert.doesNotMatch(text, /(src|href|url\()=?["']?https?:/, name);
  }
});

/** A table of `count` rows whose texts are their numbers, and one that is empty. */
function numbered(count) {
  const table = new Labelling({ name: "x.csv", text: `text\n${Array.from({ length: count }, (_, at) => (at === 2 ? '""' : at)).join("\n")}\n`, bom: "" }, ",");
  table.columns = [0];
  return table;
}

test("rows are asked for in chunks, and answers fall to their rows", async () => {
  const table = numbered(450);
  const chunks = [];
  await table.run(async function* (rows) {
    chunks.push(rows.length);
    for (const { id, text } of rows) yield text === "7" ? { id, error: { detail: "odd" } } : { id, labels: [{ name: text }] };
  }, () => {});
  assert.deepEqual(chunks, [199, 200, 50]);
  assert.equal(table.done, 450);
  assert.equal(table.labelled, 448);
  assert.deepEqual(table.answers[2], []);
  assert.equal(table.answers[449][0].name, "449");
  assert.deepEqual(table.problems, [{ row: 9, detail: "odd" }]);
});

test("a stopped table keeps what it has and goes on behind it", async () => {
  const table = numbered(10);
  const broken = async function* (rows) {
    for (const { id, text } of rows.slice(0, 4)) yield { id, labels: [{ name: text }] };
    throw new Error("the connection broke");
  };
  await assert.rejects(table.run(broken, () => {}), /broke/);
  assert.equal(table.done, 5);
  await table.run(async function* (rows) {
    assert.equal(rows[0].id, 5);
    for (const { id, text } of rows) yield { id, labels: [{ name: text }] };
  }, () => {});
  assert.deepEqual(table.answers.map((labels) => labels[0]?.name), ["0", "1", undefined, "3", "4", "5", "6", "7", "8", "9"]);
});

test("an answer that ends too early is an error, not a loop", async () => {
  await assert.rejects(numbered(10).run(async function* () {}, () => {}));
});
