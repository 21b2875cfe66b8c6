// What the search tab lists where nothing is asked: families of errors, then those that are new or rise against the same length of time before,
// then the most frequent ones.

import { ask } from "./api.js";
import { filtersOf, wanted } from "./search_request.js";
import { leftOut } from "./template_extras.js";
import { changesOf, windowsOf } from "./template_windows.js";

const ERRORS = ["FATAL", "ERROR"];
/** What has not been compared by then is not worth the wait. */
const COMPARE_MS = 1_000;

/**
 * Return the listing in that order; a family that is new or rises has its `change` and `ratio`, and an index that is too young for that says when
 * it begins (`begins_ms`).
 * @param {any} listing the most frequent families
 * @param {any} state
 * @param {import("./range.js").Range} range
 * @param {AbortSignal} signal
 */
export async function errorsFirst(listing, state, range, signal) {
  const most = Math.ceil(wanted(state) / 2);
  const errors = await errorFamilies(state, range, most, signal);
  const { changes, begins_ms } = await risenOf(state, range, most, signal);
  const known = new Map([...listing.templates, ...errors].map((/** @type {any} */ one) => [one.family, one]));
  const unknown = [...changes.keys()].filter((family) => !known.has(family));
  if (unknown.length > 0) {
    const filters = { ...filtersOf(state, range), family: unknown };
    for (const one of (await ask("/api/templates", { k: unknown.length, filters }, { signal })).templates) known.set(one.family, one);
  }
  const names = errors.map((one) => one.family);
  const first = [...[...changes.keys()].filter((family) => names.includes(family)), ...names];
  const order = [...new Set([...first, ...changes.keys(), ...listing.templates.map((/** @type {any} */ one) => one.family)])];
  const templates = order.flatMap((family) => (known.has(family) ? [{ ...known.get(family), ...changes.get(family) }] : []));
  return { ...listing, templates: templates.slice(0, wanted(state)), begins_ms };
}

/** @param {any} state @param {import("./range.js").Range} range @param {number} most @param {AbortSignal} signal @returns {Promise<any[]>} */
async function errorFamilies(state, range, most, signal) {
  const level = ERRORS.filter((one) => !state.not_level.includes(one));
  if (state.level.length > 0 || level.length === 0) return [];
  return (await ask("/api/templates", { k: most, filters: { ...filtersOf(state, range), level } }, { signal })).templates;
}

/**
 * What is new or rises, by family, the most severe first. It is not worth an error: all time has nothing before it, and a comparison may take
 * too long.
 * @param {any} state @param {import("./range.js").Range} range @param {number} most @param {AbortSignal} signal
 * @returns {Promise<{changes: Map<string, {change: string, ratio: number | null}>, begins_ms?: number}>}
 */
async function risenOf(state, range, most, signal) {
  const windows = windowsOf({}, range, Date.now());
  /** @type {{changes: Map<string, {change: string, ratio: number | null}>, begins_ms?: number}} */
  let found = { changes: new Map() };
  if (typeof windows === "string") return found;
  await leftOut(signal, async () => {
    const filters = filtersOf(state, { ...range, ...windows.now });
    const { compare, begins_ms } = await ask("/api/compare", { filters, compare: windows.before, k: most, deadline_ms: COMPARE_MS }, { signal });
    const risen = changesOf(compare, "changed").filter((one) => one.change === "new" || one.change === "up").slice(0, most);
    found = { changes: new Map(risen.map(({ family, change, ratio }) => [family, { change, ratio }])), begins_ms };
  });
  return found;
}
