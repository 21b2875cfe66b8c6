// The list of hits: rows that stay as they are while more come, the keys that walk over them, and the small charts that arrive later.

import { clear, el, svg } from "./dom.js";
import { wordsOf } from "./format.js";
import { areLines } from "./exact.js";
import { hitOfFamily, hitOfLine, hitOfOneLine, hitRow } from "./hit.js";
import { fieldText } from "./line_fields.js";

/** @typedef {import("./hit.js").HitRow} HitRow */

/** Of a column, for a family. */
const FIRST_VALUES = 3;

/**
 * @returns {{node: HTMLElement, show: (answer: any, context: any, isMore: boolean) => void, settle: () => void, isEmpty: () => boolean, redraw: () => void, families: () => string[],
 *   setCounts: (groups: any[], range: any) => void, setColumns: (names: string[]) => void, fieldNames: () => string[], move: (step: number) => void,
 *   current: () => HitRow | null, wait: (isNew: boolean) => void, closeAll: () => boolean, clear: () => void}}
 */
export function results() {
  const list = el("ol", { class: "hits", "aria-label": "Hits" });
  /** @type {Map<string, HitRow>} */
  let rows = new Map();
  /** @type {HitRow[]} */
  let shown = [];
  /** Counts by family and a column. @type {any[]} */
  let columnCounts = [];

  /** @param {any} answer @param {any} context @param {boolean} isMore the same question again, with more hits */
  function show(answer, context, isMore) {
    const hits = answer.hits ? answer.hits.map(areLines(context.state, answer) ? hitOfOneLine : hitOfLine) : answer.templates.map(hitOfFamily);
    const best = Math.max(0, ...hits.map((/** @type {any} */ hit) => hit.score ?? 0));
    const before = isMore ? rows : new Map();
    const words = wordsOf(context.state.q);
    if (!isMore) for (const row of rows.values()) row.close();
    rows = new Map(hits.map((/** @type {any} */ hit) => [hit.key, before.get(hit.key) ?? hitRow(hit, { words, best, context: { ...context, words } })]));
    for (const [key, row] of before) if (!rows.has(key)) row.close();
    settle();
  }

  /** Nothing is waited for any more. */
  function settle() {
    list.classList.remove("waiting");
    list.removeAttribute("aria-busy");
  }

  function redraw() {
    const focused = document.activeElement;
    const place = shown.findIndex((row) => row.node.contains(focused));
    shown = [...rows.values()];
    clear(list, shown.map((row) => row.node));
    if (place >= 0) (shown.find((row) => row.node.contains(focused)) ? /** @type {HTMLElement} */ (focused) : shown[Math.min(place, shown.length - 1)]?.button)?.focus();
  }

  /** @param {any[]} groups counts by time and family; then counts by family and each column @param {any} range */
  function setCounts([answer, ...byColumn], range) {
    columnCounts = byColumn;
    const bucketMs = answer.bucket_ms;
    if (!bucketMs) return;
    const times = answer.counts.map((/** @type {any} */ one) => one.time);
    const since = Math.floor((range.since_ms ?? Math.min(...times)) / bucketMs) * bucketMs;
    const until = Math.max(...times, range.until_ms === null ? (range.since_ms === null ? 0 : Date.now()) : range.until_ms - 1);
    const buckets = Math.floor((until - since) / bucketMs) + 1;
    /** @type {Map<string, any[]>} */
    const byFamily = new Map();
    for (const one of answer.counts) byFamily.set(one.family, [...(byFamily.get(one.family) ?? []), one]);
    for (const row of rows.values()) {
      const counts = byFamily.get(row.hit.family);
      if (!counts || row.hit.isLine) continue;
      const chart = sparkBars(new Map(counts.map((one) => [one.time, one.lines])), { since, buckets, bucketMs });
      row.setSpark(chart, Math.min(...counts.map((one) => one.first)), Math.max(...counts.map((one) => one.last)));
    }
  }

  /** Show what each hit has in these fields. @param {string[]} names */
  function setColumns(names) {
    for (const row of rows.values()) row.setColumns(names.map((name) => /** @type {[string, string]} */ ([name, valueOf(row.hit, name)])).filter(([, value]) => value !== ""));
  }

  /** The value of a hit's line; of a family the most frequent ones. @param {import("./hit.js").Hit} hit @param {string} name */
  function valueOf(hit, name) {
    const fields = hit.line?.fields;
    if (hit.line) return fields && Object.hasOwn(fields, name) ? fieldText(fields[name]) : "";
    const counts = columnCounts.find(({ by }) => by.includes(`field:${name}`))?.counts ?? [];
    const values = counts.filter((/** @type {any} */ one) => one.family === hit.family && one[`field:${name}`] !== "").map((/** @type {any} */ one) => one[`field:${name}`]);
    return values.length > FIRST_VALUES ? `${values.slice(0, FIRST_VALUES).join(", ")} …` : values.join(", ");
  }

  /** @param {number} step */
  function move(step) {
    if (shown.length === 0) return;
    const place = shown.findIndex((row) => row.node.contains(document.activeElement));
    const next = place < 0 ? (step > 0 ? 0 : shown.length - 1) : Math.min(Math.max(place + step, 0), shown.length - 1);
    shown[next].button.focus({ preventScroll: true });
    shown[next].node.scrollIntoView({ block: "nearest" });
  }

  return {
    node: list, show, settle, redraw, setCounts, setColumns, move,
    isEmpty: () => rows.size === 0,
    families: () => [...new Set(shown.filter((row) => !row.hit.isLine).map((row) => row.hit.family).filter(Boolean))].slice(0, 100),
    fieldNames: () => fieldNamesOf([...rows.values()].map((row) => row.hit.line)),
    current: () => shown.find((row) => row.node.contains(document.activeElement)) ?? null,
    wait(isNew) {
      list.setAttribute("aria-busy", "true");
      if (isNew && rows.size === 0) clear(list, Array.from({ length: 5 }, () => el("li", { class: "card skeleton", "aria-hidden": "true" })));
      else list.classList.add("waiting");
    },
    closeAll() {
      const open = shown.filter((row) => row.isOpen());
      open.forEach((row) => row.toggle(false));
      return open.length > 0;
    },
    clear() {
      for (const row of rows.values()) row.close();
      rows = new Map();
      shown = [];
      clear(list);
      settle();
    },
  };
}

/** The names of the kept fields of some lines, the most frequent first. @param {any[]} lines @returns {string[]} */
function fieldNamesOf(lines) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const line of lines) {
    if (!line?.fields || typeof line.fields !== "object") continue;
    for (const name of Object.keys(line.fields)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 200).map(([name]) => name);
}

/**
 * A small chart of counts over time: one bar a bucket, no axis. What it shows is said in words beside it.
 * @param {Map<number, number>} counts lines by the bucket's begin
 * @param {{since: number, buckets: number, bucketMs: number, most?: number}} scale
 * @returns {SVGElement}
 */
function sparkBars(counts, { since, buckets, bucketMs, most = 0 }) {
  const highest = most || Math.max(1, ...counts.values());
  const bars = [...counts].map(([at, lines]) => {
    const height = Math.max((lines / highest) * 22, 1.5);
    return svg("rect", { x: Math.round((at - since) / bucketMs) * 4, y: 24 - height, width: 3, height });
  });
  return svg("svg", { class: "spark", viewBox: `0 0 ${buckets * 4} 24`, preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" }, bars);
}
