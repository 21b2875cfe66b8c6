// Numbers, times and spans of time in words; times in the zone of `zone.js`.

import { clockOf } from "./zone.js";

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const STEPS = /** @type {[number, string][]} */ ([[86_400, "d"], [3_600, "h"], [60, "min"], [1, "s"]]);

/** 1234567 → "1,234,567". @param {number} value */
export function number(value) {
  return WHOLE.format(value);
}

/** 1234567 → "1.23M". @param {number} value */
export function compact(value) {
  return Math.abs(value) < 10_000 ? WHOLE.format(value) : SHORT.format(value);
}

/**
 * "1 line", "2 lines".
 * @param {number} value
 * @param {string} one
 * @param {string} [many]
 */
export function plural(value, one, many = `${one}s`) {
  return `${number(value)} ${value === 1 ? one : many}`;
}

/** A share from 0 to 1 as "12.3%"; what is not all never becomes "100%", nor "0%" what is not nothing. @param {number} value */
export function percent(value) {
  const whole = value * 100;
  if (whole > 0 && whole < 0.1) return "<0.1%";
  if (whole >= 99 && whole < 100) return `${Math.min(Math.floor(whole * 100) / 100, 99.99)}%`;
  return `${whole >= 10 || whole === 0 ? Math.round(whole) : whole.toFixed(1)}%`;
}

/** By what something grew, as in "2.5×" without the sign. @param {number} ratio */
export function factor(ratio) {
  return ratio < 10 ? String(Math.round(ratio * 10) / 10) : compact(Math.round(ratio));
}

/** A size in bytes as "1.2 MB". @param {number} value */
export function bytes(value) {
  let left = value;
  for (const unit of ["B", "kB", "MB", "GB", "TB"]) {
    if (left < 1000 || unit === "TB") return `${left >= 100 || unit === "B" ? Math.round(left) : left.toFixed(1)} ${unit}`;
    left /= 1000;
  }
  return "";
}

/** Seconds as "350 ms", "4.2 s", "2 min 30 s", "2 h 5 min", "4 d 3 h". @param {number} seconds @returns {string} */
export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 120) return `${Math.round(seconds)} s`;
  const parts = [];
  let left = Math.round(seconds);
  for (const [length, unit] of STEPS) {
    if (left >= length && parts.length < 2) {
      parts.push(`${Math.floor(left / length)} ${unit}`);
      left %= length;
    }
  }
  return parts.join(" ");
}

/** How long ago, or in how long: "12 s ago", "in 3 min". @param {number} ms @param {number} [now] */
export function relative(ms, now = Date.now()) {
  const seconds = Math.round((now - ms) / 1000);
  if (Math.abs(seconds) < 2) return "just now";
  const age = Math.abs(seconds);
  const text = age < 120 ? `${age} s` : rough(age);
  return seconds > 0 ? `${text} ago` : `in ${text}`;
}

/** @param {number} seconds */
function rough(seconds) {
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  if (seconds < 63_072_000) return `${Math.round(seconds / 86_400)} d`;
  return `${Math.round(seconds / 31_557_600)} years`;
}

/**
 * A time as "2024-05-01 12:00:00.123": sortable, and the same everywhere. Empty parts of a second are left out.
 * @param {number} ms
 * @param {{milliseconds?: boolean}} [how]
 */
export function time(ms, { milliseconds = false } = {}) {
  const at = clockOf(ms);
  if (!Number.isFinite(ms) || Number.isNaN(at.getTime())) return String(ms);
  const clock = `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}:${two(at.getUTCSeconds())}`;
  return `${day(ms)} ${clock}${milliseconds ? `.${String(at.getUTCMilliseconds()).padStart(3, "0")}` : ""}`;
}

/** When something happened, for people: only the clock if it was today, else the day, too. @param {number} ms @param {number} [now] */
export function when(ms, now = Date.now()) {
  return day(ms) === day(now) ? time(ms).slice(11) : time(ms);
}

/** "2024-05-01". @param {number} ms */
export function day(ms) {
  const at = clockOf(ms);
  return `${at.getUTCFullYear()}-${two(at.getUTCMonth() + 1)}-${two(at.getUTCDate())}`;
}

/**
 * A time on an axis or in a row, as short as the span that it is shown in allows.
 * @param {number} ms
 * @param {number} spanMs
 */
export function shortTime(ms, spanMs) {
  const text = time(ms, { milliseconds: spanMs < 10_000 });
  if (spanMs < 10_000) return text.slice(14);
  if (spanMs < 600_000) return text.slice(11, 19);
  if (spanMs < 86_400_000) return text.slice(11, 16);
  if (spanMs < 7 * 86_400_000) return text.slice(5, 16);
  return text.slice(0, 10);
}

/** The value of an `<input type="datetime-local" step="1">`. @param {number} ms */
export function localInput(ms) {
  return time(ms).replace(" ", "T");
}

/**
 * The parts of a text that a question's words match, as [start, end) in order: whole words of two characters and more, case aside.
 * @param {string} text
 * @param {string[]} words
 * @returns {[number, number][]}
 */
export function highlight(text, words) {
  const sought = words.filter((word) => word.length > 1).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (sought.length === 0) return [];
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${sought.sort((a, b) => b.length - a.length).join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return [...text.matchAll(pattern)].slice(0, 200).map((found) => [found.index, found.index + found[0].length]);
}

const COMMON = new Set("a an and are as at be but by did do does for from had has have how i in is it its my not of on or our so that the their there they this to was we were what when where which who why will with you your".split(" "));

/** The words of a question that are worth marking. @param {string} question @returns {string[]} */
export function wordsOf(question) {
  const words = question.split(/[\s,;"'“”„?!()]+/).map((word) => word.replace(/^[.:]+|[.:]+$/g, ""));
  return [...new Set(words.filter((word) => word.length > 1 && !COMMON.has(word.toLowerCase())))].slice(0, 40);
}

/** @param {number} value */
function two(value) {
  return String(value).padStart(2, "0");
}
