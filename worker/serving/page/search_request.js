// What the search tab asks the worker, made of the state: one place for every body, so that hits, histogram, facets, export and the copied
// commands ask about the same lines.

import { timeFilters } from "./range.js";
import { FILTERS } from "./filters.js";

/** @typedef {import("./state.js").State} State @typedef {import("./range.js").Range} Range */

export const HITS = 10;
/** Up to these many hits a question overtakes the others in the worker. */
export const MOST_HITS = 1_000;
const BUCKETS = 60;
const SPARK_BUCKETS = 24;
/** In one request, with the histogram. */
export const MOST_FACETS = 31;
const FIELD_NAMES = 1_000;

/** Whether a filter is set: a list, the values of fields, or a text. @param {any} value */
function isSet(value) {
  return Object.keys(value).length > 0;
}

/**
 * The filters of a state.
 * @param {State} state
 * @param {Range} range
 */
export function filtersOf(state, range) {
  /** @type {Record<string, any>} */
  const filters = timeFilters(range);
  for (const { name } of FILTERS) if (isSet(state[name])) filters[name] = state[name];
  return filters;
}

/**
 * What counts, export and search have in common: the question and how it is meant. Where families are named already (`isRanked` is false),
 * it only filters.
 * @param {State} state
 */
export function questionOf(state) {
  const text = state.q.trim();
  const mode = ["dense", "words", "hybrid"].includes(state.mode) ? { mode: state.mode } : {};
  return text === "" ? {} : { text, ...mode, ...(state.isRanked === false ? { rank: false } : {}) };
}

/** What is asked of families that are shown: their lines under all filters, those of the question too. @param {State} state @param {Range} range @param {string[]} families */
function shownFamilies(state, range, families) {
  return { ...questionOf({ ...state, isRanked: false }), filters: { ...filtersOf(state, range), family: families } };
}

/**
 * Whether the answer lists families by how often they came: there is no question, and no family was chosen.
 * @param {State} state
 */
export function isListing(state) {
  return state.q.trim() === "" && !FILTERS.some(({ name, chooses }) => chooses && isSet(state[name]));
}

/** How many hits are asked for. @param {State} state */
export function wanted(state) {
  const count = Number.parseInt(state.k ?? "", 10);
  return Number.isFinite(count) ? Math.min(Math.max(count, 1), MOST_HITS) : HITS;
}

/** @param {State} state @param {Range} range */
export function hitsBody(state, range) {
  const body = { ...questionOf(state), k: wanted(state), filters: filtersOf(state, range) };
  return isListing(state) ? { as: "templates", ...body } : body;
}

/**
 * Lines by the values of each facet ("service", "level", "topic", or "field:NAME"), whatever the facet's own filter is; before them, with
 * `overTime`, lines by time and level.
 * @param {State} state @param {Range} range @param {string[]} facets @param {number} top values of a facet @param {boolean} overTime
 */
export function countsBody(state, range, facets, top, overTime) {
  const by = [...(overTime ? [["time", "level"]] : []), ...facets.map((facet) => [facet])];
  return { ...questionOf(state), by, facets: true, top, ...(overTime ? { buckets: BUCKETS } : {}), filters: filtersOf(state, range) };
}

/**
 * Lines of each of these families over time, and by the fields that are shown with hits which have no line of their own.
 * @param {State} state @param {Range} range @param {string[]} families
 */
export function familiesBody(state, range, families) {
  const columns = isListing(state) ? state.column.slice(0, MOST_FACETS) : [];
  const by = [["time", "family"], ...columns.map((name) => ["family", `field:${name}`])];
  return { ...shownFamilies(state, range, families), by, buckets: SPARK_BUCKETS, top: columns.length > 0 ? 1_000 : families.length };
}

/** Which kept fields there are, and how many lines have each. @param {State} state @param {Range} range */
export function fieldNamesBody(state, range) {
  return { ...questionOf(state), by: ["field"], top: FIELD_NAMES, filters: filtersOf(state, range) };
}

/** The newest lines of one family under the filters. @param {State} state @param {Range} range @param {string} family @param {number} k */
export function newestBody(state, range, family, k) {
  return { ...shownFamilies(state, range, [family]), k };
}

/** The templates of one family under the filters. @param {State} state @param {Range} range @param {string} family */
export function membersBody(state, range, family) {
  return { as: "templates", expand: true, k: 50, ...shownFamilies(state, range, [family]) };
}

/** Everything that matches, for export. @param {State} state @param {Range} range */
export function exportBody(state, range) {
  return { ...questionOf(state), filters: filtersOf(state, range) };
}

/**
 * @param {{topic: string, partition: number, offset: number, sub?: number}} place
 * @param {number} context records on each side, or lines
 * @param {string} by what the lines have in common: "service", "host" or "trace"; "": they are of the partition
 */
export function aroundBody({ topic, partition, offset, sub }, context, by = "") {
  return { around: { topic, partition, offset, before: context, after: context, ...(by !== "" && { by, ...(sub !== undefined && { sub }) }) } };
}

/** "logs/0@123", as the command line names a place. @param {{topic: string, partition: number, offset: number}} place */
export function placeOf({ topic, partition, offset }) {
  return `${topic}/${partition}@${offset}`;
}

/** The place that such a text names; null for anything else. @param {string} text */
export function placeFrom(text) {
  const found = /^([^/@]{1,249})\/(\d{1,9})@(\d{1,16})$/.exec(text);
  return found ? { topic: found[1], partition: Number(found[2]), offset: Number(found[3]) } : null;
}
