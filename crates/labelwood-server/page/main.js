// The page that `labelwood serve` shows: opens the models and leads between the views.

import { get, onKeyWanted } from "./api.js";
import { Decisions } from "./decisions.js";
import { askForKey, keysDialog, singleKeys } from "./dialogs.js";
import { button, fill, h, trouble } from "./dom.js";
import { languageName } from "./format.js";
import { LabelsView } from "./labels-view.js";
import * as place from "./place.js";
import { SheetView } from "./sheet-view.js";
import { language as pageLanguage, t } from "./texts.js";
import { TextView } from "./text-view.js";
import { wait } from "./waiting.js";

const decisions = new Decisions();
/** What the views share: where we are, and the decisions about the text. */
const shared = {
  model: null,
  here: place.read(location.hash),
  decisions,
  /** The address of somewhere else with the same model. */
  to: (elsewhere) => place.write({ model: shared.model?.name, language: shared.here.language, ...elsewhere }),
};

const views = { text: new TextView(shared), sheet: new SheetView(shared), labels: new LabelsView(shared) };
let models = [];

const navigation = h("nav", { "aria-label": t("views") });
const choosers = h("div", { class: "choosers" });
const notice = h("div", { class: "notice" });
const main = h("main", { id: "content", tabindex: "-1" }, notice, Object.values(views).map((view) => view.element));
const facts = h("p", { class: "facts" });

function build() {
  document.documentElement.lang = pageLanguage;
  document.querySelector("noscript")?.remove();
  const skip = h("a", { class: "skip", href: "#content", onclick: (event) => { event.preventDefault(); main.focus(); } }, t("skip"));
  document.body.prepend(
    skip,
    h("header", {}, h("p", { class: "wordmark" }, h("img", { src: "assets/mark.svg", alt: "" }), t("product")), navigation, choosers),
    main,
    h("footer", {}, facts, h("p", {}, button(t("keys"), keysDialog, { class: "quiet" }), h("a", { href: "api/docs" }, t("api")))),
  );
  for (const view of Object.values(views)) view.element.hidden = true;
}

async function open() {
  const asking = wait(notice);
  try {
    ({ models } = await get("api/models", { waiting: asking.waiting }));
    asking.done();
  } catch (error) {
    asking.done();
    fill(notice, trouble(error.message, open));
    return;
  }
  if (models.length === 0) {
    fill(notice, h("p", {}, t("no_models")));
    return;
  }
  follow(false);
}

/** Goes where the address says; `moved` puts the focus to the view's heading, as a new page would. */
function follow(moved = true) {
  const before = shared.here;
  const here = place.read(location.hash);
  const model = models.find(({ name }) => name === here.model) ?? models[0];
  fill(notice, here.model && here.model !== model.name && h("p", {}, t("no_such_model", { model: here.model, instead: model.name })));
  const other = shared.model !== model || before.language !== here.language;
  shared.model = model;
  shared.here = here;
  if (other) for (const view of Object.values(views)) view.changed();
  for (const [name, view] of Object.entries(views)) {
    if (name === here.view) view.show();
    view.element.hidden = name !== here.view;
  }
  furnish();
  document.title = `${t(`view_${here.view}`)} – ${model.name} – ${t("product")}`;
  if (moved && before.view !== here.view) views[here.view].element.querySelector("h1")?.focus();
}

/** The navigation, the choosers and the line about the model. */
function furnish() {
  const { model, here } = shared;
  fill(navigation, place.VIEWS.map((view) => h("a", {
    href: shared.to({ view }), "aria-current": view === here.view && "page",
  }, t(`view_${view}`))));
  // Someone who chooses by keyboard keeps the focus on what they chose with.
  const focused = choosers.contains(document.activeElement) ? document.activeElement.id : null;
  fill(choosers,
    models.length > 1
      ? chooser("model", t("model"), models.map(({ name }) => [name, name]), model.name, (name) => go({ model: name, language: null, label: null }))
      : h("span", { class: "model", dir: "auto" }, model.name),
    (model.languages?.length ?? 0) > 1 && chooser("language", t("names_in"), languages(model),
      here.language ?? "", (language) => go({ language })));
  if (focused) document.getElementById(focused)?.focus();
  fill(facts, t("facts", {
    algorithm: model.algorithm,
    labels: t("labels_count", { count: model.labels }),
    rows: t("rows_count", { count: model.rows }),
  }));
}

function languages(model) {
  return [["", t("names_default")], ...model.languages.map((code) => [code, languageName(code)])];
}

function chooser(id, label, options, chosen, onchoose) {
  return h("label", {}, label, h("select", { id, onchange: (event) => onchoose(event.target.value) },
    options.map(([value, text]) => h("option", { value, selected: value === chosen }, text))));
}

function go(changes) {
  location.hash = place.write({ ...shared.here, model: shared.model.name, ...changes });
}

/** Keys that hold everywhere outside of fields. */
function pressed(event) {
  if (!singleKeys() || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
  if (event.key === "?") {
    event.preventDefault();
    keysDialog();
  } else if (event.key === "/") {
    event.preventDefault();
    views[shared.here.view].search?.();
  }
}

onKeyWanted(askForKey);
build();
addEventListener("hashchange", () => { if (shared.model) follow(); });
addEventListener("keydown", pressed);
await open();
