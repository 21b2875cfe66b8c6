// The same question outside the page: as `curl` and as `vectail search …`, quoted for a shell, and the link to a state. A token is never in
// them. Control characters and marks that turn text are written as escapes: what is pasted into a terminal must be what it looks like.

import { addressOf } from "./api.js";
import { FILTERS } from "./filters.js";
import { href, read } from "./state.js";

const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/;
const UNSAFE_ALL = new RegExp(UNSAFE.source, "g");

/**
 * Quote a text as one word of a POSIX shell (one with escapes as bash and zsh read them).
 * @param {string} text
 */
export function shellWord(text) {
  if (text !== "" && /^[A-Za-z0-9_@%+=:,./-]+$/.test(text)) return text;
  if (!UNSAFE.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  return `$'${text.replace(/[\\']/g, "\\$&").replace(UNSAFE_ALL, shellEscape)}'`;
}

/** @param {string} character */
function shellEscape(character) {
  return [...new TextEncoder().encode(character)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
}

/** JSON in which every character that a terminal might act on is an escape. @param {unknown} value */
function plainJson(value) {
  return JSON.stringify(value).replace(UNSAFE_ALL, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * A request as a `curl` command.
 * @param {string} path
 * @param {object} body
 */
export function curlCommand(path, body) {
  const parts = ["curl", "-sS", shellWord(addressOf(path)), "-H", '"Authorization: Bearer $TOKEN"', "-H", "'Content-Type: application/json'", "-d", shellWord(plainJson(body))];
  return parts.join(" ");
}

/**
 * A request as a command of `vectail`: a search, a listing of families, or the lines around a place.
 * @param {any} body
 */
export function vectailCommand(body) {
  if (body.around) {
    const { topic, partition, offset, before, by } = body.around;
    return `vectail search --around ${shellWord(`${topic}/${partition}@${offset}`)}${by ? ` --by ${by}` : ""} -C ${before}`;
  }
  const filters = body.filters ?? {};
  const { since_ms, until_ms } = filters;
  const words = ["vectail", body.as === "templates" ? "templates" : "search"];
  const add = (/** @type {string} */ option, /** @type {string} */ value) => words.push(value.startsWith("-") ? `${option}=${shellWord(value)}` : `${option} ${shellWord(value)}`);
  if (since_ms !== undefined) add("--since", new Date(since_ms).toISOString());
  if (until_ms !== undefined) add("--until", new Date(until_ms).toISOString());
  for (const { name, kind, option } of FILTERS) {
    if (kind !== "pairs") for (const value of [filters[name] ?? []].flat()) add(option, value);
    else for (const [field, values] of Object.entries(filters[name] ?? {})) for (const value of [values].flat()) add(option, `${field}=${value}`);
  }
  if (body.mode) add("--mode", body.mode);
  if (body.k && body.k !== 10) add("-k", String(body.k));
  if (body.text) words.push(body.text.startsWith("-") ? `-- ${shellWord(body.text)}` : shellWord(body.text));
  return words.join(" ");
}

/**
 * The address of the page with these changes, to be shared: a span before now becomes the times that it means now.
 * @param {Record<string, any>} changes
 * @param {import("./range.js").Range | null} [range]
 */
export function shareLink(changes, range = null) {
  const times = range === null ? {} : { since: range.since_ms === null ? "all" : String(range.since_ms), until: range.until_ms === null ? fixedEnd(range) : String(range.until_ms) };
  return new URL(href({ ...read(), ...times, ...changes }), new URL(location.pathname, location.href)).href;
}

/** @param {import("./range.js").Range} range */
function fixedEnd(range) {
  return range.since_ms === null ? "" : String(Date.now());
}

/**
 * Put a text into the clipboard. Browsers offer it only on localhost and over HTTPS; elsewhere the old way is taken.
 * @param {string} text
 * @returns {Promise<boolean>} whether it is there
 */
export async function copy(text) {
  if (navigator.clipboard && window.isSecureContext) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      // Refused: the old way needs no permission.
    }
  }
  const field = document.createElement("textarea");
  const focused = document.activeElement;
  field.value = text;
  field.className = "visually-hidden";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
