// What the browser keeps for the page; nothing, where it is told to keep nothing.

/** The value of `name` in "sessionStorage", which lasts as long as the tab, or "localStorage". */
export function recall(storage, name) {
  try {
    return window[storage].getItem(name);
  } catch {
    return null;
  }
}

export function keep(storage, name, value) {
  try {
    window[storage].setItem(name, value);
  } catch {
    // Then it is asked for again.
  }
}
