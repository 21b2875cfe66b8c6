// What the Lag tab says in words: what is away, what needs attention, or whether the wait gets shorter.

import { el } from "./dom.js";
import { explain } from "./explain.js";
import { plural, time } from "./format.js";

/** What each outlook of a group says, the worst first. */
const OUTLOOKS = /** @type {Record<string, string>} */ ({
  stands_still: "Lines wait to be indexed, and in some partitions nothing was indexed for two minutes.",
  falls_behind: "Lines wait to be indexed, and more of them arrive than are indexed.",
  unknown: "Lines wait to be indexed; how long it takes is not known yet.",
  catches_up: "Lines wait to be indexed, and the wait gets shorter.",
  keeps_up: "Indexing keeps up: what waits came in the last seconds.",
  caught_up: "Everything that Kafka has is indexed.",
});

/**
 * What the status line says: the worst first. Without figures that change each time: a screen reader reads out every new text.
 * @param {any} known
 * @returns {{text: string, children: any[], error: any, kind: string}} `kind` is how bad it is: "", "warning" or "problem"
 */
export function summaryOf(known) {
  const { lag, status, lagError, statusError } = known;
  const signedOut = [lagError, statusError].find((error) => error?.status === 401);
  const error = signedOut ?? (lagError && statusError ? lagError : null);
  if (error) return { text: `broken ${error.code}`, children: [], error, kind: "" };
  const firing = (status?.conditions ?? []).filter((/** @type {any} */ one) => one.state === "firing");
  const away = (status?.dependencies ?? [])
    .filter((/** @type {any} */ one) => one.state === "away" && !(lag?.error && one.name === "kafka"))
    .map((/** @type {any} */ one) => one.name);
  const sentences = [];
  if (lag?.error) {
    const readMs = Math.max(...lag.groups.map((/** @type {any} */ one) => one.read_ms ?? 0), 0) || (lag.groups.length > 0 ? lag.asked_ms : 0);
    const figures = readMs > 0 ? ` The figures below are the last known ones, of ${time(readMs)}.` : " Nothing is known of the groups yet.";
    sentences.push(`Kafka cannot be asked: ${sentence(lag.error)}${figures}`);
  } else if (lagError) sentences.push(`The lag is unknown. ${explain(lagError).what}`);
  if (away.length > 0) sentences.push(`${away.join(", ")} ${away.length === 1 ? "does" : "do"} not answer this worker.`);
  if (firing.length > 0) sentences.push(`${plural(firing.length, "condition")} of this worker need${firing.length === 1 ? "s" : ""} attention.`);
  if (statusError) sentences.push(`This worker's own figures are unknown. ${explain(statusError).what}`);
  if (sentences.length === 0) sentences.push(...calmSentences(lag, status));
  const text = sentences.join(" ");
  const isBad = Boolean(lag?.error || lagError || statusError || away.length || firing.some((/** @type {any} */ one) => one.severity === "critical"));
  const kind = isBad ? "problem" : firing.length > 0 ? "warning" : "";
  return { text, children: kind ? [el("strong", {}, sentences[0]), ` ${sentences.slice(1).join(" ")}`] : [text], error: null, kind };
}

/** @param {any} lag @param {any} status */
function calmSentences(lag, status) {
  if (!lag) return ["Asking Kafka how far behind the groups are …"];
  const groups = lag.groups.filter((/** @type {any} */ one) => one.kind === "logs");
  if (groups.length === 0) return ["No group reads log topics yet: it appears once a worker has joined it."];
  const kinds = new Set(groups.map((/** @type {any} */ one) => one.outlook));
  const kind = Object.keys(OUTLOOKS).find((one) => kinds.has(one)) ?? "unknown";
  const phase = status && status.phase !== "running" ? [`This worker is ${status.phase}.`] : [];
  return [...phase, OUTLOOKS[kind]];
}

/** @param {string} text */
function sentence(text) {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
