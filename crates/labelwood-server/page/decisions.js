// What the user has decided about labels of the text: accepted or rejected. Labels are told apart by their codes, so that
// decisions stay when another model is asked.

import { labelCode } from "./format.js";

export class Decisions extends EventTarget {
  #decided = new Map();

  /** "accepted", "rejected" or null. */
  of(label) {
    return this.#decided.get(labelCode(label))?.decision ?? null;
  }

  /** The accepted labels in the order in which they were. */
  accepted() {
    return [...this.#decided.values()].filter(({ decision }) => decision === "accepted").map(({ label }) => label);
  }

  set(label, decision) {
    const code = labelCode(label);
    this.#decided.delete(code);
    if (decision !== null) this.#decided.set(code, { label, decision });
    this.dispatchEvent(new Event("change"));
  }

  /** Decides so, or takes it back if that is how it was; says what holds now. */
  toggle(label, decision) {
    const now = this.of(label) === decision ? null : decision;
    this.set(label, now);
    return now;
  }

  clear() {
    this.#decided.clear();
    this.dispatchEvent(new Event("change"));
  }
}
