// What the search tab says of an answer: what is shown, how long it took, or why there is nothing and what to try.

import { ask } from "./api.js";
import { el } from "./dom.js";
import { duration, plural, relative, time } from "./format.js";
import { isExact } from "./exact.js";
import { arrivingSentence, behindSentence, whyIncomplete } from "./reach.js";
import { filtersOf, isListing, wanted } from "./search_request.js";
import { go, NO_FILTERS } from "./state.js";

/**
 * @param {any} state
 * @param {any} answer
 * @param {import("./range.js").Range} range
 * @param {boolean} isWidened whether the last hour held nothing
 * @param {number} tookMs
 * @returns {string[]} sentences
 */
export function found(state, answer, range, isWidened, tookMs) {
  const count = (answer.hits ?? answer.templates).length;
  const took = `Answered in ${duration(tookMs / 1000)}.`;
  const widened = isWidened ? ["There is nothing in the last hour."] : [];
  const cut = [whyIncomplete(answer, "Not everything could be read in time: there may be more.")].filter(Boolean);
  if (count === 0) return ["Nothing found."];
  if (isListing(state)) {
    const rising = range.since_ms === null || answer.begins_ms !== undefined ? "" : "then what is new or rises, ";
    const young = answer.begins_ms === undefined ? [] : [`The index begins at ${time(answer.begins_ms)}, too late to call anything new.`];
    return [`Errors first, ${rising}then the most frequent families, ${range.label}.`, ...young, ...widened, ...cut, took];
  }
  if (state.q.trim() === "") return [`The newest ${plural(count, "line")} ${range.label}.`, ...widened, ...cut, took];
  if (isExact(state, answer)) return [`${plural(count, "line has", "lines have")} it${count >= wanted(state) ? " at least: these are the newest" : ""}, ${range.label}.`, ...widened, ...cut, took];
  const families = new Set(answer.hits.map((/** @type {any} */ hit) => hit.family ?? hit.id)).size;
  const what = families === count ? `${plural(count, "family", "families")} of lines that ${count === 1 ? "fits" : "fit"} best` : plural(count, "line");
  const close = answer.nothing_close ? ["Nothing close to this is in the index. What is shown is the nearest, and may have nothing to do with it."] : [`${what}, ${range.label}.`];
  return [...close, ...widened, ...cut, took];
}

/**
 * Say why there is nothing, and offer what would find something.
 * @param {any} state
 * @param {import("./range.js").Range} range
 * @param {import("./status.js").StatusLine} status
 * @param {AbortSignal} signal
 */
export async function nothingFound(state, range, status, signal) {
  const anyTime = filtersOf(state, { ...range, since_ms: null, until_ms: null });
  const hasFilters = Object.keys(anyTime).length > 0;
  const hasTime = range.since_ms !== null || range.until_ms !== null;
  const count = (/** @type {any} */ filters) => ask("/api/counts", { by: ["level"], filters }, { signal });
  try {
    const answer = await count(filtersOf(state, range));
    const behind = behindSentence(answer) || arrivingSentence(answer);
    const first = behind ? [`${behind} `] : [];
    if (answer.counts.length > 0) return status.say(...first, ...noFit(state, range, answer, hasFilters));
    const { counts } = hasTime ? await count(anyTime) : answer;
    if (counts.length > 0) status.say(...first, ...notInTime(range, counts, hasFilters));
    else if (hasFilters) status.say(...first, "No line passes these filters, at any time. ", clearFilters());
    else status.say(...first, "The index holds no lines yet. They appear some seconds after they reach Kafka; the Lag tab says how far the worker is, the Doctor tab what is missing.");
  } catch (error) {
    if (!signal.aborted) status.say("Nothing found. What there is could not be counted: ask again.");
  }
}

/**
 * Lines were looked at, and none of them fits.
 * @param {any} state @param {import("./range.js").Range} range @param {any} answer counts of these lines @param {boolean} hasFilters
 */
function noFit(state, range, { counts, complete, behind }, hasFilters) {
  const lines = sum(counts);
  const begin = Math.min(...counts.map((/** @type {any} */ one) => one.first));
  const isYoung = range.since_ms !== null && begin - range.since_ms > ((range.until_ms ?? Date.now()) - range.since_ms) / 2;
  const wordsOnly = state.mode === "words";
  const hasTime = range.since_ms !== null || range.until_ms !== null;
  return [
    `Nothing fits among the ${plural(lines, "line")}${complete || behind ? "" : " or more"} ${range.label}${hasFilters ? " that pass the filters" : ""}${isYoung ? `, the first of which is of ${time(begin)}` : ""}. `,
    hasTime && [offer("Search all time", { since: "all", until: "" }), " "],
    wordsOnly && [offer("Search by meaning, too", { mode: "" }), " "],
    hasFilters && [clearFilters(), " "],
    !hasTime && !wordsOnly && !hasFilters && "Try fewer or other words.",
  ];
}

/** @param {{lines: number}[]} counts */
function sum(counts) {
  return counts.reduce((all, one) => all + one.lines, 0);
}

/** @param {import("./range.js").Range} range @param {{lines: number, first: number, last: number}[]} counts of all time @param {boolean} hasFilters */
function notInTime(range, counts, hasFilters) {
  const [first, last] = [Math.min(...counts.map((one) => one.first)), Math.max(...counts.map((one) => one.last))];
  return [
    `No line ${range.label}${hasFilters ? " passes the filters" : ""}. There ${sum(counts) === 1 ? "is" : "are"} ${plural(sum(counts), "line")} at other times, from ${time(first)} to ${time(last)} (${relative(last)}). `,
    offer("Show all time", { since: "all", until: "" }),
    " ",
    offerLastHour(last),
    hasFilters && [" ", clearFilters()],
  ];
}

/**
 * The button that shows the hour before the newest line.
 * @param {number} last when that line was logged
 */
export function offerLastHour(last) {
  return offer("Show the last hour that has lines", { since: String(last - 3_600_000), until: String(last + 1) });
}

function clearFilters() {
  return offer("Clear the filters", NO_FILTERS);
}

/** @param {string} text @param {Record<string, any>} changes */
function offer(text, changes) {
  return el("button", { type: "button", class: "small", onclick: () => go({ ...changes, k: "" }) }, text);
}
