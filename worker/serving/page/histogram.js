// Lines over time, stacked by level. A part is chosen with the pointer (drag), or with the keyboard: it is a slider whose value is a bucket;
// Shift with the arrows marks several, Enter asks for them. The same figures are there as a table.

import { clear, el, svg } from "./dom.js";
import { compact, number, plural, shortTime, time } from "./format.js";
import { zoneOffset } from "./zone.js";

export const LEVELS = ["FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE", ""];
const HEIGHT = 100;

/** @typedef {{at: number, total: number, levels: Record<string, number>}} Bucket */
/** @typedef {{since: number, bucketMs: number, buckets: Bucket[], levels: Record<string, number>, total: number}} Series */

/**
 * Make counts by time and level a series without gaps.
 * @param {any} answer of /api/counts
 * @param {{since_ms: number | null, until_ms: number | null}} range
 * @returns {Series}
 */
export function seriesOf(answer, range) {
  const bucketMs = answer.bucket_ms ?? 1_000;
  const times = answer.counts.map((/** @type {any} */ one) => one.time);
  const down = (/** @type {number} */ ms) => Math.floor(ms / bucketMs) * bucketMs;
  let first = Math.min(...times, ...(range.since_ms === null ? [] : [down(range.since_ms)]));
  let last = Math.max(...times, ...(range.until_ms === null ? (range.since_ms === null ? [] : [down(Date.now())]) : [down(range.until_ms - 1)]));
  if (times.length === 0) first = last = 0;
  const count = Math.min(Math.round((last - first) / bucketMs) + 1, 1_001);
  /** @type {Bucket[]} */
  const buckets = Array.from({ length: count }, (_, place) => ({ at: first + place * bucketMs, total: 0, levels: {} }));
  /** @type {Record<string, number>} */
  const levels = {};
  let total = 0;
  for (const { time: at, level, lines } of answer.counts) {
    const bucket = buckets[Math.round((at - first) / bucketMs)];
    if (!bucket) continue;
    const known = LEVELS.includes(level) ? level : "";
    bucket.levels[known] = (bucket.levels[known] ?? 0) + lines;
    bucket.total += lines;
    levels[known] = (levels[known] ?? 0) + lines;
    total += lines;
  }
  return { since: first, bucketMs, buckets, levels, total };
}

/**
 * Make the chart.
 * @param {(sinceMs: number, untilMs: number) => void} choose called with the part that was chosen
 * @returns {{node: HTMLElement, draw: (series: Series, note?: string) => void, wait: () => void, fail: (text: string) => void}}
 */
