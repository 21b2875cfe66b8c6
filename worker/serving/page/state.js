// What is shown is in the address: the query string, as a plain object. Back, forward, reload and a copied link therefore all work.
//
// Lists are repeated parameters; kept fields are `field=NAME=VALUE`, as on the command line. Everything else is a text, "" if it is not there.
// Which filters there are is in `filters.js`, which the worker makes.

import { FILTERS } from "./filters.js";

/** @typedef {Record<string, any> & {tab: string, q: string, mode: string, since: string, until: string, facet: string[], column: string[], line: string}} State */

const NAMES = (/** @type {string} */ kind) => FILTERS.filter((one) => one.kind === kind).map(({ name }) => name);
/** Kept fields in the address, by what they are in the state. @type {Record<string, string>} */
const PAIRS = Object.fromEntries(NAMES("pairs").map((name) => [name, name.replace("fields", "field")]));
const LISTS = [...NAMES("list"), "facet", "column"];
const TEXTS = ["q", "mode", "since", "until", "line", ...NAMES("text")];
/** The state without a filter. @type {Record<string, any>} */
export const NO_FILTERS = Object.fromEntries(FILTERS.map(({ name, kind }) => [name, { list: [], pairs: {}, text: "" }[kind]]));
/** What another tab is asked for too: the rest belongs to one tab. */
const SHARED = ["q", "mode", "since", "until", ...FILTERS.filter((one) => !one.chooses).map(({ name }) => name)];

/** @type {Set<(state: State) => void>} */
const listeners = new Set();

/** Return the state that the address holds. @returns {State} */
export function read() {
  return parse(location.search);
}

/**
 * Return the state that a query string holds.
 * @param {string} search
 * @returns {State}
 */
export function parse(search) {
  /** @type {any} */
  const state = { tab: "search" };
  for (const name of Object.keys(PAIRS)) state[name] = {};
  for (const name of TEXTS) state[name] = "";
  for (const name of LISTS) state[name] = [];
  for (const [name, value] of new URLSearchParams(search)) {
    const pairs = Object.keys(PAIRS).find((one) => PAIRS[one] === name);
    if (pairs) addField(state[pairs], value);
    else if (LISTS.includes(name)) state[name].push(value);
    else if (name === "not") state.not_family.push(value); // in links of earlier versions
    else if (!(name in PAIRS) && !(name in Object.prototype)) state[name] = value;
  }
  return state;
}

/**
 * Return the address of a state with these changes, from `?` on.
 * @param {Record<string, any>} changes
 * @param {State} [state] the one in the address, if it is left out
 */
export function href(changes, state = read()) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ ...state, ...changes })) {
    if (Object.hasOwn(PAIRS, name)) {
      for (const [field, values] of Object.entries(value ?? {})) for (const one of values) parameters.append(PAIRS[name], `${field}=${one}`);
    } else if (Array.isArray(value)) {
      for (const one of value) parameters.append(name, one);
    } else if (value !== "" && value !== null && value !== undefined && !(name === "tab" && value === "search")) {
      parameters.append(name, String(value));
    }
  }
  const text = parameters.toString();
  return text === "" ? "?" : `?${text}`;
}

/**
 * Return the address of another tab, with what is asked for everywhere: the question, the time, the filters.
 * @param {string} tab
 * @param {Record<string, any>} [changes]
 */
export function tabHref(tab, changes = {}) {
  const now = read();
  const kept = Object.fromEntries(SHARED.map((name) => [name, now[name]]));
  return href({ ...kept, tab, ...changes }, parse(""));
}

/**
 * Change the state: merge the changes into it, as a new entry of the history unless `replace`.
 * @param {Record<string, any>} changes "", null or an empty list removes one
 * @param {{replace?: boolean}} [how]
 */
export function go(changes, { replace = false } = {}) {
  visit(href(changes), { replace });
}

/**
 * Show what an address says (made by `href` or `tabHref`).
 * @param {string} address
 * @param {{replace?: boolean}} [how]
 */
export function visit(address, { replace = false } = {}) {
  const same = address === (location.search || "?");
  history[replace || same ? "replaceState" : "pushState"](null, "", address === "?" ? location.pathname : address);
  tell();
}

/**
 * Call a function with each new state, also after back and forward.
 * @param {(state: State) => void} listener
 * @returns {() => void} ends it
 */
export function listen(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function tell() {
  const state = read();
  for (const listener of [...listeners]) listener(state);
}

/** @param {Record<string, string[]>} fields @param {string} pair */
function addField(fields, pair) {
  const cut = pair.indexOf("=");
  if (cut <= 0) return;
  const name = pair.slice(0, cut);
  const values = Object.hasOwn(fields, name) ? fields[name] : [];
  Object.defineProperty(fields, name, { value: [...values, pair.slice(cut + 1)], enumerable: true, configurable: true, writable: true });
}

addEventListener("popstate", tell);
