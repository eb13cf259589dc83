// The view of a spreadsheet: a table in, the same table with a column of suggestions out.

import { predictStream, wasStopped } from "./api.js";
import { TableProblem, decode, guessText, sniff, widen } from "./csv.js";
import { button, download, fill, h, say, trouble } from "./dom.js";
import { labelCode, labelName } from "./format.js";
import { Labelling } from "./labelling.js";
import { t } from "./texts.js";
import { wait } from "./waiting.js";

const LARGEST = 100;
const PREVIEW = 5;
const PROBLEMS = 10;
const SEPARATORS = { ",": "sheet_comma", ";": "sheet_semicolon", "\t": "sheet_tab" };

export class SheetView {
  #shared;
  #file = null;
  #table = null;
  #stop = null;
  /** The number of rows that the button to start stands there for. */
  #ready = null;
  #options = { form: "names", scores: true, k: 5, threshold: null };

  constructor(shared) {
    this.#shared = shared;
    this.input = h("input", { type: "file", id: "file", accept: ".csv,.tsv,.tab,.txt,text/csv,text/tab-separated-values", class: "unseen", onchange: () => this.#chosen() });
    this.choose = h("label", { for: "file", class: "button" }, t("sheet_choose"));
    this.drop = h("div", { class: "drop" },
      h("p", {}, t("sheet_drop")), this.input, this.choose);
    for (const kind of ["dragenter", "dragover"]) this.drop.addEventListener(kind, (event) => { event.preventDefault(); this.drop.classList.add("over"); });
    for (const kind of ["dragleave", "drop"]) this.drop.addEventListener(kind, () => this.drop.classList.remove("over"));
    this.drop.addEventListener("drop", (event) => {
      event.preventDefault();
      const [file] = event.dataTransfer.files;
      if (file) this.#read(file);
    });
    this.trouble = h("div");
    this.settings = h("div", { class: "settings" });
    this.run = h("div", { class: "run" });
    this.preview = h("div", { class: "preview" });
    this.element = h("section", { class: "spreadsheet", "aria-labelledby": "sheet-title" },
      h("h1", { id: "sheet-title", tabindex: "-1" }, t("sheet")), h("p", { class: "intro" }, t("sheet_intro")),
      this.drop, this.trouble, this.settings, this.run, this.preview);
  }

  /** Another model or language: what was suggested is no longer what would be. */
  changed() {
    this.#stop?.abort();
    const { model } = this.#shared;
    this.#options.threshold = model.threshold ?? (model.is_probability ? 0.5 : 0);
    this.#table?.forget();
    const reads = model.reads_text !== false;
    fill(this.trouble, !reads && h("p", {}, t("reads_vectors")));
    this.drop.hidden = !reads;
    if (this.#table && reads) this.#show();
    else this.#clear();
  }

  show() {}

  #clear() {
    this.#ready = null;
    for (const part of [this.settings, this.run, this.preview]) fill(part);
  }

  #chosen() {
    const [file] = this.input.files;
    this.input.value = "";
    if (file) this.#read(file);
  }

  async #read(file) {
    this.#stop?.abort();
    this.#table = null;
    this.#clear();
    fill(this.trouble);
    try {
      if (file.size > LARGEST * 1e6) throw new TableProblem("large", { limit: LARGEST });
      const read = decode(new Uint8Array(await file.arrayBuffer()));
      this.#file = { ...read, name: file.name };
      this.#tabulate(sniff(read.text));
      if (this.#table.records.length === 0) throw new TableProblem("empty");
      this.#show();
      say(this.#found());
    } catch (error) {
      this.#table = null;
      if (!(error instanceof TableProblem)) throw error;
      fill(this.trouble, trouble(t(`sheet_${error.reason}`, { name: file.name, ...error.values })));
    }
  }

  #tabulate(separator) {
    this.#table = new Labelling(this.#file, separator);
    if (this.#table.records.length === 1) this.#table.hasHeader = false;
    this.#table.columns = [guessText(this.#table.rows)];
  }

  #found() {
    const { name, rows, width } = this.#table;
    return t("sheet_found", { name, rows: t("rows_count", { count: rows.length }), columns: t("sheet_columns", { count: width }) });
  }

  #columnName(column) {
    const { records, hasHeader } = this.#table;
    return (hasHeader && records[0].cells[column]?.trim()) || t("sheet_column", { number: column + 1 });
  }