export function histogram(choose) {
  /** @type {Series | null} */
  let series = null;
  let cursor = 0;
  let anchor = 0;
  /** @type {{from: number, to: number} | null} */
  let marked = null;
  const bars = svg("g");
  const brush = svg("rect", { class: "brush", y: 0, height: HEIGHT, x: 0, width: 0 });
  const chart = svg("svg", { class: "bars", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false" }, bars, brush);
  const plot = el("div", { class: "plot", role: "slider", tabindex: 0, "aria-label": "Part of the time", "aria-describedby": "plot-help", "aria-valuemin": 0, "aria-valuemax": 0, "aria-valuenow": 0 }, chart);
  const axis = el("div", { class: "axis quiet", "aria-hidden": "true" });
  const legend = el("ul", { class: "legend" });
  const reading = el("p", { class: "reading quiet" });
  const help = el("p", { id: "plot-help", class: "visually-hidden" }, "Arrow keys move, Shift with arrow keys marks, Enter asks for what is marked, Escape unmarks.");
  const table = el("div", { class: "table-wrap", tabindex: 0, role: "region", "aria-label": "Table of lines over time" });
  const asTable = el("details", { class: "as-table", ontoggle: drawTable }, el("summary", {}, "As a table"), table);
  const node = el("section", { class: "card histogram", "aria-label": "Lines over time" }, el("div", { class: "row" }, legend, reading), plot, axis, help, asTable);

  /** @param {PointerEvent} event */
  function placeOf(event) {
    const box = plot.getBoundingClientRect();
    const count = series?.buckets.length ?? 1;
    return Math.min(Math.max(Math.floor(((event.clientX - box.left) / box.width) * count), 0), count - 1);
  }

  /** @param {number} from @param {number} to */
  function mark(from, to) {
    marked = { from: Math.min(from, to), to: Math.max(from, to) };
    brush.setAttribute("x", String(marked.from));
    brush.setAttribute("width", String(marked.to - marked.from + 1));
    say(marked.from, marked.to);
  }

  function unmark() {
    marked = null;
    brush.setAttribute("width", "0");
    reading.textContent = series && series.total > 0 ? `${perBucket(series)} a bar, ${zoneOffset(series.since)} · drag to zoom` : "";
  }

  /** @param {number} from @param {number} to */
  function say(from, to) {
    if (!series) return;
    const parts = series.buckets.slice(from, to + 1);
    const span = series.buckets.length * series.bucketMs;
    const sum = parts.reduce((all, one) => all + one.total, 0);
    const levels = LEVELS.map((level) => [level, parts.reduce((all, one) => all + (one.levels[level] ?? 0), 0)]).filter(([, lines]) => lines);
    const text = `${shortTime(parts[0].at, span)} – ${shortTime(series.since + (to + 1) * series.bucketMs, span)}: ${plural(sum, "line")}`;
    const detail = levels.map(([level, lines]) => `${level || "no level"} ${number(/** @type {number} */ (lines))}`).join(", ");
    reading.textContent = detail ? `${text} (${detail})` : text;
    plot.setAttribute("aria-valuenow", String(cursor));
    plot.setAttribute("aria-valuetext", `${time(parts[0].at)}: ${reading.textContent}`);
  }

  function take() {
    if (!series || !marked) return;
    choose(series.since + marked.from * series.bucketMs, series.since + (marked.to + 1) * series.bucketMs);
  }

  plot.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    if (event.button !== 0 || !series?.total) return;
    plot.setPointerCapture(event.pointerId);
    anchor = cursor = placeOf(event);
    mark(anchor, cursor);
  });
  plot.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (!series?.total) return;
    if (plot.hasPointerCapture(event.pointerId)) mark(anchor, (cursor = placeOf(event)));
    else if (!marked) say(placeOf(event), placeOf(event));
  });
  plot.addEventListener("pointerup", (/** @type {PointerEvent} */ event) => {
    if (!plot.hasPointerCapture(event.pointerId)) return;
    plot.releasePointerCapture(event.pointerId);
    if (marked && marked.from < marked.to) take();
    else unmark();
  });
  plot.addEventListener("pointercancel", unmark);
  plot.addEventListener("pointerleave", () => marked || unmark());
  plot.addEventListener("blur", unmark);
  plot.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (!series?.total || event.ctrlKey || event.altKey || event.metaKey) return;
    const last = series.buckets.length - 1;
    const moves = /** @type {Record<string, number>} */ ({ ArrowLeft: cursor - 1, ArrowRight: cursor + 1, ArrowDown: cursor - 1, ArrowUp: cursor + 1, PageDown: cursor - 10, PageUp: cursor + 10, Home: 0, End: last });
    if (event.key in moves) {
      cursor = Math.min(Math.max(marked ? moves[event.key] : event.key === "Home" ? 0 : event.key === "End" ? last : cursor, 0), last);
      if (!event.shiftKey) anchor = cursor;
      mark(anchor, cursor);
    } else if (event.key === "Enter" && marked) take();
    else if (event.key === "Escape" && marked) unmark();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  function drawTable() {
    if (!asTable.open || !series) return;
    const { bucketMs } = series;
    const shown = LEVELS.filter((level) => series?.levels[level]);
    const rows = series.buckets.filter((one) => one.total > 0).map((one) =>
      el("tr", {},
        el("th", { scope: "row" }, el("button", { type: "button", class: "link", onclick: () => choose(one.at, one.at + bucketMs) }, time(one.at))),
        el("td", { class: "num" }, number(one.total)),
        shown.map((level) => el("td", { class: "num" }, number(one.levels[level] ?? 0)))),
    );
    const head = ["From", "Lines", ...shown.map((level) => level || "no level")].map((name, place) => el("th", { scope: "col", class: place > 0 && "num" }, name));
    clear(table, el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
  }

  return {
    node,
    draw(found, note = "") {
      series = found;
      cursor = Math.min(cursor, found.buckets.length - 1);
      node.classList.remove("waiting");
      node.hidden = found.total === 0;
      chart.setAttribute("viewBox", `0 0 ${found.buckets.length} ${HEIGHT}`);
      clear(bars, barsOf(found));
      plot.setAttribute("aria-valuemax", String(found.buckets.length - 1));
      plot.setAttribute("aria-valuetext", found.total > 0 ? `${plural(found.total, "line")}, ${plural(found.buckets.length, "bar")}` : "no lines");
      clear(axis, axisOf(found));
      clear(legend, el("li", {}, el("strong", {}, compact(found.total)), ` ${found.total === 1 ? "line" : "lines"}${note && ` ${note}`}`), LEVELS.filter((level) => found.levels[level]).map((level) =>
        el("li", { "data-level": level }, el("span", { class: "swatch", "aria-hidden": "true" }), level || "no level", " ", el("span", { class: "quiet" }, compact(found.levels[level])))));
      unmark();
      drawTable();
    },
    wait: () => node.classList.add("waiting"),
    fail(text) {
      series = null;
      node.hidden = text === "";
      node.classList.remove("waiting");
      for (const part of [bars, axis, legend, table]) clear(part);
      reading.textContent = text;
    },
  };
}

/**
 * The worst levels stand at the bottom, where their course can be read, and are never too few to be seen.
 * @param {Series} series
 */
function barsOf({ buckets }) {
  const highest = Math.max(1, ...buckets.map((one) => one.total));
  return buckets.flatMap((bucket, place) => {
    let y = HEIGHT;
    return LEVELS.filter((level) => bucket.levels[level]).map((level) => {
      const height = Math.max((bucket.levels[level] / highest) * (HEIGHT - 8), 1.5);
      y -= height;
      return svg("rect", { "data-level": level, x: place + 0.06, y, width: 0.88, height });
    });
  });
}

/** @param {Series} series */
function axisOf({ since, bucketMs, buckets, total }) {
  if (total === 0) return [];
  const span = buckets.length * bucketMs;
  const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => shortTime(since + share * span, span));
  return steps.map((text, place) => el("span", { class: place % 2 === 1 && "extra" }, text));
}

/** @param {Series} series */
function perBucket({ bucketMs }) {
  for (const [length, unit] of /** @type {[number, string][]} */ ([[86_400_000, "d"], [3_600_000, "h"], [60_000, "min"], [1_000, "s"]])) {
    if (bucketMs >= length) return `${bucketMs / length} ${unit}`;
  }
  return `${bucketMs} ms`;
}
