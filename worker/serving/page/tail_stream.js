// Reads /api/tail: server-sent events over fetch, which unlike EventSource says why a stream was refused. It connects again by itself
// and goes on after the last event that it has seen.

import { addressOf, ApiError, askToSignIn } from "./api.js";

/** The worker sends at least a comment each 15 s: after this long without one the connection is dead. */
const SILENT_MS = 40_000;
const WAITS_S = [1, 2, 5, 10, 20];

/**
 * @typedef {{lines: (answer: {lines: any[], dropped: number, dropped_by_level?: Record<string, number>}) => void, open: () => void, problem: (error: ApiError) => void,
 *   away: (error: ApiError, seconds: number) => void}} Hears
 * `problem` is one that the worker tells of while the stream goes on; `away`: the stream has ended and is tried again after `seconds`.
 */

/**
 * Follow the lines that a query lets through, until `stop`.
 * @param {object} query
 * @param {Hears} hears
 * @returns {{stop: () => void}}
 */
export function follow(query, hears) {
  const ended = new AbortController();
  let cursor = "";
  let failures = 0;

  async function run() {
    while (!ended.signal.aborted) {
      try {
        await read();
      } catch (error) {
        if (ended.signal.aborted) return;
        const fault = error instanceof ApiError ? error : new ApiError({ status: 0, code: "offline", reason: "The connection ended." });
        if (fault.status === 401 || fault.code === "bad_query") {
          hears.away(fault, 0);
          return;
        }
        const seconds = Math.max(fault.retryAfter ?? 0, WAITS_S[Math.min(failures++, WAITS_S.length - 1)]);
        hears.away(fault, seconds);
        await pause(seconds * 1000, ended.signal);
      }
    }
  }

  async function read() {
    const connection = new AbortController();
    const stop = () => connection.abort();
    ended.signal.addEventListener("abort", stop);
    let watch = setTimeout(stop, SILENT_MS);
    try {
      const response = await opened(query, cursor, connection.signal);
      hears.open();
      const reader = /** @type {ReadableStream} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
      const take = eventParser(heard);
      for (;;) {
        const { done, value } = await reader.read();
        clearTimeout(watch);
        watch = setTimeout(stop, SILENT_MS);
        if (done) throw new ApiError({ status: 0, code: "offline", reason: "The worker ended the connection." });
        take(value);
      }
    } finally {
      clearTimeout(watch);
      ended.signal.removeEventListener("abort", stop);
    }
  }

  /** @param {string} name @param {string} text @param {string} id */
  function heard(name, text, id) {
    const content = JSON.parse(text);
    if (id !== "") cursor = id;
    if (name === "lines") {
      failures = 0;
      hears.lines(content);
    } else if (name === "problem") {
      const { code = "failed", field = "", reason = "" } = content.error ?? content;
      hears.problem(new ApiError({ status: 0, code, field, reason }));
    }
  }

  run();
  return { stop: () => ended.abort() };
}

/** @param {object} query @param {string} cursor @param {AbortSignal} signal @returns {Promise<Response>} */
async function opened(query, cursor, signal) {
  const headers = { Accept: "text/event-stream", ...(cursor === "" ? {} : { "Last-Event-ID": cursor }) };
  const address = addressOf("/api/tail", { query: JSON.stringify(query) });
  const ask = () => fetch(address, { headers, credentials: "same-origin", cache: "no-store", signal });
  let response = await ask();
  if (response.status === 401) {
    await askToSignIn();
    response = await ask();
  }
  if (response.ok && response.body) return response;
  const error = await response.json().then((body) => body.error ?? {}, () => ({}));
  const wait = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  const retryAfter = Number.isFinite(wait) ? wait : null;
  throw new ApiError({ status: response.status, code: error.code ?? "failed", field: error.field, reason: error.reason ?? `HTTP ${response.status}`, retryAfter });
}

/**
 * Return a function that takes the stream's text, in whatever pieces, and tells of each event that is whole.
 * @param {(name: string, text: string, id: string) => void} tell
 * @returns {(piece: string) => void}
 */
export function eventParser(tell) {
  let rest = "";
  let name = "";
  let id = "";
  /** @type {string[]} */
  let texts = [];

  /** @param {string} line */
  function takeLine(line) {
    if (line === "") {
      if (texts.length > 0) tell(name || "message", texts.join("\n"), id);
      [name, id, texts] = ["", "", []];
      return;
    }
    const [, field, value] = /^([^:]*):? ?(.*)$/s.exec(line) ?? ["", "", ""];
    if (field === "event") name = value;
    else if (field === "data") texts.push(value);
    else if (field === "id") id = value;
  }

  return (piece) => {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) takeLine(line.replace(/\r$/, ""));
  };
}

/** @param {number} ms @param {AbortSignal} signal @returns {Promise<void>} */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
