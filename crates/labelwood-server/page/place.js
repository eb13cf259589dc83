// Where the page is: the model, the view and what the view shows, kept in the address's fragment so that it can be linked.

export const VIEWS = ["text", "sheet", "labels"];

/** What a fragment such as `#model=desk&view=labels&label=17` says. */
export function read(fragment) {
  const values = new URLSearchParams(fragment.replace(/^#/, ""));
  const label = values.get("label");
  return {
    model: values.get("model"),
    view: VIEWS.includes(values.get("view")) ? values.get("view") : "text",
    language: values.get("language"),
    label: /^\d+$/.test(label ?? "") ? Number(label) : null,
    search: values.get("search") ?? "",
  };
}

/** The fragment of a place; what is empty is left out. */
export function write(place) {
  const values = new URLSearchParams();
  for (const name of ["model", "view", "language", "label", "search"]) {
    const value = place[name];
    if (value !== null && value !== undefined && value !== "") values.set(name, value);
  }
  return `#${values}`;
}
