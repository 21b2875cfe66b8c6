// What a field is like, above its values: how many lines have it, and of its numbers the least, the greatest and percentiles.

import { el } from "./dom.js";
import { number, percent, plural } from "./format.js";

const FIGURES = /** @type {[string, string][]} */ ([["min", "the least"], ["p50", "half of the lines have at most this"], ["p95", "95 % of the lines have at most this"], ["p99", "99 % of the lines have at most this"], ["max", "the greatest"]]);
const SHORT = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const COMPACT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });
const FULL = new Intl.NumberFormat("en", { maximumSignificantDigits: 17 });

/**
 * @param {any} found the statistics of a count by this field
 * @returns {any[]}
 */
export function fieldFigures({ lines, with_value, numbers }) {
  const share = el("p", { class: "quiet" }, `in ${number(with_value)} of ${plural(lines, "line")}${lines > 0 ? `, ${percent(with_value / lines)}` : ""}`);
  if (numbers === null) return [share];
  const of = numbers.lines === with_value ? "" : `${number(numbers.lines)} of them are numbers`;
  const within = numbers.error > 0 ? `percentiles within ${percent(numbers.error)}` : "";
  const note = [of, within].filter(Boolean).join("; ");
  return [
    share,
    note && el("p", { class: "quiet" }, note),
    el("dl", { class: "numbers" }, FIGURES.map(([name, means]) => el("div", { title: `${name}, ${means}: ${FULL.format(numbers[name])}` }, el("dt", { class: "quiet" }, name), el("dd", { class: "num" }, short(numbers[name]))))),
  ];
}

/** @param {number} value */
function short(value) {
  return (Math.abs(value) < 100_000 ? SHORT : COMPACT).format(value);
}

/**
 * Why a count by a field does not say everything; "" if it does.
 * @param {any} answer
 */
export function whyFieldIsCut({ complete, statistics }) {
  if (complete) return "";
  if (!statistics?.all_values) return "It has more values than are counted one by one: the most frequent may be missing.";
  return `Of the ${plural(statistics.lines, "line")} that could be read in time; there are more.`;
}
