// Shows the OpenAPI document of this server, and lets people try what it describes.

const base = new URL("..", location.href);
const problems = "application/problem+json";

/** An element with attributes and children. */
function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** What a reference in `document` stands for. */
function resolved(document, schema) {
  const path = schema?.$ref?.slice(2).split("/");
  return path ? resolved(document, path.reduce((at, step) => at?.[step], document)) : schema ?? {};
}

/** The types of a schema, in words. */
function typeOf(document, schema) {
  const name = schema?.$ref?.split("/").pop();
  const own = resolved(document, schema);
  if (own.type === "array" || own.type?.includes?.("array")) return `list of ${typeOf(document, own.items)}`;
  const several = own.oneOf ?? own.anyOf;
  if (several) return several.map((one) => typeOf(document, one)).join(" or ");
  const limits = [["from", own.minimum], ["to", own.maximum], ["default", own.default]];
  const said = limits.filter(([, value]) => value !== undefined).map(([word, value]) => `${word} ${value}`);
  const type = name ?? own.enum?.map((value) => JSON.stringify(value)).join(" or ") ?? [own.type ?? "anything"].flat().join(" or ");
  return said.length ? `${type} (${said.join(", ")})` : type;
}

/** The properties of an object, those of what it is made of included. */
function properties(document, schema) {
  const own = resolved(document, schema);
  const parts = (own.allOf ?? []).map((part) => properties(document, part));
  return Object.assign({}, ...parts, own.properties);
}

/** An example of what a schema describes; what goes deeper than a person reads is left out. */
function exampleOf(document, schema, depth = 0) {
  const own = resolved(document, schema);
  const given = own.example ?? own.examples?.[0] ?? own.default ?? own.enum?.[0];
  if (given !== undefined) return given;
  if (depth > 6) return null;
  const one = (own.oneOf ?? own.anyOf)?.[0];
  if (one) return exampleOf(document, one, depth + 1);
  if (own.properties || own.allOf) {
    const all = Object.entries(properties(document, own));
    return Object.fromEntries(all.map(([name, part]) => [name, exampleOf(document, part, depth + 1)]));
  }
  const type = [own.type].flat()[0];
  if (type === "array") return [exampleOf(document, own.items, depth + 1)];
  return { string: "...", integer: own.minimum ?? 0, number: own.minimum ?? 0, boolean: true, object: {} }[type] ?? null;
}

/** A body to start from: what must be there and what has an example. */
function bodyOf(document, type, schema) {
  const own = resolved(document, schema);
  if (own.type === "array") return JSON.stringify([exampleOf(document, own.items)], null, 2);
  const all = Object.entries(properties(document, own));
  const kept = all.filter(([name, part]) => own.required?.includes(name) || resolved(document, part).example !== undefined);
  const values = Object.fromEntries(kept.map(([name, part]) => [name, exampleOf(document, part)]));
  if (type === "application/x-www-form-urlencoded") return new URLSearchParams(values).toString();
  return type === "application/json" ? JSON.stringify(values, null, 2) : `${JSON.stringify(values)}\n`;
}

function table(heads, rows) {
  const line = (cell, values) => h("tr", {}, ...values.map((value) => h(cell, {}, value ?? "")));
  return h("table", {}, h("thead", {}, line("th", heads)), h("tbody", {}, ...rows.map((row) => line("td", row))));
}