  /** Everything about the table; `focus` is the id of what was changed and keeps the focus. */
  #show(focus = null) {
    this.drop.classList.add("small");
    this.choose.textContent = t("sheet_other");
    fill(this.trouble);
    fill(this.settings,
      h("p", { class: "found", dir: "auto" }, this.#found()),
      h("div", { class: "line" }, this.#tableSettings()),
      h("fieldset", {}, h("legend", {}, t("sheet_text_in")), h("p", { class: "hint" }, t("sheet_text_help")), h("div", { class: "line" }, this.#columnSettings())),
      h("div", { class: "line" }, this.#labelSettings()));
    this.#update();
    if (focus) document.getElementById(focus)?.focus();
  }

  /** What follows from the settings; these stay, so that whoever goes from one to the next is not lost. */
  #update() {
    this.#showRun();
    this.#showPreview();
  }

  /** After this change other labels are to be had. */
  #changing(change) {
    return (event) => {
      change(event.target);
      this.#table.forget();
      this.#update();
    };
  }

  /** How the table is to be read. */
  #tableSettings() {
    const table = this.#table;
    const header = () => {
      table.hasHeader = !table.hasHeader;
      table.forget();
      this.#show("header");
    };
    return [
      h("label", {}, t("sheet_separated"), select("separator", Object.entries(SEPARATORS).map(([mark, key]) => [mark, t(key)]), table.separator,
        (event) => this.#separate(event.target.value))),
      check("header", t("sheet_header"), table.hasHeader, header),
    ];
  }

  #columnSettings() {
    const table = this.#table;
    return Array.from({ length: table.width }, (_, column) => check(`column-${column}`, this.#columnName(column), table.columns.includes(column),
      this.#changing(({ checked }) => {
        const others = table.columns.filter((other) => other !== column);
        table.columns = (checked ? [...others, column] : others).sort((a, b) => a - b);
      })));
  }

  /** Which labels are wanted, and how they are written. */
  #labelSettings() {
    const options = this.#options;
    const { is_probability: isProbability } = this.#shared.model;
    const number = (id, name, attributes) => h("input", {
      type: "number", id, value: options[name], ...attributes,
      oninput: (event) => {
        if (event.target.value !== "" && event.target.checkValidity()) this.#changing((field) => { options[name] = Number(field.value); })(event);
      },
    });
    const written = (change) => (event) => {
      change(event.target);
      this.#showPreview();
    };
    return [
      h("label", {}, t("sheet_at_most"), number("sheet-most", "k", { min: "1", max: "100", step: "1" }), t("sheet_labels_a_row")),
      h("label", {}, t("sheet_threshold"), number("sheet-threshold", "threshold", isProbability ? { min: "0", max: "1", step: "any" } : { min: "0", step: "any" })),
      h("label", {}, t("sheet_write"), select("form-of-labels", [["names", t("sheet_names")], ["codes", t("sheet_codes")]], options.form,
        written((field) => { options.form = field.value; }))),
      check("with-scores", t("sheet_scores", { scores: t(isProbability ? "sheet_probabilities" : "sheet_score_values") }), options.scores,
        written((field) => { options.scores = field.checked; })),
    ];
  }

