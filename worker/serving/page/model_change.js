// The change of the index's model, in one line on the Lag tab: only while the index has two models.

import { el } from "./dom.js";
import { number } from "./format.js";
import { visible } from "./log_text.js";

/** @param {any} change the answer of /api/reindex @returns {any[]} children as for `el`; none with one model */
export function modelChange(change) {
  const preferred = change.views.find((/** @type {any} */ one) => one.preferred);
  const other = change.views.find((/** @type {any} */ one) => !one.preferred);
  if (!preferred || !other) return [];
  const stands = change.error ? [". It stands still: ", visible(change.error)] : [];
  if (other.state === "building") return ["from ", nameOf(preferred), " to ", nameOf(other), ": ", filled(preferred, other), ...stands];
  const own = change.asked === preferred.space ? [] : ["; this worker goes on with ", nameOf(other)];
  const kept = other.state === "dropping" ? [" is being removed"] : [" is kept (roll back or drop with ", el("code", {}, "vectail reindex"), ")"];
  return ["asked: ", nameOf(preferred), "; ", nameOf(other), ...kept, ...own, ...stands];
}

/** @param {any} preferred @param {any} other */
function filled(preferred, other) {
  if (other.templates === null) return "this worker does not have that model";
  return `${number(other.templates)} of ${number(Math.max(preferred.templates ?? 0, other.templates))} templates`;
}

/** @param {any} view */
function nameOf(view) {
  return visible(view.model || `embedding space ${view.space}`);
}
