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
  try {
    const answer = await ask("/api/counts", { by: ["level"], filters: anyTime }, { signal });
    const { counts } = answer;
    const behind = behindSentence(answer) || arrivingSentence(answer);
    const first = behind ? [`${behind} `] : [];
    if (counts.length > 0) status.say(...first, ...(state.q.trim() ? noFit(state, range, hasTime, hasFilters) : notInTime(range, counts)));
    else if (hasFilters) status.say(...first, "No line passes these filters, at any time. ", clearFilters());
    else status.say(...first, "The index holds no lines yet. They appear some seconds after they reach Kafka; the Lag tab says how far the worker is, the Doctor tab what is missing.");
  } catch (error) {
    if (!signal.aborted) status.say("Nothing found. What there is could not be counted: ask again.");
  }
}

/** @param {any} state @param {import("./range.js").Range} range @param {boolean} hasTime @param {boolean} hasFilters */
function noFit(state, range, hasTime, hasFilters) {
  const wordsOnly = state.mode === "words";
  return [
    hasTime ? `Nothing fits ${range.label}. ` : "Nothing fits. ",
    hasTime && [offer("Search all time", { since: "all", until: "" }), " "],
    wordsOnly && [offer("Search by meaning, too", { mode: "" }), " "],
    hasFilters && [clearFilters(), " "],
    !hasTime && !wordsOnly && !hasFilters && "Try fewer or other words.",
  ];
}

/** @param {import("./range.js").Range} range @param {{lines: number, first: number, last: number}[]} counts of all time */
function notInTime(range, counts) {
  const [first, last] = [Math.min(...counts.map((one) => one.first)), Math.max(...counts.map((one) => one.last))];
  return [
    `No lines ${range.label}. There are ${plural(counts.reduce((sum, one) => sum + one.lines, 0), "line")} from ${time(first)} to ${time(last)} (${relative(last)}). `,
    offer("Show all time", { since: "all", until: "" }),
    " ",
    offerLastHour(last),
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
