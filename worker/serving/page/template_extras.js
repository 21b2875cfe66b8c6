// What the rows of the Templates tab get after they are there: a small chart, a share of all lines, and what was before.
//
// None of it is worth an error: what cannot be read now is left out.

import { ask, ApiError } from "./api.js";

const BUCKETS = 30;
/** A query can name this many families. */
const MOST_FAMILIES = 100;
const DAY_MS = 86_400_000;

/** @typedef {ReturnType<typeof import("./template_rows.js").templateRow>} Row */
/**
 * @typedef {{filters: Record<string, any>, q: string, now: number, signal: AbortSignal}} How under which filters, with which words (of which
 * only the operators count here: the families are known), and what time it is
 */

/**
 * Draw the chart of each row, over the time of the filters.
 * @param {Row[]} rows
 * @param {How} how
 */
export function showCharts(rows, { filters, q, now, signal }) {
  return leftOut(signal, async () => {
    for (const some of parts(rows)) {
      const body = { by: ["time", "family"], buckets: BUCKETS, top: some.length, filters: { ...filters, family: some.map((row) => row.family) }, ...operatorsOf(q) };
      const answer = await ask("/api/counts", body, { signal });
      const grid = gridOf(answer, filters, now);
      for (const row of some) row.showCounts(grid(row.family));
    }
  });
}

/**
 * Show each row's share of all lines.
 * @param {Row[]} rows
 * @param {How} how
 */
export function showShares(rows, { filters, signal }) {
  return leftOut(signal, async () => {
    const { counts } = await ask("/api/counts", { by: ["level"], filters }, { signal });
    const total = counts.reduce((/** @type {number} */ sum, /** @type {any} */ one) => sum + one.lines, 0);
    for (const row of rows) row.showShare(total);
  });
}

/**
 * Say of each row when it was first seen, also before the time that is shown, whether it is new in it, and how often it came in the same
 * length of time before.
 * @param {Row[]} rows
 * @param {any[]} families what the rows were made of
 * @param {How} how
 */
export function showBefore(rows, families, { filters, now, signal }) {
  return leftOut(signal, async () => {
    const { since_ms, until_ms, ...others } = filters;
    if (since_ms === undefined) {
      const hasOld = families.some((one) => one.first < now - DAY_MS);
      rows.forEach((row, place) => row.showBefore({ first: families[place].first, isNew: hasOld && families[place].first >= now - DAY_MS, ratio: null }));
      return;
    }
    const span = (until_ms ?? now) - since_ms;
    const { counts } = await ask("/api/counts", { by: ["level"], top: 1, filters: { until_ms: Math.round(since_ms - span / 2) } }, { signal });
    const isOld = counts.length > 0; // in an index that is hardly older than the time that is shown, everything would be new
    for (const some of parts(rows)) {
      const of = { ...others, until_ms: since_ms, family: some.map((row) => row.family) };
      const { templates, complete } = await ask("/api/templates", { k: some.length, filters: of }, { signal });
      const justBefore = await ask("/api/counts", { by: ["family"], top: some.length, filters: { ...of, since_ms: Math.round(since_ms - span) } }, { signal });
      const first = new Map(templates.map((/** @type {any} */ one) => [one.family, one.first]));
      const lines = new Map(justBefore.counts.map((/** @type {any} */ one) => [one.family, one.lines]));
      for (const row of some) {
        const before = lines.get(row.family) ?? 0;
        row.showBefore({
          first: first.get(row.family) ?? null,
          isNew: isOld && complete && !first.has(row.family),
          ratio: isOld && before > 0 ? row.lines / before : null,
        });
      }
    }
  });
}

/** @param {string} q */
function operatorsOf(q) {
  return q.trim() === "" ? {} : { text: q.trim(), rank: false };
}

/** Do what the list is whole without: that it cannot be answered is no reason for an error. @param {AbortSignal} signal @param {() => Promise<void>} work */
export async function leftOut(signal, work) {
  try {
    await work();
  } catch (error) {
    if (signal.aborted || !(error instanceof ApiError)) throw error;
  }
}

/** @param {Row[]} rows @returns {Row[][]} */
function parts(rows) {
  const some = [];
  for (let place = 0; place < rows.length; place += MOST_FAMILIES) some.push(rows.slice(place, place + MOST_FAMILIES));
  return some;
}

/**
 * Return what gives a family's counts, one for each bucket of the whole time, those without lines too.
 * @param {any} answer @param {Record<string, any>} filters @param {number} now
 * @returns {(family: string) => number[]}
 */
function gridOf(answer, filters, now) {
  const width = answer.bucket_ms;
  const times = answer.counts.map((/** @type {any} */ one) => one.time);
  const from = Math.floor((filters.since_ms ?? Math.min(...times)) / width);
  const until = Math.ceil((filters.until_ms ?? (filters.since_ms === undefined ? Math.max(...times) + 1 : now)) / width);
  const buckets = Number.isFinite(until - from) ? Math.min(Math.max(until - from, 1), 4 * BUCKETS) : 1;
  /** @type {Map<string, number[]>} */
  const counts = new Map();
  for (const { time, family, lines } of answer.counts) {
    const row = counts.get(family) ?? new Array(buckets).fill(0);
    const place = Math.floor(time / width) - from;
    if (place >= 0 && place < buckets) row[place] += lines;
    counts.set(family, row);
  }
  return (family) => counts.get(family) ?? new Array(buckets).fill(0);
}
