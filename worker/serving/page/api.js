// How the page asks the worker. An answer is JSON; whatever goes wrong is an ApiError with the worker's own words.
//
// A cookie holds the sign-in, so no request carries a token. Where the worker wants one, the sign-in form is shown once, however many
// requests were refused, and they are asked again after it.

import { noteReach } from "./reach.js";

/** What the worker answered instead of what was asked for. */
export class ApiError extends Error {
  /** @param {{status: number, code: string, field?: string, reason: string, retryAfter?: number | null}} error */
  constructor({ status, code, field = "", reason, retryAfter = null }) {
    super(reason);
    this.name = "ApiError";
    /** HTTP's, 0 where no answer came. */
    this.status = status;
    this.code = code;
    /** The part of the request at fault, "" if none is. */
    this.field = field;
    this.reason = reason;
    /** Seconds after which to ask again; null if the worker did not say. */
    this.retryAfter = retryAfter;
  }
}

/** @typedef {{signal?: AbortSignal}} How */

/** @type {Promise<unknown> | null} */
let signingIn = null;
/** @type {any} */
let session = null;

/**
 * Ask a question: POST a JSON object that changes nothing.
 * @param {string} path such as "/api/search"
 * @param {object} body
 * @param {How} [how]
 * @returns {Promise<any>}
 */
export async function ask(path, body, { signal } = {}) {
  const answer = await request(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
  noteReach(answer);
  return answer;
}

/**
 * Get a document.
 * @param {string} path
 * @param {Record<string, string | number>} [parameters]
 * @param {How} [how]
 * @returns {Promise<any>}
 */
export function get(path, parameters = {}, { signal } = {}) {
  return request(addressOf(path, parameters), { signal });
}

/**
 * POST a JSON object that changes something: with the value that only this page knows.
 * @param {string} path
 * @param {object} body
 * @param {How} [how]
 * @returns {Promise<any>}
 */
export function post(path, body, { signal } = {}) {
  return write(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });
}

/**
 * DELETE, with the same value.
 * @param {string} path
 * @returns {Promise<any>}
 */
export function remove(path) {
  return write(path, { method: "DELETE" });
}

/**
 * Return the address of a path of the worker, also behind a proxy that serves the page in a folder.
 * @param {string} path
 * @param {Record<string, string | number>} [parameters]
 */
export function addressOf(path, parameters = {}) {
  const address = new URL(path.replace(/^\//, ""), document.baseURI);
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, String(value));
  return address.href;
}

/**
 * Return what the worker says of this browser: whether it needs a token, whether this browser is signed in, and the worker's name.
 * @param {{fresh?: boolean}} [how]
 */
export async function sessionOf({ fresh = false } = {}) {
  if (session === null || fresh) session = await answerOf(await send("/api/session", {}));
  return session;
}

/** Show the sign-in form, once, and wait until somebody has signed in. */
export function askToSignIn() {
  signingIn ??= import("./sign_in.js")
    .then((form) => form.signIn())
    .finally(() => {
      signingIn = null;
      session = null;
    });
  return signingIn;
}

/** @param {string} path @param {RequestInit} init */
async function request(path, init) {
  let response = await send(path, init);
  if (response.status === 401) {
    await askToSignIn();
    init.signal?.throwIfAborted();
    response = await send(path, init);
  }
  return answerOf(response);
}

/** @param {string} path @param {any} init */
async function write(path, init) {
  const { csrf } = await sessionOf({ fresh: true });
  return request(path, { ...init, headers: { ...init.headers, "X-Vectail-CSRF": csrf ?? "" } });
}

/** @param {string} path @param {RequestInit} init */
async function send(path, init) {
  try {
    return await fetch(path.startsWith("/") ? addressOf(path) : path, { credentials: "same-origin", ...init });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new ApiError({ status: 0, code: "offline", reason: "The worker does not answer.", retryAfter: 3 });
  }
}

/** @param {Response} response */
async function answerOf(response) {
  const text = await response.text();
  const body = parsed(text);
  if (response.ok && body !== undefined) return body;
  if (response.status === 204) return {};
  const error = body?.error ?? {};
  const wait = Number.parseFloat(response.headers.get("Retry-After") ?? "");
  throw new ApiError({
    status: response.status,
    code: error.code ?? "failed",
    field: error.field ?? "",
    reason: error.reason ?? (response.ok ? "The answer is no JSON." : `HTTP ${response.status} ${response.statusText}`),
    retryAfter: Number.isFinite(wait) ? wait : null,
  });
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
