// The filters that hold, each with a button that takes it away.

import { clear, el } from "./dom.js";
import { FILTERS } from "./filters.js";
import { visible } from "./log_text.js";
import { go, NO_FILTERS } from "./state.js";

/** @returns {{node: HTMLElement, update: (state: any) => void}} */
export function filterChips() {
  const node = el("ul", { class: "row chips", "aria-label": "Filters" });
  return {
    node,
    update(state) {
      const chips = FILTERS.flatMap((filter) => chipsOf(filter, state[filter.name]));
      if (chips.length > 1) chips.push(el("li", {}, el("button", { type: "button", class: "small", onclick: () => go({ ...NO_FILTERS, k: "" }) }, "Clear all")));
      const hadFocus = node.contains(document.activeElement);
      clear(node, chips);
      if (hadFocus) node.querySelector("button")?.focus();
      node.hidden = chips.length === 0;
    },
  };
}

/** @param {import("./filters.js").Filter} filter @param {any} value what it is set to @returns {HTMLElement[]} */
function chipsOf({ name, kind, label, excludes, isId }, value) {
  const shown = (/** @type {string} */ one) => (isId ? one.slice(0, 8) : one || "(none)");
  if (kind === "text") return value === "" ? [] : [chip(excludes, label, shown(value), { [name]: "" })];
  if (kind === "list") return value.map((/** @type {string} */ one) => chip(excludes, label, shown(one), { [name]: without(value, one) }));
  return Object.entries(/** @type {Record<string, string[]>} */ (value)).flatMap(([field, values]) =>
    values.map((one) => {
      const { [field]: _gone, ...others } = value;
      const left = without(values, one);
      return chip(excludes, field, one || (excludes ? "(empty)" : "(without it)"), { [name]: left.length > 0 ? { ...others, [field]: left } : others });
    }));
}

/** @param {string[]} values @param {string} value */
function without(values, value) {
  return values.filter((one) => one !== value);
}

/** @param {boolean} excludes @param {string} name @param {string} value @param {Record<string, any>} changes */
function chip(excludes, name, value, changes) {
  const not = excludes ? "not " : "";
  const remove = el("button", { type: "button", "aria-label": `Remove ${not}${name} ${value.slice(0, 80)}`, onclick: () => go({ ...changes, k: "" }) }, "×");
  return el("li", { class: ["chip", not && "excluded"] }, el("span", { class: "quiet" }, not && el("strong", {}, not), el("bdi", {}, visible(name.slice(0, 60)))), el("bdi", {}, visible(value.slice(0, 60))), remove);
}