/** One call: what it takes, what it gives, and a form to try it. */
function call(document, method, path, operation, id) {
  const inside = h("div", { class: "inside" });
  const about = operation.description;
  if (about) inside.append(h("p", {}, about));
  const given = operation.parameters ?? [];
  const inputs = given.map((one) => h("input", { "aria-label": one.name, value: one.example ?? "" }));
  if (given.length) {
    const named = (one) => h("code", {}, one.required ? `${one.name} *` : one.name);
    const rows = given.map((one, at) => [named(one), typeOf(document, one.schema), one.description, inputs[at]]);
    inside.append(h("h3", {}, "In the address"), table(["name", "type", "meaning", "to try"], rows));
  }
  const [type, content] = Object.entries(operation.requestBody?.content ?? {})[0] ?? [];
  let body = null;
  if (type) {
    const required = resolved(document, content.schema).required ?? [];
    const rows = Object.entries(properties(document, content.schema)).map(([name, part]) => [
      h("code", {}, required.includes(name) ? `${name} *` : name), typeOf(document, part), part.description ?? resolved(document, part).description]);
    body = h("textarea", { rows: 6, spellcheck: "false", "aria-label": "Body" });
    body.value = bodyOf(document, type, content.schema);
    inside.append(h("h3", {}, `Body: ${type}`), rows.length ? table(["field", "type", "meaning"], rows) : "", body);
  }
  const answers = Object.entries(operation.responses).map(([status, answer]) => {
    const [kind, shown] = Object.entries(answer.content ?? {})[0] ?? [];
    const schema = shown?.schema;
    const example = kind && kind !== problems && schema ? JSON.stringify(exampleOf(document, schema), null, 2) : null;
    return [h("code", {}, status), h("div", {}, answer.description, kind ? ` (${kind})` : "", example ? h("pre", {}, example) : null)];
  });
  const output = h("pre", { hidden: "", tabindex: "0", "aria-live": "polite" });
  const send = async () => {
    output.hidden = false;
    output.textContent = "…";
    output.textContent = await tried(method, path, given, inputs, type, body).catch((error) => `${error}`);
  };
  inside.append(h("h3", {}, "Answers"), table(["status", "meaning"], answers), h("p", {}, h("button", { onclick: send }, "Try it")), output);
  return h("details", { id },
    h("summary", {}, h("span", { class: `method ${method}` }, method.toUpperCase()), " ", h("code", {}, path), h("span", { class: "short" }, operation.summary ?? "")), inside);
}

/** Sends what the form says, and tells what came back, with the same call for curl. */
async function tried(method, path, given, inputs, type, body) {
  let place = path.slice(1);
  const query = new URLSearchParams();
  given.forEach((one, at) => {
    const value = inputs[at].value;
    if (one.in === "path") place = place.replace(`{${one.name}}`, encodeURIComponent(value));
    else if (value !== "") query.set(one.name, value);
  });
  const url = new URL(place + (query.size ? `?${query}` : ""), base);
  const key = document.getElementById("key").value;
  const headers = { ...(type ? { "Content-Type": type } : {}), ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  const began = performance.now();
  const response = await fetch(url, { method: method.toUpperCase(), headers, body: body?.value });
  const text = await response.text();
  const took = Math.round(performance.now() - began);
  const isJson = response.headers.get("Content-Type")?.includes("json");
  let shown = text;
  try {
    if (isJson) shown = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // Lines of JSON are shown as they came.
  }
  const quoted = (value) => `'${value.replaceAll("'", "'\\''")}'`;
  const curl = ["curl", quoted(url.href), ...(type ? ["-H", quoted(`Content-Type: ${type}`), "--data-binary", quoted(body.value)] : [])];
  return `${response.status} ${response.statusText}, ${took} ms\n\n${shown}\n\n${curl.join(" ")}`;
}

const answer = await fetch("openapi.json");
const api = await answer.json();
document.getElementById("about").textContent = api.info.description;
const main = document.getElementById("calls");
const contents = document.getElementById("contents");
main.replaceChildren();
for (const tag of api.tags) {
  const section = h("section", { id: tag.name }, h("h2", {}, `${tag.name}: ${tag.description}`));
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of ["get", "post"]) {
      const operation = item[method];
      if (operation?.tags?.includes(tag.name)) section.append(call(api, method, path, operation, operation.operationId));
    }
  }
  contents.append(h("a", { href: `#${tag.name}` }, tag.name));
  main.append(section);
}
if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