  #separate(mark) {
    try {
      this.#tabulate(mark);
      this.#show("separator");
    } catch (error) {
      if (!(error instanceof TableProblem)) throw error;
      fill(this.trouble, trouble(t(`sheet_${error.reason}`, { name: this.#file.name, ...error.values })));
    }
  }

  #showRun(failure = null) {
    const table = this.#table;
    const count = table.rows.length;
    const rows = t("rows_count", { count });
    const start = () => this.#start();
    // The same button stays, for a field that loses the focus to it changes something first.
    const ready = table.columns.length > 0 && table.done === 0 && !failure ? count : null;
    if (ready !== null && ready === this.#ready) return undefined;
    this.#ready = ready;
    if (table.columns.length === 0) return fill(this.run, h("p", { class: "wrong" }, t("sheet_pick")));
    if (table.done === 0 && !failure) return fill(this.run, h("p", { class: "buttons" }, button(t("sheet_start", { count }), start, { class: "main", disabled: count === 0 })));
    const finished = table.done === count;
    fill(this.run,
      failure && trouble(t("failed", { detail: failure })),
      h("p", { class: "outcome" }, finished
        ? t("sheet_done", { rows, labelled: table.labelled })
        : t("sheet_stopped", { done: table.done, rows })),
      h("p", { class: "buttons" },
        !finished && button(t("sheet_go_on"), start, { class: "main" }),
        button(t("sheet_download", { name: this.#outputName() }), () => this.#download(), { class: finished ? "main" : "" })),
      table.problems.length > 0 && [h("p", {}, t("sheet_problems", { count: table.problems.length })),
        h("ul", { class: "problems" }, table.problems.slice(0, PROBLEMS).map((problem) => h("li", {}, t("sheet_problem", problem))))]);
    return undefined;
  }

  async #start() {
    const table = this.#table;
    const count = table.rows.length;
    const rows = t("rows_count", { count });
    const { model, here } = this.#shared;
    const stop = new AbortController();
    this.#stop = stop;
    const progress = h("progress", { max: count, value: table.done, "aria-label": t("sheet_progress_name") });
    const said = h("span", { class: "number" });
    const place = h("div");
    const stopButton = button(t("sheet_stop"), () => stop.abort());
    this.#ready = null;
    fill(this.run, h("p", { class: "progress" }, progress, said, stopButton), place);
    stopButton.focus();
    const fields = this.settings.querySelectorAll("input, select");
    for (const field of fields) field.disabled = true;
    const told = () => {
      progress.value = table.done;
      said.textContent = t("sheet_progress", { done: table.done, rows });
    };
    told();
    const asking = wait(place);
    const query = { k: this.#options.k, threshold: this.#options.threshold };
    if (here.language) query.language = here.language;
    let failure = null;
    try {
      const options = { signal: stop.signal, waiting: asking.waiting };
      await table.run((asked) => predictStream(model.name, asked, query, options), () => { asking.done(); told(); });
    } catch (error) {
      if (!wasStopped(error)) failure = error.message;
    }
    asking.done();
    // Meanwhile another file, or another model, may have been chosen.
    if (this.#table !== table || this.#stop !== stop) return;
    for (const field of fields) field.disabled = false;
    this.#showRun(failure);
    this.#showPreview();
    this.run.querySelector("button")?.focus();
    say(this.run.querySelector(".outcome")?.textContent ?? "");
  }

  #outputName() {
    const { name } = this.#table;
    const dot = name.lastIndexOf(".");
    const [stem, ending] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ".csv"];
    return `${stem}-${t("file_labelled")}${ending}`;
  }

  /** The names of the new columns: such as the table does not have. */
  #newColumns() {
    const taken = this.#table.hasHeader ? this.#table.records[0].cells.map((name) => name.trim().toLowerCase()) : [];
    const free = (name) => {
      for (let at = 1; ; at += 1) {
        const candidate = at === 1 ? name : `${name} ${at}`;
        if (!taken.includes(candidate)) return candidate;
      }
    };
    return [free(t("column_suggestions")), ...(this.#options.scores ? [free(t("column_scores"))] : [])];
  }

  /** The new cells of a row: labels with a bar between, which seldom is in a name. */
  #newCells(row) {
    const labels = this.#table.answers[row] ?? [];
    const written = this.#options.form === "names" ? labelName : labelCode;
    const values = labels.map((label) => (this.#shared.model.is_probability ? label.score.toFixed(2) : `${Number(label.score.toPrecision(3))}`));
    return [labels.map(written).join("|"), ...(this.#options.scores ? [values.join("|")] : [])];
  }

  #download() {
    const { text, bom, separator, records, width, hasHeader } = this.#table;
    const header = this.#newColumns();
    const wide = widen(text, separator, records, width, (record) => (hasHeader ? (record === 0 ? header : this.#newCells(record - 1)) : this.#newCells(record)));
    download(this.#outputName(), separator === "\t" ? "text/tab-separated-values" : "text/csv", bom + wide);
  }

  #showPreview() {
    const table = this.#table;
    const added = table.done > 0;
    const columns = Array.from({ length: table.width }, (_, column) => column);
    const header = [...columns.map((column) => [this.#columnName(column), table.columns.includes(column) ? "text" : ""]),
      ...(added ? this.#newColumns().map((name) => [name, "new"]) : [])];
    const caption = t(added ? "sheet_result" : "sheet_preview");
    fill(this.preview, h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
      h("table", {}, h("caption", {}, caption),
        h("thead", {}, h("tr", {}, header.map(([name, kind]) => h("th", { scope: "col", class: kind, dir: "auto" }, name)))),
        h("tbody", {}, table.rows.slice(0, PREVIEW).map((row, at) => h("tr", {},
          columns.map((column) => h("td", { class: table.columns.includes(column) ? "text" : "", dir: "auto" }, h("div", {}, row.cells[column] ?? ""))),
          added && this.#newCells(at).map((value) => h("td", { class: "new", dir: "auto" }, h("div", {}, value.replaceAll("|", " | "))))))))));
  }
}

function select(id, entries, chosen, onchange) {
  return h("select", { id, onchange }, entries.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
}

function check(id, text, checked, onchange) {
  return h("label", { class: "check" }, h("input", { type: "checkbox", id, checked, onchange }), h("span", { dir: "auto" }, text));
}
