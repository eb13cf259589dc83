// Calls of the server's interface under /api. Addresses are relative, so that the page also works behind a
// proxy that puts it into a folder.

import { keep, recall } from "./memory.js";
import { t } from "./texts.js";

const KEY = "labelwood-key";
const TRIES = 6;
const LONGEST_WAIT = 60;

/** What the server, or the way to it, answered instead of what was asked for. */
export class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

let key = recall("sessionStorage", KEY) ?? "";
let keyAsked = null;
let askForKey = async () => null;

/** Who asks the user for a key, `ask(wasWrong)`, when the server wants one. */
export function onKeyWanted(ask) {
  askForKey = ask;
}

/** The answer to GET `path`. */
export function get(path, options = {}) {
  return call(path, {}, options).then(read);
}

/** The answer to `body` as JSON, sent to `path`. */
export function post(path, body, options = {}) {
  const headers = { "Content-Type": "application/json" };
  return call(path, { method: "POST", headers, body: JSON.stringify(body) }, options).then(read);
}

/** The path of something of `model`. */
export function of(model, ...rest) {
  return ["api/models", model, ...rest].map((part, at) => (at === 0 ? part : encodeURIComponent(part))).join("/");
}

/** Sends `rows` of `{id, text}` and yields the answers as they come, one for each row, in order. */
export async function* predictStream(model, rows, query, options) {
  const response = await call(`${of(model, "predict-stream")}?${new URLSearchParams(query)}`, {
    method: "POST",
    headers: { "Content-Type": "application/x-ndjson" },
    body: rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
  }, options);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let piece;
    try {
      piece = await reader.read();
    } catch (error) {
      throw broken(error);
    }
    const lines = (rest + (piece.value ?? "")).split("\n");
    rest = piece.done ? "" : lines.pop();
    for (const line of lines) if (line.trim()) yield parse(line, response.status);
    if (piece.done) return;
  }
}

/** One call: asks for a key where the server wants one, and comes again when it is busy, telling `waiting` the seconds. */
async function call(path, request, { signal, waiting } = {}) {
  for (let tried = 1; ; tried += 1) {
    const used = key;
    const headers = { Accept: "application/json", ...request.headers };
    if (used) headers.Authorization = `Bearer ${used}`;
    let response;
    try {
      response = await fetch(path, { ...request, headers, signal, cache: "no-store" });
    } catch (error) {
      throw broken(error);
    }
    if (response.ok) return response;
    if (response.status === 401) {
      if (key === used) await newKey(used !== "");
      tried = 0;
      continue;
    }
    const after = retryAfter(response);
    if ((response.status === 503 || response.status === 429) && after !== null) {
      if (tried >= TRIES) throw new ApiError(response.status, t("still_busy"));
      await pause(after, signal, waiting);
      continue;
    }
    throw await problem(response);
  }
}

/** Asks for a key once, however many calls want one. */
async function newKey(wasWrong) {
  keyAsked ??= askForKey(wasWrong).finally(() => { keyAsked = null; });
  const given = await keyAsked;
  if (given === null) throw new ApiError(401, t("key_none"));
  key = given;
  keep("sessionStorage", KEY, key);
}

/** The seconds after which a busy server wants to be asked again. */
function retryAfter(response) {
  const header = response.headers.get("Retry-After");
  if (header === null) return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(seconds) ? Math.max(1, Math.min(LONGEST_WAIT, Math.ceil(seconds))) : null;
}

/** Waits for `seconds` and tells `waiting` at each how many are left, with a way to end the wait. */
function pause(seconds, signal, waiting) {
  return new Promise((resolve, reject) => {
    const aborted = () => end(() => reject(signal.reason));
    const end = (then) => {
      clearInterval(clock);
      signal?.removeEventListener("abort", aborted);
      waiting?.(null);
      then();
    };
    const now = () => end(resolve);
    let left = seconds;
    const clock = setInterval(() => {
      left -= 1;
      if (left > 0) waiting?.(left, now);
      else now();
    }, 1000);
    signal?.addEventListener("abort", aborted);
    waiting?.(left, now);
  });
}

/** What a response that is no success says. */
async function problem(response) {
  let detail = "";
  try {
    const body = await response.json();
    detail = body.detail || body.title || "";
  } catch {
    // Not a problem document: what stands before the server, such as a proxy, has answered.
  }
  return new ApiError(response.status, detail || t("odd_answer", { status: `${response.status}` }));
}

async function read(response) {
  const text = await response.text().catch((error) => { throw broken(error); });
  return parse(text, response.status);
}

function parse(text, status) {
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError(status, t("odd_answer", { status: `${status}` }));
  }
}

/** A connection's end: the user's, which stays as it is, or another. */
function broken(error) {
  return error.name === "AbortError" ? error : new ApiError(0, t("no_answer"));
}

/** Was this stopped by the page itself? */
export function wasStopped(error) {
  return error?.name === "AbortError";
}
