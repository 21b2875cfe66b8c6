// Which two windows of time are compared, the one that is shown and one before it, and in which order changes are shown.

import { duration, time } from "./format.js";
import { LEVELS } from "./histogram.js";
import { rangeOf } from "./range.js";

const DAY_MS = 86_400_000;

/** @typedef {{since_ms: number, until_ms: number}} Window */

/** What the window can be compared with, by its name in the address. @type {[string, string][]} */
export const AGAINST = [
  ["", "the time before it"],
  ["day", "the same time a day before"],
  ["week", "the same time a week before"],
  ["all", "everything before it"],
  ["other", "another time …"],
];

/**
 * Return which list is shown: of what changed, but for all time, which has nothing before it.
 * @param {any} state
 * @returns {string} "changed", "new", "up", "down", "gone" or "frequent"
 */
export function shownList(state) {
  return state.show || (rangeOf(state).since_ms === null ? "frequent" : "changed");
}

/**
 * Return the two windows; a text says why there are none.
 * @param {Record<string, any>} state
 * @param {{since_ms: number | null, until_ms: number | null}} range the window that is shown
 * @param {number} now
 * @returns {{now: Window, before: Window} | string}
 */
export function windowsOf({ against = "", before = "", before_until = "" }, range, now) {
  if (range.since_ms === null) return "All time has nothing before it to compare with. Choose a time that begins somewhere.";
  const since_ms = range.since_ms;
  const until_ms = range.until_ms ?? now;
  if (until_ms <= since_ms) return "This time ends before it begins.";
  const shown = { since_ms, until_ms };
  if (against === "all") return { now: shown, before: { since_ms: 0, until_ms: since_ms } };
  if (against === "other") return otherWindow(shown, Number(before), Number(before_until));
  const back = against === "day" ? DAY_MS : against === "week" ? 7 * DAY_MS : until_ms - since_ms;
  return { now: shown, before: { since_ms: since_ms - back, until_ms: until_ms - back } };
}

/** @param {Window} shown @param {number} since_ms @param {number} until_ms */
function otherWindow(shown, since_ms, until_ms) {
  if (!since_ms || !until_ms) return "Say with which time to compare: from when, and until when.";
  if (until_ms <= since_ms) return "The time to compare with ends before it begins.";
  return { now: shown, before: { since_ms, until_ms } };
}

/** Say in words what a window is compared with. @param {string} against @param {Window} before */
export function namedBefore(against, before) {
  if (against === "all") return `everything before ${time(before.until_ms)}`;
  if (against === "day" || against === "week") return `the same time a ${against} before`;
  if (against === "other") return `${time(before.since_ms)} to ${time(before.until_ms)}`;
  const long = duration((before.until_ms - before.since_ms) / 1000);
  return `the ${/** @type {Record<string, string>} */ ({ "1 h": "hour", "1 d": "day", "7 d": "week" })[long] ?? long} before`;
}

/**
 * Return the families of one change; of all of them the most severe first, and of one level what is new before what rises, is gone or falls.
 * @param {any[]} changes in the order of the worker: by change, then by level and by how sure it is
 * @param {string} show
 */
export function changesOf(changes, show) {
  if (show !== "changed") return changes.filter((one) => one.change === show);
  const severity = (/** @type {any} */ one) => (LEVELS.indexOf(one.level) + LEVELS.length) % LEVELS.length;
  const order = ["new", "up", "gone", "down"];
  return [...changes].sort((one, other) => severity(one) - severity(other) || order.indexOf(one.change) - order.indexOf(other.change));
}
