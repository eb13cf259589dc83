// Accepted labels as text to copy or download.

import { table } from "./csv.js";
import { labelCode, labelName } from "./format.js";
import { t } from "./texts.js";

/** The forms in which accepted labels are given away, with their file's ending and type. */
export const FORMS = {
  codes: { ending: "txt", type: "text/plain" },
  names: { ending: "txt", type: "text/plain" },
  csv: { ending: "csv", type: "text/csv" },
  json: { ending: "json", type: "application/json" },
};

/** `labels` in one of the forms. */
export function write(labels, form) {
  switch (form) {
    case "codes":
      return labels.map((label) => `${labelCode(label)}\n`).join("");
    case "names":
      return labels.map((label) => `${labelName(label)}\n`).join("");
    case "csv":
      return table([
        [t("column_code"), t("column_name"), t("column_score")],
        ...labels.map((label) => [labelCode(label), labelName(label), label.score ?? ""]),
      ]);
    default:
      return JSON.stringify(labels.map((label) => ({
        code: labelCode(label), name: labelName(label), score: label.score ?? null,
      })), null, 2) + "\n";
  }
}
