// Above what changed on the Templates tab: the services that have clearly more errors than in the time before; a click filters by one.

import { ask } from "./api.js";
import { clear, el } from "./dom.js";
import { compact, factor } from "./format.js";
import { visible } from "./log_text.js";
import { go } from "./state.js";
import { leftOut } from "./template_extras.js";

const ERRORS = ["FATAL", "ERROR"];
const MOST = 5;

/**
 * Show them in a node, which keeps its height until then, and stays empty where they cannot be told now.
 * @param {HTMLElement} node
 * @param {Record<string, any>} body of the question that the list below answers: its words, filters and the time before
 * @param {AbortSignal} signal
 */
export function showWorseServices(node, body, signal) {
  const level = ERRORS.filter((one) => (body.filters.level ?? ERRORS).includes(one) && !body.filters.not_level?.includes(one));
  node.hidden = level.length === 0;
  return leftOut(signal, async () => {
    if (node.hidden) return;
    const filters = { ...body.filters, level };
    const { compare } = await ask("/api/compare", { ...body, filters, by: ["service"], k: MOST }, { signal });
    const worse = compare.filter((/** @type {any} */ one) => one.service && (one.change === "new" || one.change === "up"));
    clear(node, el("span", { class: "quiet" }, worse.length > 0 ? "More errors in" : "No service has clearly more errors."), worse.map(serviceButton));
  });
}

/** @param {any} found a service in both times */
function serviceButton({ service, change, lines, before, ratio }) {
  const how = change === "new" ? `${compact(lines)}, none before` : `${factor(ratio)}×, ${compact(before)} → ${compact(lines)}`;
  return el("button", { type: "button", class: "small", title: `Only ${service}`, onclick: () => go({ service: [service], k: "" }) }, el("bdi", {}, visible(service)), el("span", { class: ["value", change] }, ` ↑ ${how}`));
}
