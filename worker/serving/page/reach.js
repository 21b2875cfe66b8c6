// How far the index is behind, as every answer says it: in a sentence beside what is found, and as a dot at the Lag tab.

import { number, plural, time } from "./format.js";

/** Of this many topics the sentence says when they will have caught up. */
const MOST_NAMED = 3;
const EVENT = "vectail:reach";

/**
 * Return in one sentence how far the index is behind; "" if it is not.
 * @param {any} answer
 */
export function behindSentence(answer) {
  const { behind, behind_records: records, indexed_until_ms: until } = answer;
  if (!behind) return "";
  if (behind.length === 0) return "How far the index is behind is not known: Kafka has not said lately.";
  const largest = [...behind].sort((one, other) => other.behind_records - one.behind_records);
  const named = largest.slice(0, MOST_NAMED).map((one) => `${one.topic}: ${one.outlook_text}`);
  if (behind.length > MOST_NAMED) named.push(`and ${number(behind.length - MOST_NAMED)} topics more`);
  const reached = until === null ? "" : `it is indexed up to ${time(until)}, and `;
  return `Not everything is here yet: ${reached}${plural(records, "record is", "records are")} to come (${named.join("; ")}).`;
}

/**
 * Return why an answer is not complete, in a sentence; "" if it is.
 * @param {any} answer
 * @param {string} cut what to say of one that a bound has cut short
 */
export function whyIncomplete(answer, cut) {
  return answer.complete === false ? behindSentence(answer) || cut : "";
}

/** Return how many records are on their way, for an answer that holds nothing and is not behind; "" if none is known. @param {any} answer */
export function arrivingSentence({ behind, behind_records: records }) {
  return behind || !records ? "" : `${plural(records, "record is", "records are")} on the way from Kafka.`;
}

/** Tell the page what an answer says of it. @param {any} answer */
export function noteReach(answer) {
  if ("behind_records" in answer) document.dispatchEvent(new CustomEvent(EVENT, { detail: answer.behind !== undefined }));
}

/** @param {(isBehind: boolean) => void} changed */
export function onReach(changed) {
  document.addEventListener(EVENT, (event) => changed(/** @type {CustomEvent} */ (event).detail));
}
