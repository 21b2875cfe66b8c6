// The filters that hold, each with a button that takes it away.

import { clear, el } from "./dom.js";
import { visible } from "./log_text.js";
import { FILTERS, go, NO_FILTERS } from "./state.js";

/** @returns {{node: HTMLElement, update: (state: any) => void}} */
export function filterChips() {
  const node = el("ul", { class: "row chips", "aria-label": "Filters" });
  return {
    node,
    update(state) {
      const chips = ["", "not_"].flatMap((prefix) => [
        ...FILTERS.flatMap((name) => ofList(state, prefix, name)),
        ...Object.entries(/** @type {Record<string, string[]>} */ (state[`${prefix}fields`])).flatMap(([name, values]) => ofField(state, prefix, name, values)),
      ]);
      if (chips.length > 1) chips.push(el("li", {}, el("button", { type: "button", class: "small", onclick: () => go({ ...NO_FILTERS, k: "" }) }, "Clear all")));
      const hadFocus = node.contains(document.activeElement);
      clear(node, chips);
      if (hadFocus) node.querySelector("button")?.focus();
      node.hidden = chips.length === 0;
    },
  };
}

/** @param {any} state @param {string} prefix "not_" for what is excluded @param {string} name */
function ofList(state, prefix, name) {
  const key = `${prefix}${name}`;
  const isId = name === "family" || name === "template";
  return state[key].map((/** @type {string} */ value) =>
    chip(prefix, name, isId ? value.slice(0, 8) : value || "(none)", { [key]: state[key].filter((/** @type {string} */ one) => one !== value) }));
}

/** @param {any} state @param {string} prefix @param {string} name @param {string[]} values */
function ofField(state, prefix, name, values) {
  const key = `${prefix}fields`;
  const { [name]: _gone, ...others } = state[key];
  return values.map((value) => {
    const left = values.filter((one) => one !== value);
    return chip(prefix, name, value || (prefix === "" ? "(without it)" : "(empty)"), { [key]: left.length > 0 ? { ...others, [name]: left } : others });
  });
}

/** @param {string} prefix @param {string} name @param {string} value @param {Record<string, any>} changes */
function chip(prefix, name, value, changes) {
  const not = prefix === "" ? "" : "not ";
  const remove = el("button", { type: "button", "aria-label": `Remove ${not}${name} ${value.slice(0, 80)}`, onclick: () => go({ ...changes, k: "" }) }, "×");
  return el("li", { class: ["chip", not && "excluded"] }, el("span", { class: "quiet" }, not && el("strong", {}, not), el("bdi", {}, visible(name.slice(0, 60)))), el("bdi", {}, visible(value.slice(0, 60))), remove);
}
