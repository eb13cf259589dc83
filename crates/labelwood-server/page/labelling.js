// Labels for the rows of a table, asked for in chunks so that a long table can be stopped and gone on with.

import { parse } from "./csv.js";
import { t } from "./texts.js";

const ROWS = 200;
const CHARACTERS = 200_000;

/** A table and what is known of its rows so far. */
export class Labelling {
  constructor({ name, text, bom }, separator) {
    Object.assign(this, { name, text, bom, separator });
    this.records = parse(text, separator);
    this.width = Math.max(...this.records.map(({ cells }) => cells.length), 0);
    this.hasHeader = true;
    this.columns = [];
    this.forget();
  }

  /** Forgets the answers, since others are wanted. */
  forget() {
    this.answers = [];
    this.problems = [];
  }

  /** The records that are rows, without the header. */
  get rows() {
    return this.hasHeader ? this.records.slice(1) : this.records;
  }

  get done() {
    return this.answers.length;
  }

  get labelled() {
    return this.answers.filter((labels) => labels.length > 0).length;
  }

  /** The number of a row as spreadsheet programs show it: from 1, the header among them. */
  line(row) {
    return row + 1 + Number(this.hasHeader);
  }

  /** What of a row is read: its columns of text, with a blank between. */
  textOf({ cells }) {
    return this.columns.map((column) => cells[column] ?? "").join(" ").trim();
  }

  /** Has `ask` yield the labels of all rows that have no answer yet; `told` is called whenever there are further ones. */
  async run(ask, told) {
    const { rows } = this;
    while (this.done < rows.length) {
      const chunk = [];
      let size = 0;
      for (let at = this.done; at < rows.length && chunk.length < ROWS && size < CHARACTERS; at += 1) {
        const text = this.textOf(rows[at]);
        chunk.push({ id: at, text });
        size += text.length;
      }
      const before = this.done;
      // Rows without text are not asked for.
      const asked = chunk.filter(({ text }) => text !== "");
      const answers = new Map(chunk.map(({ id }) => [id, []]));
      if (asked.length > 0) {
        for await (const answer of ask(asked)) {
          if (!answers.has(answer.id) || answer.id < this.done) continue;
          answers.set(answer.id, answer.labels ?? []);
          if (answer.error) this.problems.push({ row: this.line(answer.id), detail: answer.error.detail ?? answer.error.title ?? "" });
          // In order, so that what is there when the connection ends can be kept.
          for (let at = this.done; at < answer.id; at += 1) this.answers.push(answers.get(at) ?? []);
          this.answers.push(answers.get(answer.id));
          told();
        }
      }
      const last = asked.at(-1);
      if (last && this.done <= last.id) throw new Error(t("answer_cut"));
      while (this.done < before + chunk.length) this.answers.push([]);
      told();
    }
  }
}
